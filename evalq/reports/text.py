"""Text, numbers, tables and bars for the terminal: cleaned of control characters, sensibly rounded."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

NOTHING = "–"
ONE_DECIMAL_BELOW = 1000

# Blue for good and progress, orange for a problem: colour-blind readers can tell them apart.
GOOD = "bright_blue"
PROBLEM = "dark_orange"
QUIET = "dim"

# C0 except tab and newline, DEL, C1, bidi controls, lone surrogates: a model may answer with any of them,
# and rich passes them all through, as Text and as escaped markup alike.
_HOSTILE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_WORDS = re.compile(r"\s*(?:`[^`]*`|[^\s`])+\s*|\s+|`")
_LINE_ENDS = re.compile(r"\r\n|[\u2028\u2029]")

_ASCII = str.maketrans(
    {
        "·": ".",
        "─": "-",
        "●": "o",
        "━": "#",
        "╌": ".",
        "–": "-",
        "—": "-",
        "−": "-",
        "✓": "+",
        "✗": "x",
        "…": "~",
        "κ": "kappa",
        "Δ": "diff",
        "↔": "<->",
        "\N{REPLACEMENT CHARACTER}": "?",
    }
)


def clean(text: str) -> str:
    """The text without anything that moves the cursor, opens a link or reverses the reading order."""
    return _HOSTILE.sub("\N{REPLACEMENT CHARACTER}", _LINE_ENDS.sub("\n", text))


def to_ascii(text: str) -> str:
    """Our own signs in ASCII, for fonts without them; all other letters stay."""
    return text.translate(_ASCII)


def one_line(text: str, width: int | None = None) -> str:
    """The cleaned text on one line, cut with … to `width` terminal cells (wide letters take two)."""
    line = " ".join(clean(text).split())
    if width is None or cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def fold(text: str, width: int) -> str:
    """The text with its lines broken between words to fit; what is in backticks stays whole, to be copied."""
    return "\n".join(_fold_line(line, width) for line in text.split("\n"))


def _fold_line(line: str, width: int) -> str:
    if cell_len(line) <= width:
        return line
    folded, begun = [], ""
    for word in _WORDS.findall(line):
        if begun and cell_len(begun + word.rstrip()) > width:
            folded.append(begun.rstrip())
            begun = ""
        begun += word
    return "\n".join([*folded, begun.rstrip()])


def percent(share: float | None, n: int) -> str:
    """A share as a percentage: one decimal below a thousand cases, two from there on."""
    return "n/a" if share is None else f"{share:.{1 + _extra_decimals(n)}%}"


def span(low: float | None, high: float | None, n: int) -> str:
    """An interval of shares in percent, 74–89: whole below a thousand cases, one decimal from there on."""
    if low is None or high is None:
        return NOTHING
    return f"{low * 100:.{_extra_decimals(n)}f}–{high * 100:.{_extra_decimals(n)}f}"


def points(difference: float, n: int) -> str:
    """A difference of shares in signed percentage points, −16 or +3, with a real minus sign."""
    number = f"{difference * 100:+.{_extra_decimals(n)}f}"
    return number.replace("-", "−") if float(number) else "0"


def duration(seconds: float | None) -> str:
    """Minutes and seconds, 2:41, after the hours if there are any."""
    if seconds is None:
        return NOTHING
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def latency(latency_ms: int | None) -> str:
    """Seconds with three digits, 1.84s; milliseconds where seconds would read 0.00."""
    if latency_ms is None:
        return NOTHING
    if latency_ms < 10:
        return f"{latency_ms}ms"
    if latency_ms < 10_000:
        return f"{latency_ms / 1000:.2f}s"
    if latency_ms < 100_000:
        return f"{latency_ms / 1000:.1f}s"
    return f"{latency_ms / 1000:.0f}s"


def _extra_decimals(n: int) -> int:
    """Decimals that only a large n justifies."""
    return 0 if n < ONE_DECIMAL_BELOW else 1


Cells = tuple[Text, ...]


@dataclass(frozen=True)
class Canvas:
    """Makes all text of a report: cleaned, as `Text` and never as markup, in ASCII if the font needs it."""

    width: int
    ascii_only: bool = False

    def text(self, content: str, style: str = "") -> Text:
        """Text of any length and number of lines."""
        return Text(self._letters(clean(content)), style=style)

    def cell(self, content: str, style: str = "", *, width: int | None = None) -> Text:
        """Text on one line, cut to `width` if given."""
        return Text(self._letters(one_line(content, width)), style=style)

    def _letters(self, content: str) -> str:
        return to_ascii(content) if self.ascii_only else content


@dataclass(frozen=True)
class Column:
    """A heading and its cells; a flexible column is cut when no other column can be left out."""

    title: Text
    cells: Cells
    right: bool = False
    flexible: bool = False

    @property
    def width(self) -> int:
        """Terminal cells it needs."""
        return max(text.cell_len for text in (self.title, *self.cells))


def total_width(columns: Sequence[Column], gap: int) -> int:
    """Terminal cells of a row."""
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def first_fitting(layouts: Iterable[Sequence[Column]], canvas: Canvas, *, gap: int) -> Sequence[Column]:
    """The first layout that fits; else the last one with its flexible columns cut."""
    columns: Sequence[Column] = ()
    for columns in layouts:
        if total_width(columns, gap) <= canvas.width:
            return columns
    return _squeeze(columns, canvas, total_width(columns, gap) - canvas.width)


def lay_out(columns: Sequence[Column], canvas: Canvas, *, gap: int, rule: bool = True) -> Group:
    """Heading, rule, rows; a row too long for the terminal is cut, never wrapped."""
    heading = _row([column.title for column in columns], columns, gap)
    heading.stylize(QUIET)
    lines = [heading]
    if rule:
        lines.append(canvas.text("─" * min(total_width(columns, gap), canvas.width), QUIET))
    for cells in zip(*(column.cells for column in columns), strict=True):
        lines.append(_row(cells, columns, gap))
    return Group(*lines)


def _row(cells: Sequence[Text], columns: Sequence[Column], gap: int) -> Text:
    padded = [_pad(cell, column) for cell, column in zip(cells, columns, strict=True)]
    row = Text(" " * gap).join(padded)
    row.rstrip()
    row.no_wrap, row.overflow = True, "ellipsis"
    return row


def _pad(cell: Text, column: Column) -> Text:
    padded, missing = cell.copy(), column.width - cell.cell_len
    if column.right:
        padded.pad_left(missing)
    else:
        padded.pad_right(missing)
    return padded


def _squeeze(columns: Sequence[Column], canvas: Canvas, excess: int) -> list[Column]:
    """The columns with the flexible ones cut, the last first, each to at least six cells."""
    squeezed: list[Column] = []
    for column in reversed(columns):
        if column.flexible:
            width = max(column.width - excess, min(column.width, 6))
            excess -= column.width - width
            cells = tuple(canvas.cell(cell.plain, str(cell.style), width=width) for cell in column.cells)
            column = replace(column, cells=cells)
        squeezed.insert(0, column)
    return squeezed


def interval_bar(low: float, point: float, high: float, width: int) -> str:
    """The interval and its point on an axis from 0 to 1: ············──●──· (`to_ascii` for plain fonts)."""
    first, last = _position(low, width), _position(high, width)
    axis = ["·"] * width
    axis[first : last + 1] = ["─"] * (last + 1 - first)
    axis[_position(point, width)] = "●"
    return "".join(axis)


def progress_bar(share: float, width: int) -> str:
    """The share done: ━━━━╌╌. Full only when everything is done."""
    full = int(min(max(share, 0.0), 1.0) * width)
    return "━" * full + "╌" * (width - full)


def _position(share: float, width: int) -> int:
    """The character a share falls on; 1.0 belongs to the last one."""
    return min(max(int(share * width), 0), width - 1)
