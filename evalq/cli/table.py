"""Plain tables: aligned on a terminal, tab-separated when piped."""

import sys
from collections.abc import Sequence

import click

from evalq.reports.text import one_line


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a head; every cell is cleaned of control characters."""
    cells = [[one_line(str(cell)) for cell in row] for row in (head, *rows)]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
