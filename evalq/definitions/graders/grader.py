"""What every grader has, whatever it looks at."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, FiniteFloat

from evalq.definitions.definition import NAME_PATTERN, Definition, is_unset
from evalq.definitions.validation import split_remedy

Lack = tuple[str, str]
"""What a grader misses in a case, and the remedy."""


def lack_of(wrong: ValueError, place: str) -> Lack:
    """The lack that an error at a place of the case means."""
    message, remedy = split_remedy(str(wrong))
    return f"{place}: {message}", remedy


class Grader(Definition):
    """A grader's part in the outcome: its weight in the score, and whether the case fails without it.

    `negate` turns its mark round: passed becomes failed, a score s becomes 1 - s; an error stays an error.
    `name` tells several of one type apart; without one they are numbered.
    """

    name: str | None = Field(default=None, pattern=NAME_PATTERN, exclude_if=is_unset)
    weight: FiniteFloat = Field(default=1.0, ge=0)
    required: bool = True
    negate: bool = Field(default=False, exclude_if=is_unset)

    @property
    def label(self) -> str:
        """What its grades are called: its name, or its type."""
        return self.name or str(self.type)  # type: ignore[attr-defined]

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """What it needs of a case's `expected` and does not find there; None when it can do its work."""
        del expected
        return None
