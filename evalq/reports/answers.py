"""Answers on the terminal, grouped by why they failed: expected and answered, differing words marked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from evalq.records import Verdict
from evalq.reports.cases import SIGNS
from evalq.reports.plain import tab_separated
from evalq.reports.text import GOOD, PROBLEM, QUIET, Canvas, one_line
from evalq.reports.text_diff import Span, diff_words

EXCERPT = 20_000
"""Characters of a text that are compared; an answer in full is in `--case` and `--json`."""

PIPED_WIDTH = 500
WIDEST_NAME = 24
COLUMNS = ("why", "case", "stratum", "judge", "sample", "verdict", "expected", "answer", "reason", "input")

_Side = Literal["expected", "answer"]
_STYLES: dict[_Side, str] = {"expected": f"underline {GOOD}", "answer": f"underline {PROBLEM}"}
_BRACKETS: dict[_Side, tuple[str, str]] = {"expected": ("[-", "-]"), "answer": ("{+", "+}")}


@dataclass(frozen=True)
class ShownAnswer:
    """A judge's answer in a group; `reason` is a grader's, where the group's title does not say it."""

    judge: str
    sample: int
    verdict: Verdict
    text: str
    reason: str = ""


@dataclass(frozen=True)
class Example:
    """A case with what it expects and the answers to show."""

    case_id: str
    stratum: str
    expected: str
    answers: tuple[ShownAnswer, ...]
    input: str = ""


@dataclass(frozen=True)
class AnswerGroup:
    """Cases that belong together, how many there are, and some of them."""

    why: str
    n: int
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class BrokenJudge:
    """A judge none of whose answers could be graded: one line instead of all its cases."""

    judge: str
    reason: str
    first_error: str


@dataclass(frozen=True)
class AnswerPage:
    """What to show; with `pairwise` the answers are compared with each other, not with the expected one."""

    groups: tuple[AnswerGroup, ...]
    broken: tuple[BrokenJudge, ...] = ()
    hints: tuple[str, ...] = ()
    pairwise: bool = False


def render_answers(
    page: AnswerPage, *, width: int, ascii_only: bool = False, has_styles: bool = True
) -> RenderableType:
    """Every group under its title; without styles the differing words are in [-…-] and {+…+}."""
    canvas = Canvas(width, ascii_only)
    parts: list[RenderableType] = [_broken_line(broken, canvas) for broken in page.broken]
    if parts and page.groups:
        parts.append(Text())
    for group in page.groups:
        parts += _render_group(group, canvas, pairwise=page.pairwise, has_styles=has_styles)
    parts += [canvas.text(f"hint  {hint}", GOOD) for hint in page.hints]
    return Group(*parts)


def render_plain_answers(page: AnswerPage) -> str:
    """One row per answer for a pipe, long texts cut; broken judges and hints as comments."""
    lines = [tab_separated(COLUMNS)]
    for group in page.groups:
        for example in group.examples:
            lines += _plain_rows(group, example)
    for broken in page.broken:
        lines.append(tab_separated(["# broken", broken.judge, broken.reason, broken.first_error or "-"]))
    lines += [tab_separated(["# hint", hint]) for hint in page.hints]
    return "\n".join(lines)


def _plain_rows(group: AnswerGroup, example: Example) -> Iterator[str]:
    about = (group.why, example.case_id, example.stratum or "-")
    for answer in example.answers:
        given = (example.expected, answer.text, answer.reason, example.input)
        texts = [one_line(text, PIPED_WIDTH) for text in given]
        said = (answer.judge, str(answer.sample), answer.verdict)
        yield tab_separated([*about, *said, *(text or "-" for text in texts)])


def _broken_line(broken: BrokenJudge, canvas: Canvas) -> Text:
    text = f"! {broken.judge} is broken: {broken.reason}"
    if broken.first_error and broken.first_error not in broken.reason:
        text += f"; first error: {broken.first_error}"
    return canvas.cell(text, PROBLEM, width=canvas.width * 3)


