"""The bake-offs that run a suite: judges with the same evals and baselines share one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.bakeoff.estimate import refine_estimate
from evalq.bakeoff.plan import Plan, make_plan
from evalq.bakeoff.request import Request, prepare_imported
from evalq.definitions.graders.text import Matches
from evalq.definitions.judge import JudgeConfig
from evalq.errors import InputError, Problem
from evalq.formats.suite.assignment import Assignment
from evalq.formats.suite.baselines import load_baselines
from evalq.formats.suite.choice import LoadedSuite
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.load import loaded_task_of
from evalq.formats.suite.read import Suite
from evalq.formats.suite.regressions import other_graders, with_baseline
from evalq.settings import Settings
from evalq.store.database import Database

BaselineOf = Callable[[SuiteEval, str], Any]
"""The baseline of an eval for a judge; None when there is none."""

ANY_ANSWER = Matches(type="regex", pattern=r"\S", name="said")


@dataclass(frozen=True)
class SuiteRunOptions:
    """How the command line wants a suite run."""

    samples: int = 1
    seed: int = 0
    grader_model: str | None = None
    allow_unpriced: bool = False


@dataclass(frozen=True)
class SuiteBakeOff:
    """One planned bake-off of a suite, and the evals behind its cases."""

    plan: Plan
    evals: tuple[SuiteEval, ...]


@dataclass(frozen=True)
class SuitePlan:
    """The bake-offs that run the chosen evals; `lacking` are judges and regressions without a baseline."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    assignments: tuple[Assignment, ...]
    bakeoffs: tuple[SuiteBakeOff, ...]
    lacking: tuple[tuple[str, SuiteEval], ...] = ()
    samples: int = 1

    def with_plans(self, plans: Sequence[Plan]) -> "SuitePlan":
        """The same bake-offs with these plans."""
        pairs = zip(self.bakeoffs, plans, strict=True)
        return replace(self, bakeoffs=tuple(replace(one, plan=plan) for one, plan in pairs))


def plan_suite(
    loaded: LoadedSuite,
    options: SuiteRunOptions,
    *,
    settings: Settings,
    db: Database | None,
    inline: bool = False,
) -> SuitePlan:
    """Plan the bake-offs with the baselines known here; InputError when there is nothing to run."""
    known = load_baselines(loaded.suite, db, inline=inline)
    plan = plan_bakeoffs(loaded, options, settings=settings, baseline_of=known.of)
    refuse_empty(plan)
    if db is None:
        return plan
    return plan.with_plans([refine_estimate(db, one.plan) for one in plan.bakeoffs])


def plan_capture(loaded: LoadedSuite, options: SuiteRunOptions, *, settings: Settings) -> SuitePlan:
    """Plan one run of every regression, graded by its graders other than the comparison."""
    assignments = []
    for one in loaded.assignments:
        evals = tuple(each.with_case(graders=[ANY_ANSWER, *other_graders(each)]) for each in one.evals)
        assignments.append(replace(one, evals=evals))
    return plan_bakeoffs(
        replace(loaded, assignments=tuple(assignments)),
        replace(options, samples=1),
        settings=settings,
        baseline_of=lambda *_: None,
    )


def plan_bakeoffs(
    loaded: LoadedSuite, options: SuiteRunOptions, *, settings: Settings, baseline_of: BaselineOf
) -> SuitePlan:
    """Group the judges by their cases: each group is one bake-off."""
    groups: list[tuple[list[JudgeConfig], list[SuiteEval]]] = []
    lacking: list[tuple[str, SuiteEval]] = []
    for assignment in loaded.assignments:
        ready = []
        for one in assignment.evals:
            held = _with_known_baseline(one, assignment.key, baseline_of)
            if held.case.graders:
                ready.append(held)
            else:
                lacking.append((assignment.judge.name, held))
        if ready:
            _add_to_groups(groups, assignment.judge, ready)
    bakeoffs = []
    for judges, evals in groups:
        plan = _plan_bakeoff(loaded.suite, judges, evals, options, settings)
        bakeoffs.append(SuiteBakeOff(plan, tuple(evals)))
    return SuitePlan(
        loaded.suite, loaded.evals, loaded.assignments, tuple(bakeoffs), tuple(lacking), options.samples
    )


def refuse_empty(plan: SuitePlan) -> None:
    """InputError when no eval can be run."""
    if not plan.bakeoffs:
        remedy = "capture them: evalq baseline capture"
        raise InputError(Problem("none of these evals has a baseline yet", remedy, plan.suite.file))


def plan_retry(
    bakeoff: SuiteBakeOff, judges: Sequence[JudgeConfig], case_ids: Sequence[str], *, attempt: int
) -> Plan:
    """Plan some cases of a bake-off again, with another seed so that simulated answers differ."""
    plan = bakeoff.plan
    cases = [case for case in plan.evalset.cases if case.id in case_ids]
    evalset = plan.evalset.model_copy(update={"cases": cases})
    return make_plan(plan.task, evalset, judges, graders=plan.graders, seed=plan.seed + attempt)


def retries_of(suite: Suite, one: SuiteEval) -> int:
    """How often an eval runs again after a failure: its own number, else the suite's."""
    own = one.about.get("retries")
    return suite.config.retries if own is None else int(own)


def _with_known_baseline(one: SuiteEval, judge: str, baseline_of: BaselineOf) -> SuiteEval:
    if one.regression is None:
        return one
    baseline = baseline_of(one, judge)
    if baseline is None:
        return one
    return with_baseline(one, baseline)


def _add_to_groups(
    groups: list[tuple[list[JudgeConfig], list[SuiteEval]]], judge: JudgeConfig, evals: list[SuiteEval]
) -> None:
    """Let the judge join the group with the same cases, or start one."""
    cases = [one.case for one in evals]
    for judges, theirs in groups:
        if [one.case for one in theirs] == cases:
            judges.append(judge)
            return
    groups.append(([judge], evals))


def _plan_bakeoff(
    suite: Suite,
    judges: Sequence[JudgeConfig],
    evals: Sequence[SuiteEval],
    options: SuiteRunOptions,
    settings: Settings,
) -> Plan:
    """Plan one bake-off; tested systems that the settings do not know are added to them."""
    known = {**settings.judges, **{judge.name: judge for judge in judges}}
    request = Request(
        "",
        suite.file,
        [judge.name for judge in judges],
        grader_model=options.grader_model or suite.config.grader_model,
        samples=options.samples,
        seed=options.seed,
        allow_unpriced=options.allow_unpriced,
    )
    own_settings = settings.model_copy(update={"judges": known})
    plan = prepare_imported(loaded_task_of(suite, evals), request, own_settings)
    limited = [_limit_concurrency(judge, suite.config.at_once) for judge in plan.judges]
    return replace(plan, judges=tuple(limited))


def _limit_concurrency(judge: JudgeConfig, at_once: int | None) -> JudgeConfig:
    """The judge with no more calls at once than the suite allows."""
    if at_once is None or (judge.concurrency is not None and judge.concurrency <= at_once):
        return judge
    return judge.model_copy(update={"concurrency": at_once})
