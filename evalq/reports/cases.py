"""Single cases on the terminal: one case with every judge's answer, or a list with a sign per judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.text import Text

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
    money,
    one_line,
    total_width,
)

GAP = 2
INPUT_WIDTH, NARROWEST_INPUT = 80, 20
SHORTEST_NAME = 4


class GradeLine(NamedTuple):
    """A grader's name, its mark (None: could not decide, or waits for people), its reason, and the rest."""

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
_UNSAID = ("·", QUIET)
_LEGEND = "✓ passed   ✗ failed   ! not graded   ? waits for review   · no answer yet"


@dataclass(frozen=True)
class AnswerView:
    """One judge's answer to a case, as marked; `tokens` are those in and those out."""

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
    parts = [
        heading,
        *_block("input", case.input_text, canvas),
        *_block("expected", case.expected_text, canvas),
    ]
    answers = [part for answer in case.answers for part in _answer(answer, canvas)]
    return Constrain(Group(*parts, *answers), width)


def render_case_list(
    cases: Sequence[CaseView], judges: Sequence[str], width: int, *, ascii_only: bool = False
) -> RenderableType:
    """One unwrapped row per case: its stratum, a sign per judge, and how its input begins."""
    canvas = Canvas(width, ascii_only)
    numbers = [str(place + 1) for place in range(len(judges))]
    strata = [_column("stratum", [case.stratum for case in cases], canvas)]
    named = _list_columns(cases, strata, _signs(cases, judges, _short_names(judges), canvas), canvas)
    numbered = _signs(cases, judges, numbers, canvas)
    layouts = [named, *(_list_columns(cases, middle, numbered, canvas) for middle in (strata, []))]
    columns = first_fitting(layouts, canvas, gap=GAP)
    key = "   ".join(f"{place} {judge}" for place, judge in enumerate(judges, start=1))
    lines = [_LEGEND] if columns is named else [key, _LEGEND]
    return Group(lay_out(columns, canvas, gap=GAP), Text(), *(canvas.text(line, QUIET) for line in lines))


def _block(title: str, text: str, canvas: Canvas) -> Iterator[RenderableType]:
    yield Text()
    yield canvas.text(title, QUIET)
    yield Padding(canvas.text(text), (0, 0, 0, 2))


def _answer(answer: AnswerView, canvas: Canvas) -> Iterator[RenderableType]:
    """A judge's verdict and what it took, its words, then each grader's mark and reason."""
    sign, style = _SIGNS[answer.verdict]
    kind = f": {answer.error_kind.replace('_', ' ')}" if answer.error_kind else ""
    yield Text()
    heading = canvas.cell(answer.judge + (f" #{answer.sample}" if answer.sample > 1 else ""), "bold")
    heading.append(canvas.text(f"   {sign} {answer.verdict}{kind}", f"not bold {style}"))
    yield heading.append(canvas.text(f"   {_effort(answer)}", f"not bold {QUIET}"))
    yield Padding(canvas.text(answer.answer_text or "(no text)"), (0, 0, 0, 2))
    yield from (Padding(_grade(grade, canvas), (0, 0, 0, 2)) for grade in answer.grades)


def _effort(answer: AnswerView) -> str:
    """1.84s · 812+96 tok · $0.0021"""
    tokens = [f"{answer.tokens[0]}+{answer.tokens[1]} tok"] if answer.tokens else []
    return " · ".join([latency(answer.latency_ms), *tokens, f"${money(answer.cost_usd, places=4)}"])


def _grade(grade: GradeLine, canvas: Canvas) -> Text:
    grader, passed, reason, *_ = grade
    verdict: Verdict = "pending_review" if grade[5:6] == (True,) else _VERDICTS[passed]
    sign, style = _SIGNS[verdict]
    word = "undecided" if verdict == "errored" else verdict.replace("_", " ")
    line = canvas.cell(f"{sign} {grader} {word}", style)
    return line.append(canvas.text(f": {reason}", "default")) if reason else line


def _list_columns(
    cases: Sequence[CaseView], strata: list[Column], signs: list[Column], canvas: Canvas
) -> list[Column]:
    """The columns of a row, its input as long as there is room for."""
    columns = [_column("case", [case.case_id for case in cases], canvas), *strata, *signs]
    room = canvas.width - total_width(columns, GAP) - GAP
    width = min(max(room, NARROWEST_INPUT), INPUT_WIDTH)
    return [*columns, _column("input", [one_line(case.input_text, width) for case in cases], canvas)]


def _column(title: str, cells: Sequence[str], canvas: Canvas) -> Column:
    return Column(canvas.text(title), tuple(canvas.cell(cell) for cell in cells), flexible=True)


def _signs(
    cases: Sequence[CaseView], judges: Sequence[str], names: Sequence[str], canvas: Canvas
) -> list[Column]:
    """A column per judge, under its name or number."""
    return [
        Column(canvas.cell(name), tuple(canvas.cell(*_sign(case.answers, judge)) for case in cases))
        for judge, name in zip(judges, names, strict=True)
    ]


def _sign(answers: Sequence[AnswerView], judge: str) -> tuple[str, str]:
    """The verdict's sign; of several samples the worst one's, with how many passed."""
    verdicts = [answer.verdict for answer in answers if answer.judge == judge]
    worst = next((verdict for verdict in _WORST_FIRST if verdict in verdicts), None)
    sign, style = _UNSAID if worst is None else _SIGNS[worst]
    return (f"{sign} {verdicts.count('passed')}/{len(verdicts)}" if len(verdicts) > 1 else sign), style


def _short_names(judges: Sequence[str]) -> list[str]:
    """The shortest beginnings that still tell the judges apart."""
    return [_short_name(judge, [other for other in judges if other != judge]) for judge in judges]


def _short_name(judge: str, others: Sequence[str]) -> str:
    lengths = range(SHORTEST_NAME, len(judge))
    return next(
        (
            judge[:length]
            for length in lengths
            if not any(other.startswith(judge[:length]) for other in others)
        ),
        judge,
    )
