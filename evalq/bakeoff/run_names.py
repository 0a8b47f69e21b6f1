"""Reads what a user names: a bake-off as `7` or `last`, one of its runs as `7/grok-4.3` or by its number."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalq.definitions.definition import did_you_mean
from evalq.errors import InputError, Problem
from evalq.records import RunRow
from evalq.store import bakeoffs
from evalq.store.database import Database

# A judge's name may have slashes, colons and @ of its own: only what precedes the first sign is ours.
_RUN = re.compile(r"(\d+|last|@-\d+)[/:](.+)", re.DOTALL)
_LISTED = 12


@dataclass(frozen=True)
class Target:
    """A bake-off, and the run of it if only one is meant."""

    bakeoff_id: int
    run: RunRow | None = None

    @property
    def judge(self) -> str | None:
        """The judge of the run; None for the whole bake-off."""
        return self.run.judge if self.run else None


def run_name(bakeoff_id: int, judge: str) -> str:
    """The name of a run that every command takes: 7/grok-4.3."""
    return f"{bakeoff_id}/{judge}"


def is_run_name(text: str) -> bool:
    """Whether a text has the form of a run's name; a bake-off's alone does not."""
    return _RUN.fullmatch(text) is not None


def find_target(db: Database, name: str) -> Target:
    """The bake-off or run meant by `7`, `last`, `@-2`, `7/grok-4.3`, `run-901`, or a run's number.

    A number is a bake-off's if there is one with that number, else a run's.
    """
    found = _RUN.fullmatch(name)
    if found:
        bakeoff_id = bakeoffs.find(db, found.group(1))
        return Target(bakeoff_id, _run_of_judge(db, bakeoff_id, found.group(2)))
    number = name.removeprefix("run-")
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    if is_number and (number != name or not bakeoffs.exists(db, int(number))):
        run = _run_with_number(db, int(number))
        if run is not None or number != name:
            return run or _refuse_number(db, name)
    return Target(bakeoffs.find(db, name))


def find_run(db: Database, name: str) -> Target:
    """The one run meant; a plain number is a run's, and a bake-off's name means its only run."""
    if name.isascii() and name.isdecimal() and len(name) < 19:
        return _run_with_number(db, int(name)) or _refuse_number(db, name)
    target = find_target(db, name)
    if target.run is not None:
        return target
    runs = bakeoffs.runs(db, target.bakeoff_id)
    if len(runs) != 1:
        names = _list_names(target.bakeoff_id, runs)
        raise InputError(
            Problem(f"bake-off {target.bakeoff_id} has several judges", f"name one run: {names}")
        )
    return Target(target.bakeoff_id, runs[0])


def find_bakeoff(db: Database, name: str, *, doing: str) -> int:
    """The bake-off meant by a command that acts on all of it; a run's name is refused."""
    target = find_target(db, name) if is_run_name(name) else Target(bakeoffs.find(db, name))
    if target.run is not None:
        remedy = f"write `evalq {doing} {target.bakeoff_id}`"
        raise InputError(Problem(f"{name} is one run, and {doing} concerns the whole bake-off", remedy))
    return target.bakeoff_id


def _run_with_number(db: Database, number: int) -> Target | None:
    place = bakeoffs.place_of_run(db, number)
    if place is None:
        return None
    run = next(run for run in bakeoffs.runs(db, place[0]) if run.id == number)
    return Target(place[0], run)


def _refuse_number(db: Database, name: str) -> Target:
    """Say which runs there are: those of the newest bake-off."""
    newest = bakeoffs.newest(db, limit=1)
    listed = "`evalq runs` lists the bake-offs"
    if newest:
        listed = f"the newest are {_list_names(newest[0].id, bakeoffs.runs(db, newest[0].id))}; {listed}"
    raise InputError(Problem(f"there is no run {name!r}", listed))


def _run_of_judge(db: Database, bakeoff_id: int, judge: str) -> RunRow:
    runs = {run.judge: run for run in bakeoffs.runs(db, bakeoff_id)}
    if judge not in runs:
        remedy = did_you_mean(run_name(bakeoff_id, judge), [run_name(bakeoff_id, name) for name in runs])
        raise InputError(Problem(f"judge {judge!r} is not in bake-off {bakeoff_id}", remedy))
    return runs[judge]


def _list_names(bakeoff_id: int, runs: Sequence[RunRow]) -> str:
    names = [f"{run_name(bakeoff_id, run.judge)} ({run.id})" for run in runs[:_LISTED]]
    more = f" and {len(runs) - _LISTED} more" if len(runs) > _LISTED else ""
    return ", ".join(names) + more
