"""Runs the exam of an eva prompt: its requests and cases as bake-offs under one cap, then one result."""

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
from evalq.formats.eva.load import TRIGGERING, EvaPrompt, load_cases, load_requests
from evalq.formats.problems import build_each
from evalq.reports.cases import AnswerView
from evalq.results import BakeOffResult, plain
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Database

SCHEMA = "evalq.eva/1"
RUN_TYPE = "eva"

Kind = Literal["case", "trigger"]
Verdict = Literal["passed", "failed", "errored", "not_run"]


@dataclass(frozen=True)
class LineMark:
    """One grader's mark of an answer; `passed` is None if it could not decide."""

    grader: str
    passed: bool | None
    reason: str
    score: float | None = None


@dataclass(frozen=True)
class ExamLine:
    """One case or request: its verdict and why, and the bake-off that holds the answer."""

    name: str
    kind: Kind
    verdict: Verdict
    reason: str
    line: int
    judge: str | None = None
    bakeoff_id: int | None = None
    marks: tuple[LineMark, ...] = ()
    answer: str = ""
    latency_ms: int | None = None
    cost_usd: Decimal = Decimal(0)

    @property
    def passed(self) -> bool:
        """An error fails the exam, too, although it is not the prompt's fault."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class EvaResult:
    """A whole evaluation: one line that did not pass fails it."""

    prompt: str
    file: str
    lines: tuple[ExamLine, ...]
    bakeoffs: tuple[int, ...]
    spent_usd: Decimal
    ended_at: datetime
    is_capped: bool = False

    @property
    def total(self) -> int:
        """The number of cases and requests."""
        return len(self.lines)

    @property
    def passed(self) -> int:
        """The number that passed."""
        return sum(line.passed for line in self.lines)

    @property
    def all_passed(self) -> bool:
        """Whether nothing failed, erred or was left out."""
        return self.passed == self.total

    @property
    def failed_cases(self) -> list[str]:
        """The names of the others, for whatever reason they did not pass."""
        return [line.name for line in self.lines if not line.passed]

    @property
    def exit_code(self) -> int:
        """0 all passed, 4 stopped at the cap, 1 otherwise."""
        if self.is_capped:
            return 4
        return 0 if self.all_passed else 1

    @property
    def row(self) -> dict[str, Any]:
        """The row for `.eval.jsonl`, with exactly these five keys."""
        return {
            "ts": self.ended_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "all_passed": self.all_passed,
            "total": self.total,
            "passed": self.passed,
            "failed_cases": self.failed_cases,
        }

    @property
    def next(self) -> str:
        """The next command to run."""
        for line in self.lines:
            if not line.passed and line.bakeoff_id:
                return f"evalq inspect {line.bakeoff_id} --show-failures"
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


@dataclass(frozen=True)
class EvaOptions:
    """What the user chose on the command line."""

    case: str | None = None
    judge: str | None = None
    grader_model: str | None = None
    allow_unpriced: bool = False


@dataclass(frozen=True)
class EvaBakeOff:
    """One bake-off of the evaluation: its cases or requests, and its plan."""

    imported: LoadedTask
    plan: Plan

    @property
    def kind(self) -> Kind:
        """Whether it asks cases or decides requests."""
        return "trigger" if self.imported.evalset.name == TRIGGERING else "case"


def prepare_parts(prompt: EvaPrompt, options: EvaOptions, settings: Settings) -> list[EvaBakeOff]:
    """Plan the bake-offs: one for the requests, unless a single case is chosen, then those for the cases."""
    sets: list[LoadedTask] = []
    requests = load_requests(prompt) if options.case is None else None
    if requests is not None:
        sets.append(requests)
    sets += load_cases(prompt, options.case)
    if not sets:
        raise prompt.place().error("neither cases nor requests to ask", "add cases: or triggering:")
    return build_each(lambda one: _prepare_part(prompt, one, options, settings), sets)


def _prepare_part(
    prompt: EvaPrompt, imported: LoadedTask, options: EvaOptions, settings: Settings
) -> EvaBakeOff:
    judge = options.judge
    if not judge and imported.judges:
        judge = imported.judges[0]
    if not judge and imported.evalset.name == TRIGGERING:
        judge = settings.grader_model  # to decide a request is a grader's work
    if not judge:
        remedy = "write defaults: {model: …}, or give --judge NAME"
        raise prompt.place().error(f"no model is named for its {imported.evalset.name} set", remedy)
    request = Request(
        "",
        prompt.located.file,
        (judge,),
        grader_model=options.grader_model,
        allow_unpriced=options.allow_unpriced,
    )
    return EvaBakeOff(imported, prepare_imported(imported, request, settings))


@dataclass(frozen=True)
class FinishedBakeOffs:
    """The results of the bake-offs that ran, and whether the cap stopped the others."""

    results: Sequence[BakeOffResult]
    is_capped: bool = False


def run_parts(
    session: Session,
    parts: Sequence[EvaBakeOff],
    *,
    cap_usd: Decimal,
    root: Path,
    watch: Callable[[int], BakeOffResult | None],
) -> FinishedBakeOffs:
    """Run the bake-offs in turn, each with the rest of the cap, until `watch` returns None."""
    results: list[BakeOffResult] = []
    for part in parts:
        left = cap_usd - bakeoffs.committed_usd(session.db, [result.id for result in results])
        if part.plan.estimate_usd > left:
            return FinishedBakeOffs(results, is_capped=True)
        bakeoff_id = start(session, part.plan, cap_usd=left, root=root, run_type=RUN_TYPE)
        result = watch(bakeoff_id)
        if result is None:
            break
        results.append(result)
        if result.state != "concluded":
            return FinishedBakeOffs(results, is_capped=result.state == "capped")
    return FinishedBakeOffs(results)


def read_result(
    db: Database, prompt: EvaPrompt, parts: Sequence[EvaBakeOff], finished: FinishedBakeOffs, *, now: datetime
) -> EvaResult:
    """Read the result; what was not reached did not pass."""
    lines: list[ExamLine] = []
    for place, part in enumerate(parts):
        result = finished.results[place] if place < len(finished.results) else None
        answers = _read_answers(db, result) if result is not None else {}
        for case in part.imported.evalset.cases:
            lines.append(_build_line(part, case.id, result, answers.get(case.id)))
    # Requests first, then the cases in the file's order: cases of different models ran apart.
    lines.sort(key=lambda line: (line.kind == "case", line.line))
    return EvaResult(
        prompt.folder.id,
        display_path(prompt.folder.folder),
        tuple(lines),
        tuple(result.id for result in finished.results),
        sum((result.spent_usd for result in finished.results), Decimal(0)),
        now,
        is_capped=finished.is_capped,
    )


def _read_answers(db: Database, result: BakeOffResult) -> dict[str, AnswerView]:
    cases, _ = find_cases(db, result, CaseFilter(limit=result.n_jobs))
    return {case.case_id: case.answers[0] for case in cases if case.answers}


def _build_line(
    part: EvaBakeOff, case_id: str, result: BakeOffResult | None, answer: AnswerView | None
) -> ExamLine:
    line = part.imported.loaded.case_lines.get(case_id, 0)
    if result is None or answer is None:
        return ExamLine(case_id, part.kind, "not_run", _why_not_run(result), line)
    return ExamLine(
        case_id,
        part.kind,
        "errored" if answer.verdict == "pending_review" else answer.verdict,
        _why_not_passed(answer),
        line,
        judge=answer.judge,
        bakeoff_id=result.id,
        marks=tuple(LineMark(mark.grader, mark.passed, mark.reason, mark.score) for mark in answer.grades),
        answer=answer.answer_text,
        latency_ms=answer.latency_ms,
        cost_usd=answer.cost_usd,
    )


def _why_not_run(result: BakeOffResult | None) -> str:
    for run in result.runs if result else ():
        if run.excluded:
            return run.excluded
    return "stopped before it was asked"


def _why_not_passed(answer: AnswerView) -> str:
    """Give the reasons of all marks that did not pass, or else of the error."""
    reasons = [f"{mark.grader}: {mark.reason}" for mark in answer.grades if mark.passed is not True]
    if reasons or answer.verdict == "passed":
        return "; ".join(reasons)
    return f"{answer.error_kind}: {answer.answer_text}" if answer.error_kind else answer.verdict
