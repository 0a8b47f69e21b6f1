"""One evaluation of an eva prompt: its requests and its cases as bake-offs under one cap, then one result."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from evalq.bakeoff.inspect import CaseFilter, find_cases
from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request, prepare_imported
from evalq.definitions.files import display_path
from evalq.definitions.loaded import LoadedTask
from evalq.engines.session import Session
from evalq.formats.eva.load import TRIGGERING, EvaPrompt, case_sets, triggering_set
from evalq.formats.problems import each_made
from evalq.reports.cases import AnswerView
from evalq.results import BakeOffResult, plain
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Database

SCHEMA = "evalq.eva/1"

Kind = Literal["case", "trigger"]
Verdict = Literal["passed", "failed", "errored", "not_run"]


@dataclass(frozen=True)
class Mark:
    """One grader's word on an answer; `passed` is None when it could not decide."""

    grader: str
    passed: bool | None
    reason: str
    score: float | None = None


@dataclass(frozen=True)
class Line:
    """One case or request: how it ended and why, and the bake-off that has its answer."""

    name: str
    kind: Kind
    verdict: Verdict
    reason: str
    line: int
    judge: str | None = None
    bakeoff_id: int | None = None
    marks: tuple[Mark, ...] = ()
    answer: str = ""
    latency_ms: int | None = None
    cost_usd: Decimal = Decimal(0)

    @property
    def passed(self) -> bool:
        """An error fails the exam, too, though it says nothing against the prompt."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class EvaResult:
    """A whole evaluation: one line that is not passed fails it."""

    prompt: str
    file: str
    lines: tuple[Line, ...]
    bakeoffs: tuple[int, ...]
    spent_usd: Decimal
    ended_at: datetime
    is_capped: bool = False

    @property
    def total(self) -> int:
        """Cases and requests asked for."""
        return len(self.lines)

    @property
    def passed(self) -> int:
        """Those that passed."""
        return sum(line.passed for line in self.lines)

    @property
    def all_passed(self) -> bool:
        """True when nothing failed, erred or was left out."""
        return self.passed == self.total

    @property
    def failed_cases(self) -> list[str]:
        """The names of the rest, whatever kept them from passing."""
        return [line.name for line in self.lines if not line.passed]

    @property
    def exit_code(self) -> int:
        """0 all passed, 4 stopped at the cap, 1 otherwise."""
        return 4 if self.is_capped else 0 if self.all_passed else 1

    @property
    def row(self) -> dict[str, Any]:
        """What `.eval.jsonl` keeps of it: these five keys and no other."""
        return {
            "ts": self.ended_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "all_passed": self.all_passed,
            "total": self.total,
            "passed": self.passed,
            "failed_cases": self.failed_cases,
        }

    @property
    def next(self) -> str:
        """The command to go on with."""
        wrong = next((line for line in self.lines if not line.passed and line.bakeoff_id), None)
        if wrong is not None:
            return f"evalq inspect {wrong.bakeoff_id} --show-failures"
        return f"evalq eva promote {self.file}"

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.eva/1` document."""
        by_kind: dict[Kind, list[Any]] = {"case": [], "trigger": []}
        for line in self.lines:
            by_kind[line.kind].append(plain(asdict(line)))
        errored = [line.name for line in self.lines if line.verdict in ("errored", "not_run")]
        return {
            "schema": SCHEMA,
            "prompt": self.prompt,
            "path": self.file,
            **self.row,
            "errored_cases": errored,
            "cases": by_kind["case"],
            "triggers": by_kind["trigger"],
            "bakeoffs": list(self.bakeoffs),
            "spent_usd": plain(self.spent_usd),
            "next": [self.next],
        }


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

    imported: LoadedTask
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


def _part(prompt: EvaPrompt, imported: LoadedTask, wish: Wish, settings: Settings) -> Part:
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
    parts: Sequence[Part],
    *,
    cap_usd: Decimal,
    root: Path,
    watch: Callable[[int], BakeOffResult | None],
) -> Ended:
    """Run one bake-off after the other, each with what is left of the cap; None from `watch` ends it."""
    results: list[BakeOffResult] = []
    for part in parts:
        left = cap_usd - bakeoffs.committed_usd(session.db, [result.id for result in results])
        if part.plan.estimate_usd > left:
            return Ended(results, is_capped=True)
        bakeoff_id = start(session, part.plan, cap_usd=left, root=root, run_type=RUN_TYPE)
        result = watch(bakeoff_id)
        if result is None:
            break
        results.append(result)
        if result.state != "concluded":
            return Ended(results, is_capped=result.state == "capped")
    return Ended(results)


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
        display_path(prompt.folder.folder),
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
    cases, _ = find_cases(db, result, CaseFilter(limit=result.n_jobs))
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
