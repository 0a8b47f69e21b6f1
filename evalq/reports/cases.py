"""Single cases on the terminal: one case with every judge's answer, or a list with a sign per judge."""

from collections.abc import Iterator, Mapping, Sequence
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
    Column,
    first_fitting,
    latency,
    lay_out,
    one_line,
    total_width,
)

GAP = 2
INPUT_WIDTH, NARROWEST_INPUT = 80, 20
SHORTEST_NAME = 4


class GradeLine(NamedTuple):
    """A grader's name, its mark (None: undecided, or waiting for people), its reason, and the rest."""

    grader: str
    passed: bool | None
    reason: str
    score: float | None = None
    kind: str = ""
    pending: bool = False
    details: Mapping[str, Any] = {}


_SIGNS: dict[Verdict, tuple[str, str]] = {
    "passed": ("✓", GOOD),
    "failed": ("✗", PROBLEM),
    "errored": ("!", PROBLEM),
    "pending_review": ("?", QUIET),
}
_VERDICTS: dict[bool | None, Verdict] = {True: "passed", False: "failed", None: "errored"}
_WORST_FIRST: tuple[Verdict, ...] = ("errored", "failed", "pending_review", "passed")
_NO_ANSWER = ("·", QUIET)
_LEGEND = "✓ passed   ✗ failed   ! not graded   ? waits for review   · no answer yet"


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
    """A case with the answers it got, in the order to show them."""

    case_id: str
    stratum: str
    expected_type: str
    input_text: str
    expected_text: str
    answers: tuple[AnswerView, ...]


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


def render_case_list(
    cases: Sequence[CaseView], judges: Sequence[str], width: int, *, ascii_only: bool = False
) -> RenderableType:
    """One unwrapped row per case: its stratum, a sign per judge, and how its input begins."""
    canvas = Canvas(width, ascii_only)
    numbers = [str(number) for number in range(1, len(judges) + 1)]
    strata = [_column("stratum", [case.stratum for case in cases], canvas)]
    named_signs = _sign_columns(cases, judges, _short_names(judges), canvas)
    numbered_signs = _sign_columns(cases, judges, numbers, canvas)
    named = _list_columns(cases, strata, named_signs, canvas)
    numbered = _list_columns(cases, strata, numbered_signs, canvas)
    without_strata = _list_columns(cases, [], numbered_signs, canvas)
    columns = first_fitting([named, numbered, without_strata], canvas, gap=GAP)
    parts: list[RenderableType] = [lay_out(columns, canvas, gap=GAP), Text()]
    if columns is not named:
        key = "   ".join(f"{number} {judge}" for number, judge in zip(numbers, judges, strict=True))
        parts.append(canvas.text(key, QUIET))
    return Group(*parts, canvas.text(_LEGEND, QUIET))


def _text_block(title: str, text: str, canvas: Canvas) -> Iterator[RenderableType]:
    yield Text()
    yield canvas.text(title, QUIET)
    yield Padding(canvas.text(text), (0, 0, 0, 2))


def _render_answer(answer: AnswerView, canvas: Canvas) -> Iterator[RenderableType]:
    """A judge's verdict and what it took, its answer, then each grader's mark and reason."""
    sign, style = _SIGNS[answer.verdict]
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
    sign, style = _SIGNS[verdict]
    word = "undecided" if verdict == "errored" else verdict.replace("_", " ")
    line = canvas.cell(f"{sign} {grade.grader} {word}", style)
    if grade.reason:
        line.append(canvas.text(f": {grade.reason}", "default"))
    return line


def _list_columns(
    cases: Sequence[CaseView], strata: list[Column], signs: list[Column], canvas: Canvas
) -> list[Column]:
    """The columns of a row, with as much of the input as there is room for."""
    columns = [_column("case", [case.case_id for case in cases], canvas), *strata, *signs]
    room = canvas.width - total_width(columns, GAP) - GAP
    width = min(max(room, NARROWEST_INPUT), INPUT_WIDTH)
    return [*columns, _column("input", [one_line(case.input_text, width) for case in cases], canvas)]


def _column(title: str, cells: Sequence[str], canvas: Canvas) -> Column:
    return Column(canvas.text(title), tuple(canvas.cell(cell) for cell in cells), flexible=True)


def _sign_columns(
    cases: Sequence[CaseView], judges: Sequence[str], names: Sequence[str], canvas: Canvas
) -> list[Column]:
    """A column of signs per judge, under its name or number."""
    columns = []
    for judge, name in zip(judges, names, strict=True):
        signs = tuple(canvas.cell(*_sign_of(case.answers, judge)) for case in cases)
        columns.append(Column(canvas.cell(name), signs))
    return columns


def _sign_of(answers: Sequence[AnswerView], judge: str) -> tuple[str, str]:
    """The verdict's sign; for several samples the worst one's, with how many passed."""
    verdicts = [answer.verdict for answer in answers if answer.judge == judge]
    if not verdicts:
        return _NO_ANSWER
    sign, style = _SIGNS[min(verdicts, key=_WORST_FIRST.index)]
    if len(verdicts) > 1:
        sign += f" {verdicts.count('passed')}/{len(verdicts)}"
    return sign, style


def _short_names(judges: Sequence[str]) -> list[str]:
    """The shortest beginnings that still distinguish the judges."""
    return [_short_name(judge, [other for other in judges if other != judge]) for judge in judges]


def _short_name(judge: str, others: Sequence[str]) -> str:
    for length in range(SHORTEST_NAME, len(judge)):
        beginning = judge[:length]
        if not any(other.startswith(beginning) for other in others):
            return beginning
    return judge
