"""Tries a grader on known-bad answers; none of them may pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random

from evalq.bakeoff.follow import run_to_end
from evalq.bakeoff.plan import Plan, apply_scorer, make_plan
from evalq.bakeoff.request import Request
from evalq.calling.providers.simulated import right_answer
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.project import find_evalset, find_task
from evalq.definitions.prompt import describe_case
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.engines.session import Session, open_session
from evalq.errors import InputError, Problem
from evalq.formats import prepare
from evalq.grading.scoring import wanted_phrases
from evalq.review.calibration_result import BadAnswer, GraderCheck
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.answers import judge_answers

UNKNOWN = "I don't know."
CASES = 3
"""Cases a grader is tried on."""


@dataclass(frozen=True)
class Trial:
    """The cases, and the bad answers to each by kind; `skipped` lists kinds left out."""

    cases: tuple[EvalCase, ...]
    texts: Mapping[str, Mapping[str, str]]
    skipped: tuple[str, ...] = field(default=())

    def judges(self) -> list[SimulatedJudge]:
        """One simulated judge per kind, which gives just these answers."""
        return [
            SimulatedJudge(
                name=f"bad-{kind.replace('_', '-')}",
                provider="simulated",
                model=f"bad-{kind.replace('_', '-')}",
                time_scale=0.0,
                answers=dict(answers),
            )
            for kind, answers in self.texts.items()
        ]


def make_trial(task: TaskConfig, cases: Sequence[EvalCase]) -> Trial:
    """Bad answers to a few positive cases, all of them surely bad: none holds what its case asks for.

    Finding nothing is right on a negative case, so those are left out.
    """
    fit = [case for case in cases if case.expected_type == "positive" and not may_be_right(case, UNKNOWN)]
    others = {case.id: text for case in fit if (text := _other_answer(task, case, cases))}
    chosen = sorted(fit, key=lambda case: case.id not in others)[:CASES]
    texts = {"empty": dict.fromkeys((case.id for case in chosen), "")}
    texts["unknown"] = dict.fromkeys(texts["empty"], UNKNOWN)
    if chosen and all(case.id in others for case in chosen):
        return Trial(tuple(chosen), {**texts, "other_case": {case.id: others[case.id] for case in chosen}})
    return Trial(
        tuple(chosen), texts, ("other_case: no case has an answer that is surely wrong for another",)
    )


def may_be_right(case: EvalCase, text: str) -> bool:
    """Whether a text holds, or is a part of, anything the case asks for."""
    said = text.casefold()
    return any(phrase in said or said in phrase for phrase in _phrases(case))


def _phrases(case: EvalCase) -> Iterator[str]:
    expected = case.expected or {}
    relevant = expected.get("relevant")
    ids = relevant if isinstance(relevant, list) else []
    for phrase in (*wanted_phrases(expected), *map(str, ids)):
        if phrase.strip():
            yield phrase.strip().casefold()


def _other_answer(task: TaskConfig, case: EvalCase, cases: Sequence[EvalCase]) -> str:
    """The right answer to the next case whose answer is surely wrong for this one; "" when there is none."""
    at = next(place for place, other in enumerate(cases) if other.id == case.id)
    for other in (*cases[at + 1 :], *cases[:at]):
        if other.expected_type == "positive" and any(_phrases(other)):
            text = right_answer(describe_case(task, other), Random(other.id))  # noqa: S311 - an answer, not a secret
            if text.strip() and not may_be_right(case, text):
                return text
    return ""


RUN_TYPE = "grader_check"


@dataclass(frozen=True)
class Suspect:
    """The grader to try, and the task and set to try it on."""

    task: str
    eval_set: str
    scorer: ScorerMode | None = None
    grader_model: str | None = None
    allow_unpriced: bool = False


def check_grader(settings: Settings, root: Path, suspect: Suspect, *, cap_usd: Decimal) -> GraderCheck:
    """Have known-bad answers graded, metered and capped like any bake-off, and report which passed."""
    plan, trial = plan_check(settings, root, suspect)
    with open_session(settings, fleet=True) as session:
        bakeoff_id = run_to_end(session, plan, cap_usd=cap_usd, root=root, run_type=RUN_TYPE)
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
    ended = {
        (answer.judge, answer.case_id): (answer.verdict or "none", answer.error_kind)
        for answer in judge_answers(session.db, bakeoff_id, case_ids)
    }
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
