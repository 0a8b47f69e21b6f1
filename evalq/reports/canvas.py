"""The sheet a report is drawn on: its width, its letters, its colours, and columns that never wrap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.console import Group
from rich.text import Text

from evalq.reports.text import clean, one_line, to_ascii

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
