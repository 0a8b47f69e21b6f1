"""A finding, and the check that makes one of every row that breaks a promise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalq.store.database import Database, Row

Find = Callable[[Database, int | None], Sequence[Row]]
"""The offending rows of a bake-off, or of all: its id (None: the fleet's), theirs, and what words name."""

Repair = Callable[[Database, int, Sequence[int]], None]
"""Mends the rows with these ids in one bake-off; 0 for what belongs to none."""


@dataclass(frozen=True)
class Finding:
    """One promise broken: by which check, where, how, and what a repair would do. `key` is its row's id."""

    check: str
    bakeoff_id: int | None
    subject: str
    found: str
    remedy: str
    is_repairable: bool
    key: int = 0


@dataclass(frozen=True)
class Check:
    """Rows that should not exist, the words for each of them, and the repair, if a program may do it."""

    find: Find
    subject: str
    found: str
    remedy: str
    repair: Repair | None = None

    def findings(self, name: str, db: Database, bakeoff_id: int | None) -> list[Finding]:
        """One finding per row."""
        return [self._finding(name, row) for row in self.find(db, bakeoff_id)]

    def _finding(self, name: str, row: Row) -> Finding:
        named = {column: _plain(value) for column, value in row.items()}
        return Finding(
            name,
            row["bakeoff_id"],
            self.subject.format_map(named),
            self.found.format_map(named),
            self.remedy.format_map(named),
            self.repair is not None,
            row["id"],
        )


def rows_of(query: str) -> Find:
    """A check that is one named query."""
    return lambda db, bakeoff_id: db.rows(query, bakeoff_id=bakeoff_id)


def _plain(value: object) -> object:
    """Dollars without needless zeros."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value
