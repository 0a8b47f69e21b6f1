"""A single case on the terminal, with every judge's answer in full."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.text import Text

from evalq.definitions.money import money
from evalq.records import Verdict
from evalq.reports.text import (
    GOOD,
    PROBLEM,
    QUIET,
    Canvas,
    latency,
)


class GradeLine(NamedTuple):
    """A grader's name, its mark (None: undecided, or waiting for people), its reason, and the rest."""

    grader: str
    passed: bool | None
    reason: str
    score: float | None = None
    kind: str = ""
    pending: bool = False
    details: Mapping[str, Any] = {}


SIGNS: dict[Verdict, tuple[str, str]] = {
    "passed": ("✓", GOOD),
    "failed": ("✗", PROBLEM),
    "errored": ("!", PROBLEM),
    "pending_review": ("?", QUIET),
}
_VERDICTS: dict[bool | None, Verdict] = {True: "passed", False: "failed", None: "errored"}


@dataclass(frozen=True)
class AnswerView:
    """One judge's answer to a case with its grades; `tokens` are input and output tokens."""

    judge: str
    sample: int
    verdict: Verdict
    error_kind: str | None
    answer_text: str
    grades: tuple[GradeLine, ...] = ()
    latency_ms: int | None = None
    cost_usd: Decimal = Decimal(0)
    tokens: tuple[int, int] | None = None


@dataclass(frozen=True)
class CaseView:
    """A case with the answers it got, in the order to show them.

    `expected_answer` is the one text that a right answer equals; None when the case expects something else.
    """

    case_id: str
    stratum: str
    expected_type: str
    input_text: str
    expected_text: str
    answers: tuple[AnswerView, ...]
    expected_answer: str | None = None


def render_case(case: CaseView, width: int, *, ascii_only: bool = False) -> RenderableType:
    """Input, what was expected, and each answer under its verdict."""
    canvas = Canvas(width, ascii_only)
    about = "  ".join(fact for fact in (case.stratum, case.expected_type) if fact)
    heading = canvas.cell(case.case_id, "bold").append(canvas.text(f"   {about}", "not bold"))
    parts: list[RenderableType] = [
        heading,
        *_text_block("input", case.input_text, canvas),
        *_text_block("expected", case.expected_text, canvas),
    ]
    for answer in case.answers:
        parts += _render_answer(answer, canvas)
    return Constrain(Group(*parts), width)


def _text_block(title: str, text: str, canvas: Canvas) -> Iterator[RenderableType]:
    yield Text()
    yield canvas.text(title, QUIET)
    yield Padding(canvas.text(text), (0, 0, 0, 2))


def _render_answer(answer: AnswerView, canvas: Canvas) -> Iterator[RenderableType]:
    """A judge's verdict and what it took, its answer, then each grader's mark and reason."""
    sign, style = SIGNS[answer.verdict]
    kind = f": {answer.error_kind.replace('_', ' ')}" if answer.error_kind else ""
    sample = f" #{answer.sample}" if answer.sample > 1 else ""
    yield Text()
    heading = canvas.cell(f"{answer.judge}{sample}", "bold")
    heading.append(canvas.text(f"   {sign} {answer.verdict}{kind}", f"not bold {style}"))
    yield heading.append(canvas.text(f"   {_effort_text(answer)}", f"not bold {QUIET}"))
    yield Padding(canvas.text(answer.answer_text or "(no text)"), (0, 0, 0, 2))
    for grade in answer.grades:
        yield Padding(_grade_line(grade, canvas), (0, 0, 0, 2))


def _effort_text(answer: AnswerView) -> str:
    """1.84s · 812+96 tok · $0.0021"""
    facts = [latency(answer.latency_ms)]
    if answer.tokens:
        facts.append(f"{answer.tokens[0]}+{answer.tokens[1]} tok")
    facts.append(f"${money(answer.cost_usd, places=4)}")
    return " · ".join(facts)


def _grade_line(grade: GradeLine, canvas: Canvas) -> Text:
    verdict: Verdict = "pending_review" if grade.pending else _VERDICTS[grade.passed]
    sign, style = SIGNS[verdict]
    word = "undecided" if verdict == "errored" else verdict.replace("_", " ")
    line = canvas.cell(f"{sign} {grade.grader} {word}", style)
    if grade.reason:
        line.append(canvas.text(f": {grade.reason}", "default"))
    return line
