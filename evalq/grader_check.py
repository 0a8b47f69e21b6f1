"""A grader on trial: known-bad answers go through the fleet, and none of them may pass."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from evalq.bakeoff import Request, drain, follow, prepare, start
from evalq.calibration.bad_answers import Trial, make_trial
from evalq.calibration.result import BadAnswer, GraderCheck
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.lookup import find_evalset, find_task
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.errors import InputError, Problem
from evalq.plan import Plan, apply_scorer, make_plan
from evalq.results import Progress
from evalq.session import Session, open_session
from evalq.settings import Settings
from evalq.store import bakeoffs

RUN_TYPE = "grader_check"


@dataclass(frozen=True)
class Suspect:
    """Which grader is to be tried, on which task and set."""

    task: str
    eval_set: str
    scorer: ScorerMode | None = None
    grader_model: str | None = None
    allow_unpriced: bool = False


def check_grader(settings: Settings, root: Path, suspect: Suspect, *, cap_usd: Decimal) -> GraderCheck:
    """Have known-bad answers graded, metered and capped like any bake-off, and say which of them passed."""
    plan, trial = plan_check(settings, root, suspect)
    with open_session(settings, fleet=True) as session:
        broker = session.broker()
        bakeoff_id = start(session, broker, plan, cap_usd=cap_usd, root=root, run_type=RUN_TYPE)
        follow(session, broker, bakeoff_id, show=_ignore, is_interrupted=lambda: False)
        drain(session.db, bakeoff_id, show=_ignore)
        return _outcome(session, bakeoff_id, plan, trial)


def plan_check(settings: Settings, root: Path, suspect: Suspect) -> tuple[Plan, Trial]:
    """The bake-off of the bad answers, and what they are."""
    task = apply_scorer(load_task(find_task(suspect.task, root)), suspect.scorer, suspect.grader_model)
    cases = load_evalset(find_evalset(suspect.eval_set, task.name, root)).without_drafts().evalset.cases
    trial = make_trial(task, cases)
    if not trial.cases:
        raise InputError(
            Problem(f"evalset {suspect.eval_set!r} has no positive case to try the grader on", "name another")
        )
    judges = {judge.name: judge for judge in trial.judges()}
    own = settings.model_copy(update={"judges": {**settings.judges, **judges}})
    request = Request(
        suspect.task,
        suspect.eval_set,
        list(judges),
        suspect.scorer,
        # Named even if it is the task's own: simulated answers would be graded by a simulation otherwise.
        suspect.grader_model or _grader_of(task),
        allow_unpriced=suspect.allow_unpriced,
    )
    plan = prepare(request, own, root)
    few = plan.evalset.model_copy(update={"cases": list(trial.cases)})
    return make_plan(plan.task, few, plan.judges, graders=plan.graders), trial


def _grader_of(task: TaskConfig) -> str | None:
    scoring = task.scoring
    return scoring.judge_model if scoring is not None and scoring.mode == "llm_judge" else None


def _outcome(session: Session, bakeoff_id: int, plan: Plan, trial: Trial) -> GraderCheck:
    bakeoff = bakeoffs.get(session.db, bakeoff_id)
    case_ids = [case.id for case in trial.cases]
    rows = session.db.rows("inspected_answers", bakeoff_id=bakeoff_id, case_ids=case_ids)
    ended = {(row["judge"], row["case_id"]): (row["verdict"], row["error_kind"]) for row in rows}
    answers = [
        BadAnswer(kind, case_id, *ended.get((judge.name, case_id), ("none", None)))
        for kind, judge in zip(trial.texts, trial.judges(), strict=True)
        for case_id in case_ids
    ]
    return GraderCheck(
        bakeoff_id,
        plan.grader_names or plan.scorer,
        bakeoff.state,
        f"{bakeoff.spent_usd:.4f}",
        tuple(answers),
        trial.skipped,
    )


def _ignore(progress: Progress) -> None:
    del progress
