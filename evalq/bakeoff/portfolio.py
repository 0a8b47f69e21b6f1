"""Bake-offs of the same judges on several tasks, one after the other under one cap."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from pathlib import Path

from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.follow import exit_code
from evalq.bakeoff.holdout.guard import is_holdout
from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request
from evalq.calling.pricing import is_priced
from evalq.definitions.definition import did_you_mean
from evalq.definitions.files import TASK_SUFFIXES, load_task
from evalq.definitions.money import money
from evalq.definitions.project import definition_files, find_task, is_draft_set, list_evalsets, list_tasks
from evalq.definitions.task import TaskConfig
from evalq.engines.session import Session
from evalq.errors import CapReached, InputError, Problem
from evalq.results import BakeOffResult, PortfolioResult, plain
from evalq.store import bakeoffs
from evalq.store.database import Database
from evalq.store.definitions import stored_judges

_SMALLEST_SHARE = Decimal("0.000001")


@dataclass(frozen=True)
class PortfolioTask:
    """One task of several: its request and its plan."""

    request: Request
    plan: Plan


@dataclass(frozen=True)
class PortfolioRun:
    """The result of a portfolio and its exit code: 4 at the cap, 3 partial, 0 fine."""

    result: PortfolioResult
    exit_code: int


def refuse_total_over_cap(plans: Sequence[Plan], cap_usd: Decimal) -> None:
    """Stop before the first call when the projection of all tasks does not fit under the one cap."""
    total = sum((plan.estimate_usd for plan in plans), Decimal(0))
    if total > cap_usd:
        raise CapReached(
            f"the projected cost of all {len(plans)} tasks ${money(total)} exceeds the cap "
            f"${money(cap_usd)}; "
            f"raise --max-cost-usd, or take fewer tasks, judges or cases"
        )


def cap_shares(plans: Sequence[Plan], cap_usd: Decimal) -> list[Decimal]:
    """The cap split up front, for bake-offs that run at the same time; the shares never sum to more than it.

    Each has its projection, and of the rest as much as its worst case is above that: where the cap holds all
    worst cases, each share holds its own, and no bake-off is stopped.
    """
    projected = [plan.estimate_usd for plan in plans]
    margins = [max(Decimal(0), plan.worst_usd - plan.estimate_usd) for plan in plans]
    rest = split(cap_usd - sum(projected, Decimal(0)), margins)
    return [usd + more for usd, more in zip(projected, rest, strict=True)]


def split(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """An amount in proportion to weights, in equal parts when all are zero; rounded down."""
    total = sum(weights, Decimal(0))
    parts = [w / total for w in weights] if total else [1 / Decimal(len(weights))] * len(weights)
    return [(amount * part).quantize(_SMALLEST_SHARE, ROUND_DOWN) for part in parts]


def run_in_turn(
    session: Session,
    entries: Sequence[PortfolioTask],
    *,
    cap_usd: Decimal,
    root: Path,
    watch: Callable[[int], BakeOffResult | None],
) -> PortfolioRun:
    """Run one bake-off after the other, each with what the ones before have left of the cap.

    `watch` follows one to its end; None from it, or an end that leaves it open, and the rest is not started.
    """
    ids: list[int] = []
    left, is_capped = cap_usd, False
    for entry in entries:
        left = cap_usd - bakeoffs.committed_usd(session.db, ids)
        if is_capped := entry.plan.estimate_usd > left:
            break
        ids.append(start(session, entry.plan, cap_usd=left, root=root))
        watched = watch(ids[-1])
        if watched is None or watched.state not in ("concluded", "cancelled"):
            break
    result = _result(session.db, ids, entries, cap_usd)
    worst = max((exit_code(each) for each in result.bakeoffs), default=0)
    return PortfolioRun(result, max(worst, 4 if is_capped else 3 if result.not_started else 0))


def read_portfolio(db: Database, ids: Sequence[int]) -> PortfolioResult:
    """The portfolio of existing bake-offs; without a cap, since they were not started together."""
    return _result(db, ids, (), None)


def next_commands(results: Sequence[BakeOffResult], entries: Sequence[PortfolioTask]) -> list[str]:
    """First what is open, then what was not started, then all of them together."""
    rest = entries[len(results) :]
    kept, for_rest = _caps_to_go_on(results[-1], entries) if results and rest else (None, None)
    commands = [_resume(result, kept) for result in results if result.state in ("paused", "capped")]
    if rest:
        commands.append(_bake_off(rest, for_rest))
    if len(results) > 1:
        commands.append(f"evalq frontier {','.join(str(result.id) for result in results)}")
    return commands


def _result(
    db: Database, ids: Sequence[int], entries: Sequence[PortfolioTask], cap_usd: Decimal | None
) -> PortfolioResult:
    from evalq.summary.frontier import frontier  # it loads numpy, which a bake-off on one task does not need

    results = tuple(result_of(db, each) for each in ids)
    unpriced = {judge for each in ids for judge in unpriced_judges(db, each)}
    rest = entries[len(ids) :]
    return PortfolioResult(
        results,
        tuple(entry.plan.task.name for entry in rest),
        frontier(results, unpriced=unpriced),
        cap_usd,
        warnings=tuple(_warnings(results, rest)),
        next=tuple(next_commands(results, entries)),
    )


def unpriced_judges(db: Database, bakeoff_id: int) -> list[str]:
    """Judges without a price: their counted cost is zero, which is not what they cost."""
    judges = stored_judges(db, bakeoff_id)
    return [name for name, judge in judges.items() if not is_priced(judge)]


def _warnings(results: Sequence[BakeOffResult], rest: Sequence[PortfolioTask]) -> list[str]:
    found = [
        f"{result.task}: {result.n_done} of {result.n_jobs} jobs ended, {result.state}; interim numbers"
        for result in results
        if result.n_done < result.n_jobs
    ]
    if rest:
        names = ", ".join(entry.plan.task.name for entry in rest)
        found.append(f"not started: {names}; overall is over the {len(results)} tasks that were")
    return found


def _resume(result: BakeOffResult, kept: Decimal | None) -> str:
    """What stopped at its cap needs a higher one; what is paused keeps its own, or what is left of it."""
    cap_usd = result.cap_usd * 2 if result.state == "capped" else kept
    return f"evalq resume {result.id}" + ("" if cap_usd is None else f" --max-cost-usd {plain(cap_usd)}")


def _caps_to_go_on(
    last: BakeOffResult, entries: Sequence[PortfolioTask]
) -> tuple[Decimal | None, Decimal | None]:
    """The caps under which a paused bake-off and those not started go on, together no more than it has left.

    It is shared in proportion to their projections. None for both unless the last one is paused.
    """
    if last.state != "paused":
        return None, None
    at = next(place for place, entry in enumerate(entries) if entry.plan.task.name == last.task)
    open_usd = entries[at].plan.estimate_usd * (last.n_jobs - last.n_done) / last.n_jobs
    rest_usd = sum((entry.plan.estimate_usd for entry in entries[at + 1 :]), Decimal(0))
    own, others = split(last.cap_usd - last.spent_usd, [open_usd, rest_usd])
    return last.spent_usd + own, others


def _bake_off(rest: Sequence[PortfolioTask], cap_usd: Decimal | None) -> str:
    """The command that runs tasks as these were to be run."""
    like = rest[0].request
    sets = ",".join(f"{entry.plan.task.name}={entry.request.eval_set}" for entry in rest)
    options = {
        "--task": ",".join(entry.request.task for entry in rest),
        "--eval-set": rest[0].request.eval_set if len(rest) == 1 else sets,
        "--judges": ",".join(like.judges),
        "--scorer": like.scorer,
        "--grader-model": like.grader_model,
        "--samples": like.samples if (like.samples or 1) > 1 else None,
        "--seed": like.seed or None,
        "--max-cost-usd": None if cap_usd is None else plain(cap_usd),
    }
    flags = {"--allow-unpriced": like.allow_unpriced, "--final-decision": like.look is not None}
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    return shlex.join(["evalq", "bake-off", *words, *(flag for flag, is_set in flags.items() if is_set)])


def all_tasks(root: Path) -> list[str]:
    """The project's own tasks; where it has none, those that come with evalq."""
    own = definition_files(root / "tasks", TASK_SUFFIXES)
    return [path.stem for path in own] if own else list(list_tasks(root))


