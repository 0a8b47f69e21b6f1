"""Finds runs by number or as ID/JUDGE, and compares them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalq.bakeoff.holdout import refuse_cases
from evalq.bakeoff.run_names import Target, find_run, find_target, find_targets, run_name
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
        return f"run {self.run.id} ({self.id})"

    @property
    def id(self) -> str:
        """The name that commands take: 7/grok-4.3."""
        return run_name(self.bakeoff.id, self.run.judge)


def find_runs(db: Database, names: Sequence[str]) -> list[NamedRun]:
    """The runs with these names, in order; reports every name that matches none."""
    found: list[NamedRun] = []
    problems: list[Problem] = []
    for name in names:
        try:
            found.append(read_run(db, find_run(db, name)))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return found


def read_runs(db: Database, names: Sequence[str]) -> list[NamedRun]:
    """The runs with these names; a bake-off's name means its runs, without those of broken judges."""
    found: list[NamedRun] = []
    for target in find_targets(db, names):
        if target.run is not None:
            found.append(read_run(db, target))
            continue
        runs = [read_run(db, run) for run in _runs_by_judge(db, target).values()]
        found += [entry for entry in runs if not entry.result.excluded]
    if not found:
        raise InputError(
            Problem(f"every judge of {' and '.join(names)} is broken", "`evalq inspect ID` says why")
        )
    return found


@dataclass(frozen=True)
class Matches:
    """Runs of two bake-offs paired by judge, and the judges that only one of them has."""

    pairs: tuple[tuple[NamedRun, NamedRun], ...]
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()


def match_runs(db: Database, before: str, after: str) -> Matches:
    """The runs to compare: two runs, or the judges that two bake-offs share; a run finds its like."""
    first, second = find_target(db, before), find_target(db, after)
    if first.run and second.run:
        return Matches(((read_run(db, first), read_run(db, second)),))
    left, right = _runs_by_judge(db, first), _runs_by_judge(db, second)
    shared = [judge for judge in left if judge in right]
    if not shared:
        remedy = f"name two runs, as in {_example(first, left)} {_example(second, right)}"
        raise InputError(Problem(f"{before} and {after} have no judge in common", remedy))
    pairs = [(read_run(db, left[judge]), read_run(db, right[judge])) for judge in shared]
    is_whole = first.run is None and second.run is None
    only_in_a = tuple(judge for judge in left if judge not in right and is_whole)
    only_in_b = tuple(judge for judge in right if judge not in left and is_whole)
    return Matches(tuple(pairs), only_in_a, only_in_b)


def _runs_by_judge(db: Database, target: Target) -> dict[str, Target]:
    runs = [target.run] if target.run else bakeoffs.runs(db, target.bakeoff_id)
    return {run.judge: Target(target.bakeoff_id, run) for run in runs}


def _example(target: Target, runs: Mapping[str, Target]) -> str:
    return run_name(target.bakeoff_id, next(iter(runs)))


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


def read_run(db: Database, target: Target) -> NamedRun:
    """The run with its result and outcomes."""
    assert target.run is not None
    run, bakeoff = target.run, bakeoffs.get(db, target.bakeoff_id)
    facts = evidence(db, target.bakeoff_id, run_id=run.id)
    return NamedRun(bakeoff, run, summarise_run(bakeoff, run, facts.outcomes, facts), facts.outcomes)


def _require_comparable(entries: Sequence[NamedRun], task: str) -> None:
    """Refuse runs of another task or evalset version, unfinished ones, and duplicates."""
    problems = [problem for entry in entries for problem in _problems(entry, entries[0], task)]
    times = Counter(entry.run.id for entry in entries)
    problems += [
        Problem(f"run {run_id} is named {n} times", "name it once") for run_id, n in times.items() if n > 1
    ]
    if len(entries) < 2:
        problems.append(
            Problem("agreement takes two runs", "name them, as in `evalq kappa 7/grok-4.3 8/grok-4.3`")
        )
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
