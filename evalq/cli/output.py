"""What commands print: results to stdout, everything else to stderr."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalq.reports.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

_Result = TypeVar("_Result")

# Control and direction characters in model text: a terminal obeys them even inside a JSON string.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def json_text(value: Any) -> str:
    """Indented JSON that keeps letters of every language and escapes what a terminal would obey."""
    return _escape_unsafe(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def json_line(value: Any) -> str:
    """The same on one line, for JSONL."""
    return _escape_unsafe(json.dumps(value, ensure_ascii=False, default=str)) + "\n"


def _escape_unsafe(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def print_json(value: Any) -> None:
    """Print a document to stdout."""
    click.echo(json_text(value))


def write_json(path: Path, value: Any) -> None:
    """Write a document to a file."""
    path.write_text(json_text(value) + "\n", "utf-8")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a head, tab-separated when piped; control characters are removed from every cell."""
    cells = [[one_line(str(cell)) for cell in row] for row in (head, *rows)]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


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


def note(text: str) -> None:
    """Print a remark to stderr."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Print a warning to stderr, on one line without control characters."""
    note(f"warning: {one_line(text)}")


def warn_loudly(text: str) -> None:
    """Print a warning to stderr in red."""
    click.secho(f"WARNING  {text}", fg="red", bold=True, err=True)


def suggest(*commands: str) -> None:
    """Print what to run next to stderr."""
    note(f"next  {'   '.join(commands)}")


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
