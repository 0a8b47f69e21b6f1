"""Pausing a bake-off or some of its judges, and waiting until no call of it is under way."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalq.bakeoff.conclude import conclude_paused
from evalq.bakeoff.progress import read_progress
from evalq.definitions.catalogue import catalogue, resolve
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
    """Stop a bake-off, or some of its judges while the others go on; what does not run is left as it is."""
    db, runs = session.db, named_runs(session, bakeoff_id, judges)
    if not judges or bakeoffs.get(db, bakeoff_id).state != "running":
        is_new = not judges and bakeoffs.pause(db, bakeoff_id, _BY_HAND)
        return [Paused(f"bake-off {bakeoff_id}", is_new, bakeoffs.get(db, bakeoff_id).state)]
    stopped = {run.id for run in runs if bakeoffs.pause_run(db, run.id, _BY_HAND)}
    if stopped:
        conclude_paused(db, bakeoff_id)
    now = {run.id: run.state for run in bakeoffs.runs(db, bakeoff_id)}
    return [Paused(f"judge {run.judge}", run.id in stopped, now[run.id]) for run in runs]


def stop_spending(db: Database, bakeoff_id: int, *, show: Callable[[Progress], None]) -> None:
    """Pause a bake-off and wait for the calls in flight: they are paid for, their answers are stored."""
    bakeoffs.move(db, bakeoff_id, "paused", from_states=["running"])
    drain(db, bakeoff_id, show=show)


def drain(db: Database, bakeoff_id: int, *, show: Callable[[Progress], None]) -> None:
    """Wait until no call of a stopped bake-off is under way, nor the grading that follows one."""
    deadline, quiet = time.monotonic() + _DRAIN_S, 0
    while quiet < _QUIET_POLLS and time.monotonic() < deadline:
        quiet = 0 if calls.in_flight(db, bakeoff_id) else quiet + 1
        time.sleep(_POLL_S)
        show(read_progress(db, bakeoff_id))


def named_runs(session: Session, bakeoff_id: int, judges: Sequence[str]) -> list[RunRow]:
    """The runs of the judges named, each once; all of the bake-off's when none is."""
    runs = {run.judge: run for run in bakeoffs.runs(session.db, bakeoff_id)}
    known = catalogue(session.settings.judges)
    found = {name: name if name in runs else resolve(name, known) for name in judges or runs}
    problems = [
        Problem(f"judge {name!r} is not in bake-off {bakeoff_id}", did_you_mean(name, runs))
        for name, judge in found.items()
        if judge not in runs
    ]
    if problems:
        raise InputError(*problems)
    return [runs[judge] for judge in dict.fromkeys(found.values()) if judge is not None]
