"""What every definition is: a strict, frozen model of something the user wrote."""

from enum import Enum
from typing import Literal

from pydantic import BaseModel, ConfigDict

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"


class Definition(BaseModel):
    """A file the user wrote: unknown keys refused, types exact, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def is_unset(value: object) -> bool:
    """True for what an optional field is when nobody wrote it.

    Fields added after a release are left out of a snapshot in this case: its hash stays what it was.
    """
    return value is None or value is False or value == [] or value == {}


class Absence(Enum):
    """Stands where there is nothing, not even null."""

    ABSENT = "absent"


ABSENT: Literal[Absence.ABSENT] = Absence.ABSENT


def is_absent(value: object) -> bool:
    """True for what nobody wrote, where anything JSON has may be written; it stays out of a snapshot."""
    return value is ABSENT