def select(names: Sequence[str], eval_set: str | None, *, like: Request, root: Path) -> list[Request]:
    """One request per task. `eval_set` is a set of every task, or `task=set` pairs separated by commas.

    A task without a set takes its first that is not a holdout. Without judges the tasks' own are used if all
    tasks have the same ones: a comparison over tasks needs the same judges on each.
    """
    tasks = _load(names, root)
    if not like.judges:
        _require_same_judges(tasks)
    sets = _sets(eval_set, tasks)
    return [
        replace(like, task=name, eval_set=sets.get(task.name) or first_set(task.name, root))
        for name, task in zip(names, tasks, strict=True)
    ]


def first_set(task: str, root: Path) -> str:
    """The first evalset of a task that is not a holdout; a draft set only if there is no other."""
    sets = [name for name in list_evalsets(task, root) if not is_holdout(name)]
    if not sets:
        raise InputError(
            Problem(f"task {task!r} has no evalset but holdouts", "name one with --eval-set task=set")
        )
    # A set of drafts is the last choice.
    return min(sets, key=is_draft_set)


def _load(names: Sequence[str], root: Path) -> list[TaskConfig]:
    """Every task, each named once."""
    tasks: dict[str, TaskConfig] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            task = load_task(find_task(name, root))
        except InputError as exc:
            problems += exc.problems
            continue
        if task.name in tasks:
            problems.append(Problem(f"task {task.name!r} is named twice", "name it once"))
        tasks[task.name] = task
    if problems:
        raise InputError(*problems)
    return list(tasks.values())


def _require_same_judges(tasks: Sequence[TaskConfig]) -> None:
    if len({frozenset(task.default_judges) for task in tasks}) > 1:
        own = "; ".join(f"{task.name}: {', '.join(task.default_judges) or 'none'}" for task in tasks)
        raise InputError(
            Problem(
                f"the tasks have not the same default judges ({own})", "name them for all with --judges a,b"
            )
        )


def _sets(eval_set: str | None, tasks: Sequence[TaskConfig]) -> Mapping[str, str]:
    """The evalset asked for, by task; tasks not spoken of are absent."""
    names = [task.name for task in tasks]
    parts = [part.strip() for part in (eval_set or "").split(",") if part.strip()]
    if len(parts) == 1 and "=" not in parts[0]:
        return dict.fromkeys(names, parts[0])
    pairs = [part.partition("=") for part in parts]
    problems = [
        _pair_problem(task, found, names) for task, _, found in pairs if not found or task not in names
    ]
    if problems:
        raise InputError(*problems)
    return {task: found for task, _, found in pairs}


def _pair_problem(task: str, found: str, names: Sequence[str]) -> Problem:
    if not found:
        return Problem(
            f"--eval-set {task!r} names no set of a task", "give one for all, or task=set,task=set"
        )
    return Problem(
        f"--eval-set has a set for {task!r}, which is not among the tasks", did_you_mean(task, names)
    )
