"""Runs of suites in Postgres: each has one id, its judges and evals, and the bake-offs it made."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from evalq.errors import InputError
from evalq.store.database import Connection, Database

RunKind = Literal["run", "capture"]

_NAME = re.compile(r"suite-([0-9]{1,18})")


@dataclass(frozen=True)
class NewSuiteRun:
    """A run of a suite about to start; `lineup` has its judges with their evals, as JSON."""

    suite: str
    kind: RunKind
    samples: int
    lineup: list[Any]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class SuiteRunRow:
    """A recorded run of a suite; `ended_at` is None while it runs and if its command was killed."""

    id: int
    suite: str
    kind: RunKind
    samples: int
    lineup: list[Any]
    facts: Mapping[str, Any]
    is_timed_out: bool
    started_at: datetime
    ended_at: datetime | None
    read_at: datetime


@dataclass(frozen=True)
class SuitePart:
    """One bake-off of a suite run; attempt 0 is a planned one, a later attempt repeats failed evals."""

    bakeoff_id: int
    attempt: int


def name_of(suite_run_id: int) -> str:
    """The id of a suite run as users write it."""
    return f"suite-{suite_run_id}"


def is_name(text: str) -> bool:
    """Whether a text names a suite run, such as suite-7."""
    return _NAME.fullmatch(text) is not None


def add(db: Database, new: NewSuiteRun) -> int:
    """Record a run before its first bake-off; return its id."""
    row = db.row(
        "add_suite_run",
        suite=new.suite,
        kind=new.kind,
        samples=new.samples,
        lineup=json.dumps(new.lineup, ensure_ascii=False),
        facts=json.dumps(new.facts, ensure_ascii=False),
    )
    assert row is not None
    return int(row["id"])


def link(tx: Connection, suite_run_id: int, bakeoff_id: int, *, attempt: int) -> None:
    """Make a bake-off part of a run, in the transaction that records the bake-off."""
    tx.run("link_suite_bakeoff", suite_run_id=suite_run_id, bakeoff_id=bakeoff_id, attempt=attempt)


def end(db: Database, suite_run_id: int, *, is_timed_out: bool) -> None:
    """Record that a run has ended."""
    db.run("end_suite_run", suite_run_id=suite_run_id, is_timed_out=is_timed_out)


def note_report_files(db: Database, suite_run_id: int, paths: Sequence[Path]) -> None:
    """Remember where a run's report was written, to write it again when people have reviewed answers."""
    db.run("note_report_files", suite_run_id=suite_run_id, paths=[str(path.absolute()) for path in paths])


def report_files(db: Database, suite_run_id: int) -> list[Path]:
    """Where a run's report was written, on the machine that ran it."""
    row = db.row("report_files", suite_run_id=suite_run_id)
    return [Path(path) for path in row["report_files"]] if row else []


def find(db: Database, name: str) -> SuiteRunRow:
    """The run that a name such as suite-7 means; `last` is the newest. InputError if there is none."""
    if name == "last":
        newest = newest_id(db)
        if newest is None:
            raise InputError("no suite has been run yet; `evalq suite run FILE` runs one")
        return get(db, newest)
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError(f"{name!r} is not a suite run; give its id, such as suite-7, or `last`")
    return get(db, int(found[1]))


def get(db: Database, suite_run_id: int) -> SuiteRunRow:
    """One run; InputError for an unknown id."""
    row = db.row("suite_run", suite_run_id=suite_run_id)
    if row is None:
        raise InputError(f"there is no suite run {name_of(suite_run_id)}; `evalq suite run` prints the ids")
    return SuiteRunRow(**row)


def parts(db: Database, suite_run_id: int) -> list[SuitePart]:
    """The bake-offs of a run, in the order they were started."""
    return [SuitePart(**row) for row in db.rows("suite_run_parts", suite_run_id=suite_run_id)]


def id_of_bakeoff(db: Database, bakeoff_id: int) -> int | None:
    """The run that a bake-off is part of; None when no suite made it."""
    row = db.row("suite_run_of_bakeoff", bakeoff_id=bakeoff_id)
    return int(row["suite_run_id"]) if row else None


def newest_id(db: Database) -> int | None:
    """The newest run of any suite; captures of baselines are passed over."""
    row = db.row("newest_suite_run")
    return int(row["id"]) if row else None
