"""Grades stored answers again on the fleet, without asking any judge."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Self, TypeVar

from pydantic import Field, FiniteFloat, model_validator

from evalq.bakeoff import holdout
from evalq.bakeoff.estimate import CostEstimate
from evalq.bakeoff.launch import launch
from evalq.bakeoff.plan import Plan, apply_scorer, choose_graders, make_plan
from evalq.bakeoff.verdict_cache import verdict_key
from evalq.calling.pricing import estimate_usd
from evalq.definitions.catalogue import all_judges
from evalq.definitions.definition import Definition, validate
from evalq.definitions.files import TASK_SUFFIXES, display_path, file_sha256, load_located, load_task
from evalq.definitions.graders import GraderConfig
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.located import Located
from evalq.definitions.project import find_evalset, list_tasks
from evalq.definitions.task import ScorerMode, ScoringConfig, TaskConfig
from evalq.engines.session import Session
from evalq.errors import InputError, Problem, Refused, UngradableAnswer
from evalq.grading.grade import grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.grading.sandbox.program import Program, ProgramRun
from evalq.grading.scoring import check_rubric
from evalq.records import BakeOffRow, Prompt, RunRow
from evalq.store import cached_verdicts
from evalq.store.answers import stored_answers, take_over
from evalq.store.bakeoffs import Terms
from evalq.store.database import Database
from evalq.store.definitions import Snapshots, stored_evalset, stored_graders, stored_judges

Read = TypeVar("Read")
Result = TypeVar("Result")

UNASKED = "not in the verdict cache"
UNRUN = "code is run by the fleet only"


@dataclass
class CacheOnlyContext:
    """Counts what it finds, and what would have to be asked and for how much.

    A command that grades has nothing else to do meanwhile, so nothing goes to a thread.
    """

    db: Database
    graders: Mapping[str, JudgeConfig]
    opponents: Mapping[str, str]
    found: int = 0
    missing: int = 0
    missing_usd: Decimal = Decimal(0)

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        """The stored reply; a missing one is counted and leaves the grade undecided."""
        grader = self.graders.get(model or "")
        if grader is None:
            raise UngradableAnswer(f"the bake-off has no grader model {model or ''}".rstrip())
        reply = cached_verdicts.peek_verdict(self.db, verdict_key(prompt, grader))
        if reply is None:
            self.missing += 1
            self.missing_usd += estimate_usd(grader, prompt)
            raise UngradableAnswer(UNASKED)
        self.found += 1
        return read(reply)

    async def run(self, program: Program) -> ProgramRun:
        """Code is for workers: nothing is run here."""
        del program
        raise UngradableAnswer(UNRUN)

    async def answer_of(self, judge: str) -> str:
        """What another judge said to the same case."""
        if judge not in self.opponents:
            raise UngradableAnswer(f"{judge} has no answer to compare with")
        return self.opponents[judge]

    async def apart(self, work: Callable[[], Result]) -> Result:
        """The result of the work, done at once."""
        return work()


RUN_TYPE = "rescore"


@dataclass(frozen=True)
class Regrading:
    """How to grade this time; unset fields are taken from the task."""

    scorer: ScorerMode | None = None
    grader_model: str | None = None
    graders_file: Path | None = None
    as_recorded: bool = False
    """Grade by the task as recorded, not by its current file."""
    is_final: bool = False
    root: Path = Path()


@dataclass(frozen=True)
class Rescore:
    """A bake-off to grade again: which of its runs, and the plan."""

    source: BakeOffRow
    runs: tuple[RunRow, ...]
    plan: Plan
    graded_by: str

    @property
    def sources(self) -> dict[str, int]:
        """The run each judge's answers come from."""
        return {run.judge: run.id for run in self.runs}


@dataclass(frozen=True)
class Forecast:
    """Cost of grading again: answers, cached verdicts, verdicts to ask for, and dollars."""

    answers: int
    cached: int
    to_ask: int
    usd: Decimal


class GraderFile(Definition):
    """A file of graders to mark with in place of the task's own."""

    graders: list[GraderConfig] = Field(default=[])
    scoring: ScoringConfig | None = None
    pass_threshold: FiniteFloat | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _something_marks(self) -> Self:
        if not self.graders and self.scoring is None:
            raise ValueError("nothing in it marks an answer; write graders: or scoring:")
        return self


