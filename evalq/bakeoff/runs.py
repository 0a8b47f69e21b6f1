"""Finds runs by number or as BAKEOFF:JUDGE, and compares them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalq.bakeoff.holdout import refuse_cases
from evalq.definitions.definition import did_you_mean
from evalq.errors import InputError, Problem
from evalq.records import BakeOffRow, OutcomeRow, RunRow
from evalq.results import Agreement, RunResult
from evalq.store import bakeoffs, outcomes
from evalq.store.database import Database
from evalq.store.definitions import case_fingerprints
from evalq.store.outcomes import evidence
from evalq.summary.change import Change, Side, compare
from evalq.summary.comparisons import agreements
from evalq.summary.power import PastRun
from evalq.summary.summarise import shares, summarise_run, votes

PAST_BAKEOFFS = 10

_HOW_TO_NAME = (
    "`evalq inspect ID --json` has each judge's run_id; or write BAKEOFF:JUDGE, as in last:haiku-4.5"
)


@dataclass(frozen=True)
class NamedRun:
    """A run that the user named, with its result and outcomes."""

    bakeoff: BakeOffRow
    run: RunRow
    result: RunResult
    outcomes: Sequence[OutcomeRow]

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"run {self.run.id} ({self.run.judge})"


def find_runs(db: Database, names: Sequence[str]) -> list[NamedRun]:
    """The runs with these names, in order; reports every name that matches none."""
    found: list[NamedRun] = []
    problems: list[Problem] = []
    for name in names:
        try:
            found.append(_find_run(db, name))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return found


def agreement_of(db: Database, entries: Sequence[NamedRun], task: str) -> list[Agreement]:
    """Compute the agreement of every two runs of a task on one evalset, and store it in eval_kappa."""
    _require_comparable(entries, task)
    cases = dict.fromkeys(row.case_id for entry in entries for row in entry.outcomes)
    names = label_runs(entries)
    vectors = {name: votes(shares(entry.outcomes, cases)) for name, entry in zip(names, entries, strict=True)}
    vendors = {name: entry.run.vendor for name, entry in zip(names, entries, strict=True)}
    judges = {name: entry.run.judge for name, entry in zip(names, entries, strict=True)}
    pairs = [_marked(pair, judges) for pair in agreements(vectors, vendors)]
    met = [pair for pair in pairs if pair.n]
    run_ids = {name: entry.run.id for name, entry in zip(names, entries, strict=True)}
    db.in_transaction(lambda tx: outcomes.keep_kappas(tx, met, run_ids))
    return pairs


def label_runs(entries: Sequence[NamedRun]) -> list[str]:
    """The judges' names, with the run's number where two runs have the same judge."""
    judges = [entry.run.judge for entry in entries]
    return [
        judge if judges.count(judge) == 1 else f"{judge} (run {entry.run.id})"
        for judge, entry in zip(judges, entries, strict=True)
    ]


def change_between(db: Database, before: NamedRun, after: NamedRun, *, margin: float) -> Change:
    """Compare two runs of one task."""
    for entry in (before, after):
        refuse_cases(db, entry.bakeoff.id)
    if before.bakeoff.task_name != after.bakeoff.task_name:
        raise InputError(
            Problem(
                f"{before.name} is of task {before.bakeoff.task_name!r}, "
                f"{after.name} of {after.bakeoff.task_name!r}",
                "compare runs of one task",
            )
        )
    change = compare(_side(db, before), _side(db, after), margin=margin, warnings=[*_warnings(before, after)])
    if change is None:
        raise InputError(
            Problem(
                f"{before.name} and {after.name} have a verdict on no case in common",
                "compare runs on the same evalset",
            )
        )
    return change


def past_runs(db: Database, task: str) -> list[PastRun]:
    """The judges of a task's latest bake-offs with their verdict counts, by bake-off."""
    tallies = outcomes.past_tallies(db, task, limit=PAST_BAKEOFFS)
    return [PastRun(tally.bakeoff_id, tally.judge, tally.cases) for tally in tallies]


