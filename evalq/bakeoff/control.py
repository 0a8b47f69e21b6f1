"""Stops a bake-off or some of its judges, and waits until none of its calls is in flight."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalq.bakeoff.conclude import conclude_paused, record_stopped
from evalq.bakeoff.progress import read_progress
from evalq.definitions.catalogue import all_judges, resolve_judge
from evalq.definitions.definition import did_you_mean
from evalq.engines.session import Session
from evalq.errors import InputError, Problem
from evalq.records import RunRow
from evalq.results import Progress
from evalq.store import bakeoffs, calls
from evalq.store.database import Database

_BY_HAND = "by hand"
_POLL_S = 0.25
_DRAIN_S = 120.0
_QUIET_POLLS = 3


@dataclass(frozen=True)
class Paused:
    """Result of a pause request: the target, whether this call paused it, and its current state."""

    what: str
    is_new: bool
    state: str


def pause(session: Session, bakeoff_id: int, *, judges: Sequence[str]) -> list[Paused]:
    """Pause a bake-off, or only these judges; a judge that is not running keeps its state."""
    db, runs = session.db, named_runs(session, bakeoff_id, judges)
    if not judges or bakeoffs.get(db, bakeoff_id).state != "running":
        is_new = not judges and bakeoffs.pause(db, bakeoff_id, _BY_HAND)
        record_stopped(db, bakeoff_id)
        return [Paused(f"bake-off {bakeoff_id}", is_new, bakeoffs.get(db, bakeoff_id).state)]
    stopped = {run.id for run in runs if bakeoffs.pause_run(db, run.id, _BY_HAND)}
    if stopped:
        conclude_paused(db, bakeoff_id)
    now = {run.id: run.state for run in bakeoffs.runs(db, bakeoff_id)}
    return [Paused(f"judge {run.judge}", run.id in stopped, now[run.id]) for run in runs]


def cancel(db: Database, bakeoff_id: int) -> bool:
    """Stop a bake-off for good; False when it has ended already."""
    is_new = bakeoffs.move(db, bakeoff_id, "cancelled", from_states=["running", "paused", "capped"])
    record_stopped(db, bakeoff_id)
    return is_new


def stop_spending(db: Database, bakeoff_id: int, *, show: Callable[[Progress], None]) -> None:
    """Pause a bake-off and wait for the calls in flight: they are paid for, so their answers are stored."""
    bakeoffs.move(db, bakeoff_id, "paused", from_states=["running"])
    drain(db, bakeoff_id, show=show)


def drain(db: Database, bakeoff_id: int, *, show: Callable[[Progress], None]) -> None:
    """Wait until a stopped bake-off has no call in flight and no answer being graded; write its rows."""
    deadline = time.monotonic() + _DRAIN_S
    quiet = 0
    while quiet < _QUIET_POLLS and time.monotonic() < deadline:
        quiet = 0 if calls.count_in_flight(db, bakeoff_id) else quiet + 1
        time.sleep(_POLL_S)
        show(read_progress(db, bakeoff_id))
    record_stopped(db, bakeoff_id)


def named_runs(session: Session, bakeoff_id: int, judges: Sequence[str]) -> list[RunRow]:
    """The runs of these judges, each once; every run of the bake-off when `judges` is empty."""
    runs = {run.judge: run for run in bakeoffs.runs(session.db, bakeoff_id)}
    known = all_judges(session.settings.judges)
    named: dict[str, RunRow] = {}
    problems = []
    for name in judges or runs:
        judge = name if name in runs else resolve_judge(name, known)
        if judge in runs:
            named[judge] = runs[judge]
        else:
            problems.append(
                Problem(f"judge {name!r} is not in bake-off {bakeoff_id}", did_you_mean(name, runs))
            )
    if problems:
        raise InputError(*problems)
    return list(named.values())
