"""Words and numbers as the terminal shows them: cleaned of control characters, no finer than their doubt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

NOTHING = "–"
ONE_DECIMAL_BELOW = 1000

# C0 except tab and newline, DEL, C1, bidi controls, lone surrogates: a model may answer with any of them,
# and rich passes them all through, as Text and as escaped markup alike.
_HOSTILE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
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
    """The text with nothing left that moves a cursor, opens a link or reverses the reading order."""
    return _HOSTILE.sub("\N{REPLACEMENT CHARACTER}", _LINE_ENDS.sub("\n", text))


def to_ascii(text: str) -> str:
    """Our own signs in ASCII, for fonts without them; other people's letters stay as they are."""
    return text.translate(_ASCII)


def one_line(text: str, width: int | None = None) -> str:
    """The cleaned text on one line, cut with … to `width` terminal cells (wide letters take two)."""
    line = " ".join(clean(text).split())
    if width is None or cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def money(amount: Decimal, places: int = 2) -> str:
    """Dollars with `places` decimals, more where those would hide the amount: spent is never 0.00."""
    hidden = bool(amount) and amount.adjusted() < -places
    return f"{amount:.{1 - amount.adjusted() if hidden else places}f}"


def percent(share: float | None, n: int) -> str:
    """A share as a percentage: one decimal below a thousand cases, two from there on."""
    return "n/a" if share is None else f"{share:.{1 + _extra(n)}%}"


def span(low: float | None, high: float | None, n: int) -> str:
    """An interval of shares in percent, 74–89: whole below a thousand cases, one decimal from there on."""
    if low is None or high is None:
        return NOTHING
    return f"{low * 100:.{_extra(n)}f}–{high * 100:.{_extra(n)}f}"


def points(difference: float, n: int) -> str:
    """A difference of shares in signed percentage points, −16 or +3, with a real minus sign."""
    number = f"{difference * 100:+.{_extra(n)}f}"
    return number.replace("-", "−") if float(number) else "0"


def duration(seconds: float | None) -> str:
    """Minutes and seconds, 2:41, with hours in front when there are any."""
    if seconds is None:
        return NOTHING
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def latency(latency_ms: int | None) -> str:
    """Seconds with three digits, 1.84s; milliseconds where seconds would read 0.00."""
    if latency_ms is None:
        return NOTHING
    if latency_ms < 10:
        return f"{latency_ms}ms"
    places = 2 if latency_ms < 10_000 else 1 if latency_ms < 100_000 else 0
    return f"{latency_ms / 1000:.{places}f}s"


def _extra(n: int) -> int:
    """Decimals that only a large n can carry."""
    return 0 if n < ONE_DECIMAL_BELOW else 1


# Blue for good and progress, orange for a problem: told apart by colour-blind eyes, never used alone.
GOOD = "bright_blue"
PROBLEM = "dark_orange"
QUIET = "dim"

Cells = tuple[Text, ...]


@dataclass(frozen=True)
class Canvas:
    """All text enters here: cleaned, as `Text` and never as markup, in ASCII if the font needs it."""

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
    """A heading and its cells; a flexible column is the one to be cut when nothing else can be left out."""

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
    """The first layout that fits the sheet whole; else the last one, its flexible columns cut."""
    columns: Sequence[Column] = ()
    for columns in layouts:
        if total_width(columns, gap) <= canvas.width:
            return columns
    return _squeezed(columns, canvas, total_width(columns, gap) - canvas.width)


def lay_out(columns: Sequence[Column], canvas: Canvas, *, gap: int, rule: bool = True) -> Group:
    """Heading, rule, rows; a row too long for the terminal is cut, never wrapped."""
    heading = _row([column.title for column in columns], columns, gap)
    heading.stylize(QUIET)
    line = [canvas.text("─" * min(total_width(columns, gap), canvas.width), QUIET)] if rule else []
    rows = [_row(cells, columns, gap) for cells in zip(*(column.cells for column in columns), strict=True)]
    return Group(heading, *line, *rows)


def _row(cells: Sequence[Text], columns: Sequence[Column], gap: int) -> Text:
    padded = [_padded(cell, column) for cell, column in zip(cells, columns, strict=True)]
    row = Text(" " * gap).join(padded)
    row.rstrip()
    row.no_wrap, row.overflow = True, "ellipsis"
    return row


def _padded(cell: Text, column: Column) -> Text:
    padded, missing = cell.copy(), column.width - cell.cell_len
    if column.right:
        padded.pad_left(missing)
    else:
        padded.pad_right(missing)
    return padded


def _squeezed(columns: Sequence[Column], canvas: Canvas, excess: int) -> list[Column]:
    """The columns with the flexible ones cut, the last first, each to no less than six cells."""
    squeezed: list[Column] = []
    for column in reversed(columns):
        kept = max(column.width - excess, min(column.width, 6)) if column.flexible else column.width
        excess -= column.width - kept
        squeezed.insert(0, _cut(column, canvas, kept))
    return squeezed


def _cut(column: Column, canvas: Canvas, width: int) -> Column:
    cells = tuple(canvas.cell(cell.plain, str(cell.style), width=width) for cell in column.cells)
    return replace(column, cells=cells) if column.flexible else column


def interval_bar(low: float, point: float, high: float, width: int) -> str:
    """The interval and its point on an axis from 0 to 1: ············──●──· (`to_ascii` for plain fonts)."""
    first, middle, last = (_position(share, width) for share in (low, point, high))
    axis = ["─" if first <= place <= last else "·" for place in range(width)]
    axis[middle] = "●"
    return "".join(axis)


def progress_bar(share: float, width: int) -> str:
    """How much is done: ━━━━╌╌. Full only when everything is, never past its ends."""
    full = int(min(max(share, 0.0), 1.0) * width)
    return "━" * full + "╌" * (width - full)


def _position(share: float, width: int) -> int:
    """The character a share falls on; 1.0 belongs to the last one."""
    return min(max(int(share * width), 0), width - 1)
