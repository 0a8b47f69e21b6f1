"""One evaluation of an eva prompt: its requests and its cases as bake-offs under one cap, then one result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from evalq.bakeoff import Request, prepare_imported, start
from evalq.broker import Broker
from evalq.definitions.files import shown
from evalq.eva.result import EvaResult, Kind, Line, Mark
from evalq.importers.eva import TRIGGERING, EvaPrompt, case_sets, triggering_set
from evalq.importers.gathering import each_made
from evalq.importers.imported import Imported
from evalq.inspection import Question, find_cases
from evalq.plan import Plan
from evalq.reports.cases import AnswerView
from evalq.results import BakeOffResult
from evalq.session import Session
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Database

RUN_TYPE = "eva"


@dataclass(frozen=True)
class Wish:
    """What the user asks for beside the prompt."""

    case: str | None = None
    judge: str | None = None
    grader_model: str | None = None
    allow_unpriced: bool = False


@dataclass(frozen=True)
class Part:
    """One bake-off of the evaluation: what it was made of, and its plan."""

    imported: Imported
    plan: Plan

    @property
    def kind(self) -> Kind:
        """Requests or cases."""
        return "trigger" if self.imported.evalset.name == TRIGGERING else "case"


def prepare_parts(prompt: EvaPrompt, wish: Wish, settings: Settings) -> list[Part]:
    """The bake-offs it takes: one for the requests, unless one case alone is asked for, then the cases."""
    requests = triggering_set(prompt) if wish.case is None else None
    sets = [*([requests] if requests else []), *case_sets(prompt, wish.case)]
    if not sets:
        raise prompt.place().error("neither cases nor requests to ask", "add cases: or triggering:")
    return each_made(lambda one: _part(prompt, one, wish, settings), sets)


def _part(prompt: EvaPrompt, imported: Imported, wish: Wish, settings: Settings) -> Part:
    # A request's judge does a grader's work, so that a model named for graders may do it.
    usual = settings.grader_model if imported.evalset.name == TRIGGERING else None
    judge = wish.judge or next(iter(imported.judges), None) or usual
    if judge is None:
        remedy = "write defaults: {model: …}, or give --judge NAME"
        raise prompt.place().error(f"no model is named for its {imported.evalset.name} set", remedy)
    request = Request(
        "", prompt.located.file, (judge,), grader_model=wish.grader_model, allow_unpriced=wish.allow_unpriced
    )
    return Part(imported, prepare_imported(imported, request, settings))


@dataclass(frozen=True)
class Ended:
    """The bake-offs that were run, and whether it was the cap that kept others from it."""

    results: Sequence[BakeOffResult]
    is_capped: bool = False


def run_parts(
    session: Session,
    broker: Broker,
    parts: Sequence[Part],
    *,
    cap_usd: Decimal,
    root: Path,
    watch: Callable[[int], BakeOffResult | None],
) -> Ended:
    """Run one bake-off after the other, each with what is left of the cap; None from `watch` ends it."""
    results: list[BakeOffResult] = []
    for part in parts:
        left = cap_usd - sum((_committed(session.db, result.id) for result in results), Decimal(0))
        if part.plan.estimate_usd > left:
            return Ended(results, is_capped=True)
        bakeoff_id = start(session, broker, part.plan, cap_usd=left, root=root, run_type=RUN_TYPE)
        result = watch(bakeoff_id)
        if result is None:
            break
        results.append(result)
        if result.state != "concluded":
            return Ended(results, is_capped=result.state == "capped")
    return Ended(results)


def _committed(db: Database, bakeoff_id: int) -> Decimal:
    row = bakeoffs.get(db, bakeoff_id)
    return row.spent_usd + row.reserved_usd


def read_result(
    db: Database, prompt: EvaPrompt, parts: Sequence[Part], ended: Ended, *, now: datetime
) -> EvaResult:
    """What came of it; what was not reached is not passed."""
    lines: list[Line] = []
    for place, part in enumerate(parts):
        result = ended.results[place] if place < len(ended.results) else None
        answers = _answers(db, result) if result is not None else {}
        lines += [_line(part, case.id, result, answers.get(case.id)) for case in part.imported.evalset.cases]
    return EvaResult(
        prompt.folder.id,
        shown(prompt.folder.folder),
        tuple(_as_written(lines)),
        tuple(result.id for result in ended.results),
        sum((result.spent_usd for result in ended.results), Decimal(0)),
        now,
        is_capped=ended.is_capped,
    )


def _as_written(lines: Sequence[Line]) -> list[Line]:
    """Requests first, then the cases in the file's order: models may have parted them."""
    return sorted(lines, key=lambda line: (line.kind == "case", line.line))


def _answers(db: Database, result: BakeOffResult) -> dict[str, AnswerView]:
    cases, _ = find_cases(db, result, Question(limit=result.n_jobs))
    return {case.case_id: case.answers[0] for case in cases if case.answers}


def _line(part: Part, case_id: str, result: BakeOffResult | None, answer: AnswerView | None) -> Line:
    line = part.imported.loaded.case_lines.get(case_id, 0)
    if result is None or answer is None:
        excluded = next((run.excluded for run in result.runs if run.excluded), None) if result else None
        return Line(case_id, part.kind, "not_run", excluded or "stopped before it was asked", line)
    return Line(
        case_id,
        part.kind,
        answer.verdict if answer.verdict != "pending_review" else "errored",
        _reason(answer),
        line,
        judge=answer.judge,
        bakeoff_id=result.id,
        marks=tuple(Mark(mark.grader, mark.passed, mark.reason, mark.score) for mark in answer.grades),
        answer=answer.answer_text,
        latency_ms=answer.latency_ms,
        cost_usd=answer.cost_usd,
    )


def _reason(answer: AnswerView) -> str:
    """Why it did not pass: every mark that says so, or what kept it from being marked."""
    said = [f"{mark.grader}: {mark.reason}" for mark in answer.grades if mark.passed is not True]
    if said or answer.verdict == "passed":
        return "; ".join(said)
    return f"{answer.error_kind}: {answer.answer_text}" if answer.error_kind else answer.verdict
