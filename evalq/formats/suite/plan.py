"""Which evals of a suite are run, and by which graders: by type, tag, difficulty and type of grader."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.bakeoff.plan import Plan, make_plan
from evalq.bakeoff.request import Request, prepare_imported
from evalq.definitions.graders import GraderConfig, Human
from evalq.definitions.graders.model import ModelGrader
from evalq.definitions.judge import JudgeConfig
from evalq.errors import InputError, Problem
from evalq.formats.suite.answering import Assignment
from evalq.formats.suite.evals import TIMEOUT, SuiteEval, checked_graders
from evalq.formats.suite.forms import ExpectedForm, GraderForm
from evalq.formats.suite.graders import graders_of
from evalq.formats.suite.load import imported_of
from evalq.formats.suite.read import Suite
from evalq.formats.suite.regressions import with_baseline
from evalq.settings import Settings


@dataclass(frozen=True)
class Filters:
    """What an eval must be; of several values of one kind, one is enough. Nothing said: every eval."""

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    grader_type: str | None = None

    def is_wanted(self, one: SuiteEval) -> bool:
        """Whether an eval is among those asked for, graders aside."""
        about = one.about
        kinds = {one.eval_type, str(about.get("category", ""))}
        return (
            (not self.categories or bool(kinds & set(self.categories)))
            and (not self.tags or bool(set(about.get("tags", ())) & set(self.tags)))
            and (not self.difficulties or about.get("difficulty") in self.difficulties)
        )


def choose(suite: Suite, filters: Filters) -> tuple[SuiteEval, ...]:
    """The evals asked for; InputError when there are none."""
    wanted = [one for one in suite.evals if filters.is_wanted(one)]
    if filters.grader_type is not None:
        kept = (_graded_by(one, filters.grader_type, suite) for one in wanted)
        wanted = [one for one in kept if one is not None]
    if not wanted:
        raise InputError(Problem("no eval of the suite is asked for", _known(suite), suite.file))
    return tuple(wanted)


def grader_class(grader: GraderConfig) -> str:
    """What kind of grader it is to those who write suites: code, model or human."""
    if isinstance(grader, Human):
        return "human"
    return "model" if isinstance(grader, ModelGrader) else "code"


def _graded_by(one: SuiteEval, wanted: str, suite: Suite) -> SuiteEval | None:
    """The eval with its graders of one type alone; the shared stand-in where it has none; else None."""
    limit = [grader for grader in one.case.graders if grader.name == TIMEOUT]
    own = [g for g in one.case.graders if grader_class(g) == wanted and g.name != TIMEOUT]
    if not own and wanted in suite.library.overrides and one.case.graders:
        own = _stand_in(one, GraderForm.model_validate(suite.library.overrides[wanted]), suite)
    if not own:
        return None
    known = {**one.case.metadata, "grader_types": [wanted]}
    made = one.with_case(graders=[*own, *limit], metadata=known)
    return made.with_types((wanted,))


def _stand_in(one: SuiteEval, form: GraderForm, suite: Suite) -> list[GraderConfig]:
    answer = (one.case.expected or {}).get("answer")
    expected = ExpectedForm(type="none") if answer is None else ExpectedForm(type="exact", value=answer)
    if one.source is None:
        return []
    return checked_graders(one.source.located, graders_of([form], expected, suite.library))


def _known(suite: Suite) -> str:
    def values(key: str) -> set[str]:
        found = (one.about.get(key) for one in suite.evals)
        return {item for each in found for item in (each if isinstance(each, list) else [each]) if item}

    categories = {one.eval_type for one in suite.evals} | values("category")
    parts: Sequence[tuple[str, set[str]]] = (
        ("categories", categories),
        ("tags", values("tags")),
        ("difficulties", values("difficulty")),
        ("grader types", {kind for one in suite.evals for kind in one.grader_types}),
    )
    return "it has " + "; ".join(f"{name}: {', '.join(sorted(found))}" for name, found in parts if found)


BaselineOf = Callable[[SuiteEval, str], Any]
"""The baseline of an eval for a judge; None when there is none."""


@dataclass(frozen=True)
class SuiteRunOptions:
    """What the user asks for beside the suite."""

    samples: int = 1
    seed: int = 0
    grader_model: str | None = None
    allow_unpriced: bool = False


@dataclass(frozen=True)
class SuiteBakeOff:
    """One bake-off: its plan, and the evals behind its cases."""

    plan: Plan
    evals: tuple[SuiteEval, ...]


@dataclass(frozen=True)
class PlannedBakeOffs:
    """Every bake-off of a suite; `lacking` are regressions, by judge, that have no baseline yet."""

    parts: tuple[SuiteBakeOff, ...]
    lacking: tuple[tuple[str, SuiteEval], ...]


def plan_parts(
    suite: Suite,
    found: Sequence[Assignment],
    options: SuiteRunOptions,
    *,
    settings: Settings,
    baseline_of: BaselineOf,
) -> PlannedBakeOffs:
    """Judges with the same evals and baselines share a bake-off; the others have one of their own."""
    groups: list[tuple[list[JudgeConfig], tuple[SuiteEval, ...]]] = []
    lacking: list[tuple[str, SuiteEval]] = []
    for one in found:
        held = [_with_known_baseline(each, one.key, baseline_of) for each in one.evals]
        lacking += [(one.judge.name, each) for each in held if not each.case.graders]
        ready = tuple(each for each in held if each.case.graders)
        same = next((judges for judges, evals in groups if _cases(evals) == _cases(ready)), None)
        if same is not None:
            same.append(one.judge)
        elif ready:
            groups.append(([one.judge], ready))
    parts = [SuiteBakeOff(_plan(suite, judges, evals, options, settings), evals) for judges, evals in groups]
    return PlannedBakeOffs(tuple(parts), tuple(lacking))


def _with_known_baseline(one: SuiteEval, judge: str, baseline_of: BaselineOf) -> SuiteEval:
    """A regression held against the baseline of its judge; any other eval as it is."""
    if one.regression is None:
        return one
    baseline = baseline_of(one, judge)
    return one if baseline is None else with_baseline(one, baseline)


def retry_plan(
    part: SuiteBakeOff, judges: Sequence[JudgeConfig], case_ids: Sequence[str], *, attempt: int
) -> Plan:
    """Some of a plan's cases once more; another seed, so that a simulation does not repeat itself."""
    plan = part.plan
    cases = [case for case in plan.evalset.cases if case.id in set(case_ids)]
    few = plan.evalset.model_copy(update={"cases": cases})
    return make_plan(plan.task, few, judges, graders=plan.graders, seed=plan.seed + attempt)


