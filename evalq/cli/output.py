"""What commands print: results to stdout, everything else to stderr."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.cells import cell_len

from evalq.reports.json_output import json_text
from evalq.reports.text import fold, one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

_Result = TypeVar("_Result")

_NARROWEST = 8
"""Cells below which no column is cut."""


def print_json(value: Any) -> None:
    """Print a document to stdout."""
    click.echo(json_text(value))


def write_json(path: Path, value: Any) -> None:
    """Write a document to a file."""
    path.write_text(json_text(value) + "\n", "utf-8")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, fit: bool = False) -> None:
    """Print rows under a head, tab-separated when piped; control characters are removed from every cell.

    With `fit`, the cells of the widest columns are cut until a row fits the terminal.
    """
    cells = [[one_line(str(cell)) for cell in row] for row in (head, *rows)]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = [max(cell_len(row[at]) for row in cells) for at in range(len(head))]
    room = shutil.get_terminal_size().columns - 2 * (len(head) - 1)
    while fit and sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    for row in cells:
        padded = [_pad(one_line(cell, width), width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(padded).rstrip())


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - cell_len(cell))


def fit_columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, drop: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Head and rows without as many of the `drop` columns as a terminal has no room for; all for a pipe."""
    kept = list(range(len(head)))
    if sys.stdout.isatty():
        widths = [max(len(row[at]) for row in (head, *rows)) for at in kept]
        room = shutil.get_terminal_size().columns
        for name in drop:
            if sum(widths[at] + 2 for at in kept) - 2 > room:
                kept.remove(head.index(name))
    return [head[at] for at in kept], [[row[at] for at in kept] for row in rows]


def print_report(
    result: _Result, draw: "Callable[..., RenderableType]", render_plain: Callable[[_Result], str]
) -> None:
    """Print a result, drawn for the terminal's width or as plain rows for a pipe."""
    from rich.console import Console

    if not sys.stdout.isatty():
        click.echo(render_plain(result))
        return
    console = Console()
    console.print(draw(result, width=console.width, ascii_only=console.options.ascii_only))


def say(text: str) -> None:
    """Print a sentence of a result to stdout, folded at words to a terminal's width."""
    click.echo(_fold(text, sys.stdout.isatty()))


def note(text: str) -> None:
    """Print a remark to stderr, folded at words to a terminal's width."""
    click.echo(_fold(text, sys.stderr.isatty()), err=True)


def _fold(text: str, is_terminal: bool) -> str:
    return fold(text, shutil.get_terminal_size().columns) if is_terminal else text


def warn(text: str) -> None:
    """Print a warning to stderr, on one line without control characters."""
    note(f"warning: {one_line(text)}")


def warn_loudly(text: str) -> None:
    """Print a warning to stderr in red."""
    click.secho(f"WARNING  {text}", fg="red", bold=True, err=True)


def suggest(*commands: str) -> None:
    """Print what to run next to stderr; each command on a line of its own where one line is too short."""
    line = f"next  {'   '.join(commands)}"
    if sys.stderr.isatty() and len(line) > shutil.get_terminal_size().columns:
        line = "next  " + "\n      ".join(commands)
    click.echo(line, err=True)


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
