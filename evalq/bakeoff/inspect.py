"""Looking into a bake-off: its cases with every judge's answer, filtered by what one asks."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from evalq.errors import InputError, Problem
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.results import BakeOffResult
from evalq.store.database import Database, Row

Filter = Literal["all", "failures", "disagreements"]
GRADED = ("passed", "failed")


@dataclass(frozen=True)
class CaseFilter:
    """What the user wants to see."""

    show: Filter = "all"
    case_id: str | None = None
    judge: str | None = None
    limit: int = 50


def find_cases(db: Database, result: BakeOffResult, question: CaseFilter) -> tuple[list[CaseView], int]:
    """The cases asked for, at most `limit`, and how many there are."""
    rows = [
        row for row in db.rows("inspected_cases", bakeoff_id=result.id) if _is_wanted(row, result, question)
    ]
    if question.case_id and not rows:
        raise InputError(
            Problem(
                f"bake-off {result.id} has no case {question.case_id!r}",
                f"`evalq inspect {result.id} --show-failures` lists some",
            )
        )
    chosen = rows[: question.limit]
    answers = _answers(db, result.id, [row["case_id"] for row in chosen], question.judge)
    return [_case_view(row, answers[row["case_id"]]) for row in chosen], len(rows)


def require_judge(result: BakeOffResult, judge: str | None) -> None:
    """Refuse a judge that is not on trial here."""
    names = [run.judge for run in result.runs]
    if judge is not None and judge not in names:
        raise InputError(
            Problem(f"judge {judge!r} is not in bake-off {result.id}", f"its judges are {', '.join(names)}")
        )


def _is_wanted(row: Row, result: BakeOffResult, question: CaseFilter) -> bool:
    if question.case_id and row["case_id"] != question.case_id:
        return False
    verdicts = list(zip(row["judges"], row["verdicts"], strict=True))
    if question.show == "failures":
        return any(verdict != "passed" for judge, verdict in verdicts if question.judge in (None, judge))
    if question.show == "disagreements":
        ranked = {run.judge for run in result.runs if not run.excluded}
        said = [(judge, verdict) for judge, verdict in verdicts if judge in ranked and verdict in GRADED]
        mine = [verdict for judge, verdict in said if question.judge in (None, judge)]
        return len({verdict for _, verdict in said}) > 1 and bool(mine)
    return True


def _answers(
    db: Database, bakeoff_id: int, case_ids: Sequence[str], judge: str | None
) -> dict[str, list[AnswerView]]:
    rows = db.rows("inspected_answers", bakeoff_id=bakeoff_id, case_ids=list(case_ids))
    rows = [row for row in rows if judge in (None, row["judge"])]
    grades: defaultdict[int, list[GradeLine]] = defaultdict(list)
    for grade in db.rows("inspected_grades", job_ids=[row["job_id"] for row in rows]):
        grades[grade.pop("job_id")].append(GradeLine(**{name: grade[name] for name in GradeLine._fields}))
    views: defaultdict[str, list[AnswerView]] = defaultdict(list)
    for row in rows:
        views[row["case_id"]].append(_answer_view(row, grades[row["job_id"]]))
    return views


def _answer_view(row: Row, grades: Sequence[GradeLine]) -> AnswerView:
    return AnswerView(
        judge=row["judge"],
        sample=row["sample"],
        verdict=row["verdict"],
        error_kind=row["error_kind"],
        answer_text=row["answer"] if row["answer"] is not None else row["message"] or "",
        grades=tuple(grades),
        latency_ms=row["latency_ms"],
        cost_usd=row["cost_usd"] or Decimal(0),
        tokens=(row["input_tokens"], row["output_tokens"]) if row["answer"] is not None else None,
    )


def _case_view(row: Row, answers: Sequence[AnswerView]) -> CaseView:
    case = json.loads(row["body"])
    return CaseView(
        case_id=row["case_id"],
        stratum=row["stratum"],
        expected_type=case["expected_type"],
        input_text=_text(case["inputs"]),
        expected_text=_text(case["expected"]),
        answers=tuple(answers),
    )


def _text(value: Any) -> str:
    """Inputs and expectations for people: a single text as it is, more as lines of name and value."""
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
