"""Reads the cases of a bake-off with every judge's answer, filtered as the user asks."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from evalq.bakeoff.holdout import refuse_cases
from evalq.errors import InputError, Problem
from evalq.records import Grade
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.results import BakeOffResult
from evalq.store import answers as stored
from evalq.store.answers import CaseVerdicts, JudgeAnswer
from evalq.store.database import Database

Filter = Literal["all", "failures", "disagreements"]
GRADED = ("passed", "failed")


@dataclass(frozen=True)
class CaseFilter:
    """Which cases to show; `ranked_only` passes over the failures of judges that are broken altogether."""

    show: Filter = "all"
    case_id: str | None = None
    judge: str | None = None
    limit: int = 50
    ranked_only: bool = False


def find_cases(db: Database, result: BakeOffResult, question: CaseFilter) -> tuple[list[CaseView], int]:
    """The cases asked for, at most `limit`, and how many there are."""
    return choose_cases(db, result, question, read_cases(db, result))


def read_cases(db: Database, result: BakeOffResult) -> list[CaseVerdicts]:
    """Every case of a bake-off that has outcomes; refused for a holdout."""
    refuse_cases(db, result.id)
    return stored.cases_with_verdicts(db, result.id)


def choose_cases(
    db: Database, result: BakeOffResult, question: CaseFilter, every: Sequence[CaseVerdicts]
) -> tuple[list[CaseView], int]:
    """Those of the cases that are asked for, with their answers, and how many there are."""
    rows = [case for case in every if _is_wanted(case, result, question)]
    if question.case_id and not rows:
        raise InputError(
            Problem(
                f"bake-off {result.id} has no case {question.case_id!r}",
                f"`evalq inspect {result.id} --show-failures` lists some",
            )
        )
    chosen = rows[: question.limit]
    answers = _answers(db, result.id, [row.case_id for row in chosen], question.judge)
    return [_case_view(row, answers[row.case_id]) for row in chosen], len(rows)


def view_cases(db: Database, bakeoff_id: int, rows: Sequence[CaseVerdicts]) -> list[CaseView]:
    """Some cases of a bake-off with every answer; the caller has asked `refuse_cases`."""
    answers = _answers(db, bakeoff_id, [row.case_id for row in rows], None)
    return [_case_view(row, answers[row.case_id]) for row in rows]


def require_judge(result: BakeOffResult, judge: str | None) -> None:
    """Refuse a judge that is not in the bake-off."""
    names = [run.judge for run in result.runs]
    if judge is not None and judge not in names:
        raise InputError(
            Problem(f"judge {judge!r} is not in bake-off {result.id}", f"its judges are {', '.join(names)}")
        )


def _is_wanted(row: CaseVerdicts, result: BakeOffResult, question: CaseFilter) -> bool:
    if question.case_id and row.case_id != question.case_id:
        return False
    verdicts = list(zip(row.judges, row.verdicts, strict=True))
    ranked = {run.judge for run in result.runs if not run.excluded}
    if question.ranked_only:
        verdicts = [(judge, verdict) for judge, verdict in verdicts if judge in ranked]
    if question.show == "failures":
        return any(verdict != "passed" for judge, verdict in verdicts if question.judge in (None, judge))
    if question.show == "disagreements":
        said = [(judge, verdict) for judge, verdict in verdicts if judge in ranked and verdict in GRADED]
        mine = [verdict for judge, verdict in said if question.judge in (None, judge)]
        return len({verdict for _, verdict in said}) > 1 and bool(mine)
    return True


def _answers(
    db: Database, bakeoff_id: int, case_ids: Sequence[str], judge: str | None
) -> dict[str, list[AnswerView]]:
    every = stored.judge_answers(db, bakeoff_id, case_ids)
    answers = [answer for answer in every if judge in (None, answer.judge)]
    grades = stored.grades(db, [answer.job_id for answer in answers])
    views: defaultdict[str, list[AnswerView]] = defaultdict(list)
    for answer in answers:
        views[answer.case_id].append(_answer_view(answer, grades[answer.job_id]))
    return views


def _answer_view(answer: JudgeAnswer, grades: Sequence[Grade]) -> AnswerView:
    assert answer.verdict is not None, "the jobs of inspected answers have ended"
    tokens = None
    if answer.input_tokens is not None and answer.output_tokens is not None:
        tokens = answer.input_tokens, answer.output_tokens
    return AnswerView(
        judge=answer.judge,
        sample=answer.sample,
        verdict=answer.verdict,
        error_kind=answer.error_kind,
        answer_text=answer.answer if answer.answer is not None else answer.message or "",
        grades=tuple(
            GradeLine(**{name: getattr(grade, name) for name in GradeLine._fields}) for grade in grades
        ),
        latency_ms=answer.latency_ms,
        cost_usd=answer.cost_usd or Decimal(0),
        tokens=tokens,
    )


def _case_view(row: CaseVerdicts, answers: Sequence[AnswerView]) -> CaseView:
    case = json.loads(row.body)
    return CaseView(
        case_id=row.case_id,
        stratum=row.stratum,
        expected_type=case["expected_type"],
        input_text=_text(case["inputs"]),
        expected_text=_text(case["expected"]),
        answers=tuple(answers),
        expected_answer=expected_answer(case["expected"]),
    )


def expected_answer(expected: Any) -> str | None:
    """The one text that a right answer equals: `answer`, or the only value there is; else None."""
    if not isinstance(expected, dict):
        return None
    wanted = expected.get("answer")
    if wanted is None and len(expected) == 1:
        wanted = next(iter(expected.values()))
    return wanted if isinstance(wanted, str) else None


def _text(value: Any) -> str:
    """Inputs or expectations for display: a single text as it is, several as lines of name and value."""
    if not isinstance(value, dict):
        return "" if value is None else json.dumps(value, ensure_ascii=False)
    parts = {
        name: part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
        for name, part in value.items()
    }
    return (
        next(iter(parts.values()))
        if len(parts) == 1
        else "\n".join(f"{name}: {part}" for name, part in parts.items())
    )


def case_document(case: CaseView) -> dict[str, Any]:
    """A case as JSON."""
    return {
        "case_id": case.case_id,
        "stratum": case.stratum,
        "expected_type": case.expected_type,
        "input": case.input_text,
        "expected": case.expected_text,
        "answers": [_answer_document(answer) for answer in case.answers],
    }


def _answer_document(answer: AnswerView) -> dict[str, Any]:
    return {
        "judge": answer.judge,
        "sample": answer.sample,
        "verdict": answer.verdict,
        "error_kind": answer.error_kind,
        "answer": answer.answer_text,
        "grades": [grade._asdict() for grade in answer.grades],
        "latency_ms": answer.latency_ms,
        "cost_usd": str(answer.cost_usd),
        "tokens": list(answer.tokens) if answer.tokens else None,
    }
