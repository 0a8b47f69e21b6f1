"""Answers in Postgres: what judges said case by case, and the grades behind each verdict."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.records import Completion, CompletionState, Grade, Verdict
from evalq.store.database import Connection, Database, Row
from evalq.store.jobs import Job, kept_completion


@dataclass(frozen=True)
class CaseVerdicts:
    """A case as JSON with the verdict on each answer: judges and verdicts run in parallel."""

    case_id: str
    stratum: str
    body: str
    judges: Sequence[str]
    verdicts: Sequence[Verdict]


@dataclass(frozen=True)
class JudgeAnswer:
    """One answer with its verdict and price; what the job has not reached yet is None."""

    judge: str
    case_id: str
    sample: int
    job_id: int
    verdict: Verdict | None
    error_kind: str | None
    message: str | None
    answer: str | None
    completion_state: CompletionState | None
    latency_ms: int | None
    cost_usd: Decimal | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True)
class CaseVerdict:
    """The verdict on one answer of a judge."""

    case_id: str
    verdict: Verdict
    error_kind: str | None


@dataclass(frozen=True)
class OpponentAnswer:
    """Another judge's answer as far as its job has come; `state` is None before there is one."""

    state: CompletionState | None
    answer: str | None
    job_state: str
    run_state: str


@dataclass(frozen=True)
class StoredAnswer:
    """A judge's completion with the case it answers."""

    run_id: int
    judge: str
    job_id: int
    sample: int
    case: EvalCase
    completion: Completion


@dataclass(frozen=True)
class AnswerText:
    """What a person needs to judge an answer: the case's inputs, its expectation, the text."""

    inputs: Mapping[str, Any]
    expected: Any
    answer: str


def cases_with_verdicts(db: Database, bakeoff_id: int) -> list[CaseVerdicts]:
    """The cases of a bake-off that have outcomes, in evalset order."""
    return [CaseVerdicts(**row) for row in db.rows("inspected_cases", bakeoff_id=bakeoff_id)]


def judge_answers(db: Database, bakeoff_id: int, case_ids: Sequence[str]) -> list[JudgeAnswer]:
    """The answers of a bake-off to some cases, in judge order; only of jobs that have ended."""
    rows = db.rows("inspected_answers", bakeoff_id=bakeoff_id, case_ids=list(case_ids))
    return [JudgeAnswer(**row) for row in rows]


def first_answers(db: Database, bakeoff_id: int) -> dict[str, JudgeAnswer]:
    """Each judge's answer to its first case, by judge."""
    return {row["judge"]: JudgeAnswer(**row) for row in db.rows("first_answers", bakeoff_id=bakeoff_id)}


def judge_verdicts(db: Database, bakeoff_id: int, judge: str) -> list[CaseVerdict]:
    """The verdicts on one judge's answers, by case and sample."""
    return [CaseVerdict(**row) for row in db.rows("judge_verdicts", bakeoff_id=bakeoff_id, judge=judge)]


def grades(db: Database | Connection, job_ids: Sequence[int]) -> Mapping[int, list[Grade]]:
    """The grades of some jobs, in the order of their graders; an empty list for a job without any."""
    found: defaultdict[int, list[Grade]] = defaultdict(list)
    for row in db.rows("grades", job_ids=list(job_ids)):
        job_id = row.pop("job_id")
        found[job_id].append(Grade(**row))
    return found


def opponent_answer(db: Database, job: Job, judge: str) -> OpponentAnswer | None:
    """What another judge said to a job's case; None when that judge is not in the bake-off."""
    row = db.row("opponent", bakeoff_id=job.bakeoff_id, judge=judge, case_id=job.case.id, sample=job.sample)
    return OpponentAnswer(**row) if row else None


def stored_answers(db: Database, run_ids: Sequence[int], *, case_id: str | None = None) -> list[StoredAnswer]:
    """The completions of some runs, in case order."""
    rows = db.rows("stored_answers", run_ids=list(run_ids), case_id=case_id)
    return [_stored_answer(row) for row in rows]


def _stored_answer(row: Row) -> StoredAnswer:
    return StoredAnswer(
        run_id=row["run_id"],
        judge=row["judge"],
        job_id=row["job_id"],
        sample=row["sample"],
        case=EvalCase.model_validate_json(row["case_body"]),
        completion=kept_completion(row),
    )


def take_over(tx: Connection, bakeoff_id: int) -> None:
    """Give a rescoring bake-off the answers of the runs it rescores; a job without one ends at once."""
    tx.run("take_over_answers", bakeoff_id=bakeoff_id)
    tx.run("end_unanswered", bakeoff_id=bakeoff_id)


def answer_texts(db: Database, job_ids: Sequence[int]) -> dict[int, AnswerText]:
    """Inputs, expectation and answer of some jobs, by job."""
    found: dict[int, AnswerText] = {}
    for row in db.rows("answer_texts", job_ids=list(job_ids)):
        case = json.loads(row["body"])
        found[row["job_id"]] = AnswerText(case["inputs"], case["expected"], row["answer"] or "")
    return found