def _find_run(db: Database, name: str) -> NamedRun:
    bakeoff, colon, judge = name.partition(":")
    if colon:
        return _entry(db, *_run_of_judge(db, bakeoff, judge))
    place = bakeoffs.place_of_run(db, int(name)) if name.isdecimal() and len(name) < 19 else None
    if place is None:
        raise InputError(Problem(f"there is no run {name!r}", _HOW_TO_NAME))
    return _entry(db, place[0], int(name))


def _run_of_judge(db: Database, bakeoff: str, judge: str) -> tuple[int, int]:
    bakeoff_id = bakeoffs.find(db, bakeoff)
    runs = {run.judge: run.id for run in bakeoffs.runs(db, bakeoff_id)}
    if judge not in runs:
        raise InputError(
            Problem(f"judge {judge!r} is not in bake-off {bakeoff_id}", did_you_mean(judge, runs))
        )
    return bakeoff_id, runs[judge]


def _entry(db: Database, bakeoff_id: int, run_id: int) -> NamedRun:
    bakeoff, facts = bakeoffs.get(db, bakeoff_id), evidence(db, bakeoff_id, run_id=run_id)
    run = next(run for run in bakeoffs.runs(db, bakeoff_id) if run.id == run_id)
    return NamedRun(bakeoff, run, summarise_run(bakeoff, run, facts.outcomes, facts), facts.outcomes)


def _require_comparable(entries: Sequence[NamedRun], task: str) -> None:
    """Refuse runs of another task or evalset version, unfinished ones, and duplicates."""
    problems = [problem for entry in entries for problem in _problems(entry, entries[0], task)]
    times = Counter(entry.run.id for entry in entries)
    problems += [
        Problem(f"run {run_id} is named {n} times", "name it once") for run_id, n in times.items() if n > 1
    ]
    if len(entries) < 2:
        problems.append(Problem("agreement takes two runs", "name them as --run-ids a,b"))
    if problems:
        raise InputError(*dict.fromkeys(problems))


def _problems(entry: NamedRun, first: NamedRun, task: str) -> Iterator[Problem]:
    bakeoff = entry.bakeoff
    if bakeoff.task_name != task:
        yield Problem(f"{entry.name} is of task {bakeoff.task_name!r}, not {task!r}", "leave it out")
    elif bakeoff.eval_set_sha != first.bakeoff.eval_set_sha:
        yield Problem(f"{entry.name} is on {_set(entry)}, {first.name} on {_set(first)}", "leave one out")
    if entry.run.state != "concluded":
        yield Problem(f"{entry.name} has not concluded", f"see evalq inspect {bakeoff.id}")


def _set(entry: NamedRun) -> str:
    """The evalset with its version, which the name does not show."""
    return f"{entry.bakeoff.eval_set_name} ({entry.bakeoff.eval_set_sha[:8]})"


def _marked(pair: Agreement, judges: Mapping[str, str]) -> Agreement:
    """Flag pairs of the same judge: that is consistency, not two judges with the same errors."""
    return replace(pair, flag="same_judge") if judges[pair.a] == judges[pair.b] else pair


def _side(db: Database, entry: NamedRun) -> Side:
    contents = case_fingerprints(db, entry.bakeoff.eval_set_sha)
    bakeoff = entry.bakeoff
    return Side(bakeoff.id, bakeoff.eval_set_name, bakeoff.samples, entry.result, entry.outcomes, contents)


def _warnings(before: NamedRun, after: NamedRun) -> Iterator[str]:
    """Other differences between the two runs, which may explain a change."""
    then, now = before.bakeoff, after.bakeoff
    if then.task_sha != now.task_sha:
        yield "the task itself changed between the two: its prompt, its scoring or its limits"
    if (then.scorer_mode, then.grader_model) != (now.scorer_mode, now.grader_model):
        yield f"marked differently: {_scorer(then)}, then {_scorer(now)}"
    if then.samples != now.samples:
        yield f"{then.samples} and {now.samples} samples a case"
    for entry in (before, after):
        if entry.result.excluded:
            yield f"{entry.name}: {entry.result.excluded}"
        elif len(entry.outcomes) < entry.run.n_jobs:
            yield f"{entry.name} is INTERIM: {len(entry.outcomes)} of {entry.run.n_jobs} jobs done"


def _scorer(bakeoff: BakeOffRow) -> str:
    return bakeoff.scorer_mode + (f" ({bakeoff.grader_model})" if bakeoff.grader_model else "")