def retries_of(suite: Suite, one: SuiteEval) -> int:
    """How often an eval is run again after a failure: as it says itself, else as the suite does."""
    own = one.about.get("retries")
    return suite.config.retries if own is None else int(own)


def refuse_nothing(planned: PlannedBakeOffs, suite: Suite) -> None:
    """InputError when no eval can be run."""
    if not planned.parts:
        remedy = "capture them: evalq baseline capture"
        raise InputError(Problem("no eval asked for has a baseline yet", remedy, suite.file))


def _plan(
    suite: Suite,
    judges: Sequence[JudgeConfig],
    evals: Sequence[SuiteEval],
    options: SuiteRunOptions,
    settings: Settings,
) -> Plan:
    own = settings.model_copy(
        update={"judges": {**settings.judges, **{judge.name: judge for judge in judges}}}
    )
    request = Request(
        "",
        suite.file,
        [judge.name for judge in judges],
        grader_model=options.grader_model or suite.config.grader_model,
        samples=options.samples,
        seed=options.seed,
        allow_unpriced=options.allow_unpriced,
    )
    plan = prepare_imported(imported_of(suite, evals), request, own)
    return replace(plan, judges=tuple(_limited(judge, suite.config.at_once) for judge in plan.judges))


def _limited(judge: JudgeConfig, at_once: int | None) -> JudgeConfig:
    """No more calls at once than the suite allows, nor than the judge does."""
    if at_once is None or (judge.concurrency is not None and judge.concurrency <= at_once):
        return judge
    return judge.model_copy(update={"concurrency": at_once})


def _cases(evals: Sequence[SuiteEval]) -> list[Any]:
    return [one.case for one in evals]