def _render_group(
    group: AnswerGroup, canvas: Canvas, *, pairwise: bool, has_styles: bool
) -> Iterator[RenderableType]:
    more = f", {len(group.examples)} shown" if len(group.examples) < group.n else ""
    count = f"   {group.n}{more}"
    title = canvas.cell(group.why, "bold", width=max(canvas.width - len(count), 20))
    yield title.append(canvas.text(count, f"not bold {QUIET}"))
    for example in group.examples:
        yield from _render_example(example, canvas, pairwise=pairwise, has_styles=has_styles)
    yield Text()


def _render_example(
    example: Example, canvas: Canvas, *, pairwise: bool, has_styles: bool
) -> Iterator[RenderableType]:
    """The case's id and input, then a line for the expected text and for each answer, cut to the width."""
    heading = Text("  ").append(canvas.cell(example.case_id))
    if example.stratum:
        heading.append("  ").append(canvas.cell(example.stratum, QUIET))
    if example.input:
        heading.append("  ").append(canvas.text(one_line(example.input[:EXCERPT], canvas.width), QUIET))
    yield _cut(heading, canvas)
    names = [_name_of(answer, len(example.answers)) for answer in example.answers]
    column = min(max(cell_len(name) for name in ("expected", *names)), WIDEST_NAME)
    lines = _ExampleLines(canvas, column, has_styles)
    texts = [answer.text for answer in example.answers]
    yield lines.draw("expected", _expected_spans(example, pairwise=pairwise), "expected")
    for place, (name, answer) in enumerate(zip(names, example.answers, strict=True)):
        against = texts[1 - place] if pairwise and len(texts) == 2 else example.expected
        sides = _compare(against, answer.text)
        yield lines.draw(name, sides[1], "answer")
        if answer.reason:
            yield lines.draw("", [Span(_excerpt(answer.reason), True)], "answer")


def _expected_spans(example: Example, *, pairwise: bool) -> list[Span]:
    """The expected text, marked where the only answer under it differs."""
    if pairwise or len(example.answers) != 1:
        return [Span(_excerpt(example.expected), True)]
    return _compare(example.expected, example.answers[0].text)[0]


def _compare(expected: str, answer: str) -> tuple[list[Span], list[Span]]:
    return diff_words(_excerpt(expected), _excerpt(answer))


def _excerpt(text: str) -> str:
    """The start of a text on one line."""
    return one_line(text.strip()[:EXCERPT])


def _name_of(answer: ShownAnswer, n_answers: int) -> str:
    """The judge under several answers, else only `answer`, since the group's title names the judge."""
    sample = f" #{answer.sample}" if answer.sample > 1 else ""
    sign, _ = SIGNS[answer.verdict]
    return f"{sign} {answer.judge}{sample}" if n_answers > 1 else f"answer{sample}"


@dataclass(frozen=True)
class _ExampleLines:
    """The lines of one example: names in a column, then the text."""

    canvas: Canvas
    column: int
    has_styles: bool

    def draw(self, name: str, spans: list[Span], side: _Side) -> Text:
        """One line, moved so that the first difference is in sight, and cut to the width."""
        label = self.canvas.cell(name, QUIET, width=self.column)
        label.pad_right(self.column - label.cell_len)
        line = Text("    ").append(label).append("  ")
        room = self.canvas.width - self.column - 6
        shown = _skip_common_start(spans, room)
        if not shown:
            line.append(self.canvas.text("(no text)", QUIET))
        for span in shown:
            line.append(self._mark(span, side))
        return _cut(line, self.canvas)

    def _mark(self, span: Span, side: _Side) -> Text:
        if span.same:
            return self.canvas.text(span.text)
        if self.has_styles:
            return self.canvas.text(span.text, _STYLES[side])
        opening, closing = _BRACKETS[side]
        return self.canvas.text(f"{opening}{span.text}{closing}")


def _skip_common_start(spans: list[Span], room: int) -> list[Span]:
    """Without the start that both texts share, where the first difference would be out of sight."""
    if len(spans) < 2 or not spans[0].same:
        return spans
    common = spans[0].text
    kept = max(room // 3, 8)
    if cell_len(common) + 8 <= room:
        return spans
    return [Span("…" + common[-kept:], True), *spans[1:]]


def _cut(line: Text, canvas: Canvas) -> Text:
    line.truncate(canvas.width, overflow="ellipsis")
    if canvas.ascii_only:
        line.plain = line.plain.replace("…", "~")
    line.no_wrap = True
    return line
