"""Outcomes of a suite's evals, collected from the bake-offs that ran them."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from evalq.definitions.evalset import EvalCase
from evalq.formats.suite.assignment import Assignment
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.formats.suite.plan import SuiteBakeOff
from evalq.records import Grade
from evalq.results import plain
from evalq.store import answers, bakeoffs
from evalq.store.answers import JudgeAnswer
from evalq.store.database import Database
from evalq.store.definitions import evalset_cases

Attempts = Mapping[tuple[str, str], Sequence[Attempt]]
"""By judge and case."""


@dataclass(frozen=True)
class Round:
    """One bake-off that was started: a planned one, or a retry of some of its cases."""

    bakeoff: SuiteBakeOff
    bakeoff_id: int
    attempt: int = 0


def collect_outcomes(
    db: Database, assignments: Sequence[Assignment], rounds: Sequence[Round]
) -> tuple[JudgeOutcomes, ...]:
    """The outcomes of each judge; those of the tested system are added to every judge.

    Several systems count as one, unless two of them answered the same evals: then each is listed.
    """
    first, again = _attempts_of(db, rounds, retries=False), _attempts_of(db, rounds, retries=True)
    run: dict[tuple[str, str], SuiteEval] = {}
    for one in rounds:
        for judge in one.bakeoff.plan.judges:
            run |= {(judge.name, each.id): each for each in one.bakeoff.evals}
    outcomes: dict[str, list[EvalOutcome]] = {}
    for assignment in assignments:
        name = assignment.judge.name
        evals = [run.get((name, each.id), each) for each in assignment.evals]
        outcomes[name] = [_build_eval_outcome(each, assignment, first, again) for each in evals]
    return _group_by_judge(assignments, outcomes)


def _group_by_judge(
    assignments: Sequence[Assignment], outcomes: Mapping[str, Sequence[EvalOutcome]]
) -> tuple[JudgeOutcomes, ...]:
    systems = [one.judge for one in assignments if one.is_system]
    speakers = [one.judge for one in assignments if not one.is_system]
    of_systems: list[EvalOutcome] = []
    for judge in systems:
        of_systems += outcomes[judge.name]
    if speakers:
        return tuple(
            JudgeOutcomes(judge.name, judge.model, (*outcomes[judge.name], *of_systems)) for judge in speakers
        )
    if len({one.id for one in of_systems}) < len(of_systems):
        return tuple(JudgeOutcomes(judge.name, judge.model, tuple(outcomes[judge.name])) for judge in systems)
    names = ", ".join(judge.name for judge in systems)
    models = ", ".join(judge.model for judge in systems)
    return (JudgeOutcomes(names, models, tuple(of_systems)),)


def _build_eval_outcome(
    one: SuiteEval, assignment: Assignment, first: Attempts, again: Attempts
) -> EvalOutcome:
    """The outcome of one eval for one judge, from its first attempts and its retries."""
    key = assignment.judge.name, one.id
    outcome = _build_outcome(one.case, first.get(key, ()), again.get(key, ()), grader_types=one.grader_types)
    lacks_baseline = one.regression is not None and key not in first and not one.case.graders
    return replace(outcome, lacks_baseline=lacks_baseline, answered_by=assignment.key)


def run_of_bakeoff(db: Database, bakeoff_id: int, ks: Sequence[int]) -> SuiteRun:
    """A stored bake-off as if it were the run of a suite, whatever it was made from."""
    row = bakeoffs.get(db, bakeoff_id)
    return SuiteRun(
        row.task_name,
        f"eval-{row.created_at:%Y%m%d-%H%M%S}",
        f"{row.created_at:%Y-%m-%dT%H:%M:%S}Z",
        max(0.0, (row.read_at - row.created_at).total_seconds()),
        _outcomes_of_bakeoff(db, bakeoff_id, row.eval_set_sha),
        samples=row.samples,
        bakeoffs=(bakeoff_id,),
        spent_usd=str(plain(row.spent_usd)),
        ks=tuple(ks),
    )


def _outcomes_of_bakeoff(db: Database, bakeoff_id: int, eval_set_sha: str) -> tuple[JudgeOutcomes, ...]:
    cases = evalset_cases(db, eval_set_sha)
    attempts = _read_attempts(db, bakeoff_id, [case.id for case in cases])
    found = []
    for run in bakeoffs.runs(db, bakeoff_id):
        evals = tuple(_build_outcome(case, attempts.get((run.judge, case.id), ()), ()) for case in cases)
        found.append(JudgeOutcomes(run.judge, run.judge, evals))
    return tuple(found)


def _build_outcome(
    case: EvalCase,
    samples: Sequence[Attempt],
    retries: Sequence[Attempt],
    *,
    grader_types: tuple[str, ...] = (),
) -> EvalOutcome:
    about = case.metadata
    return EvalOutcome(
        case.id,
        str(about.get("name", case.id)),
        str(about.get("eval_type", "capability")),
        str(about.get("category", "")),
        grader_types or tuple(about.get("grader_types", ("code",))),
        float(about.get("weight", 1.0)),
        about.get("criticality"),
        _expected_text(case),
        tuple(samples),
        tuple(retries),
    )


def _expected_text(case: EvalCase) -> str:
    if not case.expected:
        return ""
    answer = case.expected.get("answer")
    return answer if isinstance(answer, str) else json.dumps(case.expected, ensure_ascii=False)


def _attempts_of(db: Database, rounds: Sequence[Round], *, retries: bool) -> Attempts:
    found: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for one in sorted(rounds, key=lambda each: each.attempt):
        if bool(one.attempt) == retries:
            case_ids = [each.id for each in one.bakeoff.evals]
            for key, attempts in _read_attempts(db, one.bakeoff_id, case_ids).items():
                found[key] += attempts
    return found


def _read_attempts(
    db: Database, bakeoff_id: int, case_ids: Sequence[str]
) -> dict[tuple[str, str], list[Attempt]]:
    stored = answers.judge_answers(db, bakeoff_id, case_ids)
    grades = answers.grades(db, [answer.job_id for answer in stored])
    found: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for answer in stored:
        found[answer.judge, answer.case_id].append(_build_attempt(answer, grades[answer.job_id]))
    return found


def _build_attempt(answer: JudgeAnswer, grades: Sequence[Grade]) -> Attempt:
    undecided = [grade.reason for grade in grades if grade.passed is None]
    return Attempt(
        answer.verdict,
        answer.message or "; ".join(undecided),
        answer.error_kind,
        answer.answer or "",
        answer.latency_ms,
        tuple(asdict(grade) for grade in grades),
    )
