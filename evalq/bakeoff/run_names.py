"""Reads what a user names: a bake-off as `7` or `last`, one of its runs as `7/grok-4.3` or by its number."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalq.errors import InputError, Problem
from evalq.records import RunRow
from evalq.store import bakeoffs
from evalq.store.database import Database

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


def find_target(db: Database, name: str) -> Target:
    """The bake-off or run meant by `7`, `last`, `@-2`, `7/grok-4.3`, `run-901`, or a run's number.

    A number is a bake-off's if there is one with that number, else a run's.
    """
    named_run = bakeoffs.split_run_name(name)
    if named_run:
        return Target(*bakeoffs.find_run_of_judge(db, *named_run))
    number = name.removeprefix("run-")
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    if is_number and (number != name or not bakeoffs.exists(db, int(number))):
        run = _run_with_number(db, int(number))
        if run is not None or number != name:
            return run or _refuse_number(db, name)
    return Target(bakeoffs.find(db, name))


def find_targets(db: Database, names: Sequence[str], *, by_run_number: bool = False) -> list[Target]:
    """What each name means, in order; reports every name that matches nothing.

    With `by_run_number` a plain number is always a run's.
    """
    found: list[Target] = []
    problems: list[Problem] = []
    for name in names:
        try:
            is_run = by_run_number and name.isdecimal()
            found.append(find_run(db, name) if is_run else find_target(db, name))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return found


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
    bakeoff_id = bakeoffs.find(db, name)
    if bakeoffs.split_run_name(name):
        what = f"{name} is one run, and {doing} concerns the whole bake-off"
        raise InputError(Problem(what, f"write `evalq {doing} {bakeoff_id}`"))
    return bakeoff_id


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


def _list_names(bakeoff_id: int, runs: Sequence[RunRow]) -> str:
    names = [f"{run_name(bakeoff_id, run.judge)} ({run.id})" for run in runs[:_LISTED]]
    more = f" and {len(runs) - _LISTED} more" if len(runs) > _LISTED else ""
    return ", ".join(names) + more
