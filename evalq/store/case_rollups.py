"""The cases of a bake-off as pages list them: stored when it concludes, computed while it is on its way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evalq.store.database import Connection, Database, Row

CaseShow = Literal["all", "disagree", "any_fail", "all_fail", "errors", "flipped"]
Letter = Literal["p", "f", "m", "e", "w"]

MOST_LIVE_CASES = 20_000
"""Of a bake-off on its way only so many cases are listed."""

_LAST = 2**31 - 1


@dataclass(frozen=True)
class CaseRow:
    """One case: a letter for each run that has answered, and which filters let it through."""

    case_id: str
    ordinal: int
    stratum: str
    verdicts: dict[int, str]
    disagrees: bool
    any_fail: bool
    all_fail: bool
    has_error: bool

    def is_shown(self, show: CaseShow) -> bool:
        """Whether a filter lets it through; what flipped is known of concluded bake-offs only."""
        shown = {
            "all": True,
            "disagree": self.disagrees,
            "any_fail": self.any_fail,
            "all_fail": self.all_fail,
            "errors": self.has_error,
            "flipped": False,
        }
        return shown[show]


@dataclass(frozen=True)
class CaseCounts:
    """How many cases each filter has."""

    every: int
    disagree: int
    any_fail: int
    all_fail: int
    errors: int
    flipped: int = 0

    def of(self, show: CaseShow) -> int:
        """The number of one filter."""
        return self.every if show == "all" else int(getattr(self, show))


def write(tx: Connection, bakeoff_id: int, ranked: Sequence[int]) -> None:
    """Store the rows of a bake-off over those it has; `ranked` are the runs that are not excluded."""
    tx.run("drop_case_rollups", bakeoff_id=bakeoff_id)
    tx.run("add_case_rollups", bakeoff_id=bakeoff_id, ranked=list(ranked))


def has_rows(db: Database | Connection, bakeoff_id: int) -> bool:
    """Whether a bake-off has stored rows; those that older versions concluded have none."""
    return db.row("has_case_rollups", bakeoff_id=bakeoff_id) is not None


def counts(db: Database, bakeoff_id: int) -> CaseCounts:
    """How many cases of a concluded bake-off each filter has."""
    row = db.row("case_counts", bakeoff_id=bakeoff_id)
    assert row is not None
    return CaseCounts(**row)


def page_after(
    db: Database, bakeoff_id: int, show: CaseShow, *, ordinal: int = -1, limit: int
) -> list[CaseRow]:
    """The first cases after an ordinal."""
    rows = db.rows("case_page", bakeoff_id=bakeoff_id, show=show, ordinal=ordinal, limit=limit)
    return [_case_row(row) for row in rows]


def page_before(
    db: Database, bakeoff_id: int, show: CaseShow, *, ordinal: int = _LAST, limit: int
) -> list[CaseRow]:
    """The last cases before an ordinal, in their order."""
    rows = db.rows("case_page_before", bakeoff_id=bakeoff_id, show=show, ordinal=ordinal, limit=limit)
    return [_case_row(row) for row in reversed(rows)]


def count_before(db: Database, bakeoff_id: int, show: CaseShow, *, ordinal: int) -> int:
    """How many cases of a filter come before an ordinal."""
    row = db.row("case_place", bakeoff_id=bakeoff_id, show=show, ordinal=ordinal)
    assert row is not None
    return int(row["n"])


def rows_at(db: Database, bakeoff_id: int, ordinals: Sequence[int]) -> list[CaseRow]:
    """The cases of a concluded bake-off at some ordinals."""
    return [_case_row(row) for row in db.rows("cases_at", bakeoff_id=bakeoff_id, ordinals=list(ordinals))]


def previous_bakeoff(db: Database, bakeoff_id: int) -> int | None:
    """The newest earlier bake-off of the task on the same cases with a judge in common."""
    row = db.row("previous_bakeoff", bakeoff_id=bakeoff_id)
    return int(row["id"]) if row else None


def flipped(db: Database, bakeoff_id: int, previous: int) -> list[int]:
    """The ordinals of cases that a judge passed in one of the two and failed in the other."""
    rows = db.rows("flipped_cases", bakeoff_id=bakeoff_id, previous=previous)
    return [int(row["ordinal"]) for row in rows]


def live_rows(db: Database, bakeoff_id: int, ranked: Sequence[int]) -> list[CaseRow]:
    """The cases of a bake-off on its way, computed from its outcomes."""
    rows = db.rows("live_case_rows", bakeoff_id=bakeoff_id, ranked=list(ranked), limit=MOST_LIVE_CASES)
    return [_case_row(row) for row in rows]


def _case_row(row: Row) -> CaseRow:
    letters = {int(part[:-1]): part[-1] for part in row.pop("verdicts").split()}
    return CaseRow(**row, verdicts=letters)
