"""The init command: a first task and its evalset, from an example or from any table of cases."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, suggest
from evalq.definitions.files import display_path
from evalq.definitions.scaffold import Scaffold, scaffold_task, write_new
from evalq.errors import InputError, Problem
from evalq.reports.text import clean

if TYPE_CHECKING:
    from evalq.formats.table_columns import TableColumns
    from evalq.formats.table_files import TableFile
    from evalq.formats.table_task import TableDraft

_Command = TypeVar("_Command", bound=Callable[..., Any])
NO_COLUMN = "none"


def column_options(command: _Command) -> _Command:
    """--input, --expected, --id and --stratum: the columns of a table."""
    for option in (
        click.option("--stratum", help="The column that splits the report; `none` for no strata."),
        click.option("--id", "id_column", help="The column of ids; `none` makes them from the inputs."),
        click.option("--expected", help="The column with the expected answer."),
        click.option("--input", "inputs", multiple=True, help="A column judges are shown; may be repeated."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("name")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take the cases from this CSV, TSV, JSONL, JSON or XLSX file, or from an evalset.",
)
@column_options
@pass_context
def init(
    context: Context,
    name: str,
    source: Path | None,
    inputs: tuple[str, ...],
    expected: str | None,
    id_column: str | None,
    stratum: str | None,
) -> None:
    """Write a first task NAME and its evalset `dev`, ready to run.

    With --from, each row of a table becomes a case. Which columns hold the input and the expected answer is
    guessed from their names and cells, and asked on a terminal; --input, --expected, --id and --stratum
    decide. Few different answers are labels: the prompt lists them, and case and punctuation make no
    difference. Nothing is overwritten.
    """
    from evalq.formats.table_columns import TableColumns

    named = TableColumns(inputs, expected, id_column, stratum)
    scaffold = _scaffold(name, source, named)
    for path in write_new(scaffold.files, context.root):
        click.echo(f"wrote {display_path(path)}")
    if scaffold.left_out:
        note(f"not in the template, rename to use: {', '.join(map(repr, scaffold.left_out))}")
    suggest(f"evalq bake-off --task {name} --judges sim-grok-4.3,sim-sonnet-4.6", "evalq judges")


def _scaffold(name: str, source: Path | None, named: "TableColumns") -> Scaffold:
    from evalq.formats.table_columns import TableColumns
    from evalq.formats.table_files import is_own_evalset

    is_decided = named != TableColumns()
    if source is None and is_decided:
        raise InputError(Problem("columns are named, but no file", "add --from FILE"))
    if source is None or (not is_decided and is_own_evalset(source)):
        return scaffold_task(name, source)
    draft = draft_from_table(name, source, named, asks=sys.stdin.isatty() and sys.stderr.isatty())
    for remark in draft.remarks:
        note(clean(remark))
    return draft.scaffold


def draft_from_table(name: str, source: Path, named: "TableColumns", *, asks: bool) -> "TableDraft":
    """Read a table, settle its columns, and draft the task; `asks` lets the user change the guesses."""
    from evalq.formats.table_columns import choose_columns
    from evalq.formats.table_files import read_table
    from evalq.formats.table_task import draft_task

    table = read_table(source)
    wanted = replace(named, id=_column_or_none(named.id), stratum=_column_or_none(named.stratum))
    columns = choose_columns(table, wanted)
    if named.id == NO_COLUMN:
        columns = replace(columns, id=None)
    if named.stratum == NO_COLUMN:
        columns = replace(columns, stratum=None)
    if asks and columns.guessed:
        columns = _ask(table, columns)
    guessed = f" (guessed: {', '.join(columns.guessed)})" if columns.guessed else ""
    note(clean(f"{table.file}: {columns.describe()}{guessed}"))
    return draft_task(name, table, columns)


def _column_or_none(name: str | None) -> str | None:
    return None if name == NO_COLUMN else name


def _ask(table: "TableFile", columns: "TableColumns") -> "TableColumns":
    """Show the guesses and take other columns for them."""
    from evalq.formats.table_columns import TableColumns, choose_columns

    note(clean(f"columns of {table.file}: {', '.join(table.columns)}"))
    inputs: str = click.prompt("input (several by commas)", default=",".join(columns.inputs), err=True)
    expected: str = click.prompt("expected", default=columns.expected, err=True)
    ids = _column_or_none(click.prompt("id", default=columns.id or NO_COLUMN, err=True))
    stratum = _column_or_none(click.prompt("stratum", default=columns.stratum or NO_COLUMN, err=True))
    shown = (inputs,) if inputs in table.columns else tuple(part.strip() for part in inputs.split(","))
    chosen = choose_columns(table, TableColumns(shown, expected, ids, stratum))
    return replace(
        chosen, id=chosen.id if ids else None, stratum=chosen.stratum if stratum else None, guessed=()
    )