def plan_rescore(session: Session, runs: Sequence[RunRow], source: BakeOffRow, how: Regrading) -> Rescore:
    """Decide everything that grading again needs before it starts."""
    db = session.db
    task, graded_by = _graded_task(Snapshots(db).task(source.task_sha), how)
    evalset, judges = stored_evalset(db, source), stored_judges(db, source.id)
    on_trial = [judges[run.judge] for run in runs]
    graders = choose_graders(
        task,
        evalset.cases,
        on_trial,
        all_judges(session.settings.judges),
        chosen=how.grader_model,
        usual=session.settings.grader_model,
    )
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        check_rubric(task, evalset.cases[0])
    if not how.grader_model:  # who graded before grades again: its verdicts may be in the cache
        graders |= {name: judge for name, judge in stored_graders(db, source.id).items() if name in graders}
    plan = make_plan(task, evalset, on_trial, graders=graders, seed=source.seed, samples=source.samples)
    return Rescore(source, tuple(runs), _look(plan, how), graded_by)


def forecast(db: Database, rescore: Rescore) -> Forecast:
    """Count the verdicts in the cache and those to ask for."""
    return asyncio.run(_forecast(db, rescore))


async def _forecast(db: Database, rescore: Rescore) -> Forecast:
    found = missing = answers = 0
    usd = Decimal(0)
    said: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    stored = stored_answers(db, [run.id for run in rescore.runs])
    for answer in stored:
        said[answer.case.id, answer.sample][answer.judge] = answer.completion.text
    for answer in stored:
        subject = AnswerToGrade(rescore.plan.task, answer.case, answer.completion, answer.judge)
        if not subject.is_gradable:
            continue
        context = CacheOnlyContext(db, rescore.plan.graders, said[answer.case.id, answer.sample])
        await grade_answer(subject, context)
        answers, found, missing = answers + 1, found + context.found, missing + context.missing
        usd += context.missing_usd
    return Forecast(answers, found, missing, usd)


def start_rescore(session: Session, rescore: Rescore, *, cap_usd: Decimal, root: Path) -> int:
    """Record the second grading with the answers it grades, and publish it; return its id."""
    terms = Terms(
        cap_usd,
        rescore.plan.look or RUN_TYPE,
        rescored_from=rescore.source.id,
        rescored_runs=rescore.sources,
    )
    free = replace(rescore.plan, estimate=CostEstimate(), estimate_usd=forecast(session.db, rescore).usd)
    return launch(session, free, terms=terms, root=root, beside=take_over)


def _graded_task(recorded: TaskConfig, how: Regrading) -> tuple[TaskConfig, str]:
    """The recorded task with this grading, and the source of that grading."""
    if how.graders_file is not None:
        own = _load_graders(how.graders_file)
        marks = {name: getattr(own, name) for name in ("graders", "scoring", "pass_threshold")}
        task, source = recorded.model_copy(update=marks), display_path(how.graders_file)
        return apply_scorer(task, how.scorer, how.grader_model), source
    path = None if how.as_recorded else list_tasks(how.root).get(recorded.name)
    if path is None:
        return apply_scorer(recorded, how.scorer, how.grader_model), "the task as it was recorded"
    written = load_task(path)
    # Which scorer and which model was chosen then holds on, unless another is chosen now.
    then = recorded.scoring if written.scoring else None
    mode = how.scorer or (then.mode if then else None)
    model = how.grader_model or (then.judge_model if then else None)
    marks = {name: getattr(written, name) for name in ("graders", "scoring", "pass_threshold")}
    return apply_scorer(recorded.model_copy(update=marks), mode, model), display_path(path)


def _load_graders(path: Path) -> GraderFile:
    """A list of graders, or a mapping with `graders`, `scoring` and `pass_threshold`."""
    located = load_located(path, TASK_SUFFIXES)
    if isinstance(located.value, list):
        lines = {("graders", *loc): line for loc, line in located.lines.items()}
        located = Located({"graders": located.value}, {(): 1, **lines}, located.file)
    return validate(GraderFile, located)


def _look(plan: Plan, how: Regrading) -> Plan:
    """Grading the answers of a holdout again is one more look at it."""
    name = plan.evalset.name
    if not holdout.is_holdout(name):
        if how.is_final:
            raise InputError(Problem(f"{name!r} is not a holdout", "leave out --final-decision"))
        return plan
    if not how.is_final:
        raise Refused(
            f"{name!r} is a frozen holdout: marking its answers in another way is one more look at it; "
            "with --final-decision it is recorded for good"
        )
    return replace(
        plan, look="final-decision", set_sha256=file_sha256(find_evalset(name, plan.task.name, how.root))
    )
