"""Which column of a file of rows becomes which part of a case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalq.definitions.fit import needed_inputs
from evalq.definitions.rows import Row, columns_of
from evalq.definitions.task import TaskConfig
from evalq.definitions.validation import near
from evalq.errors import InputError, Problem

EXPECTED = "expected"
"""The column taken for what is expected when none is named."""

_MOST_SHOWN = 30


@dataclass(frozen=True)
class Wishes:
    """What the user said of the columns: input and stratum names with theirs, and two single ones."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    expected: str | None = None
    id: str | None = None
    stratum: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Columns(Wishes):
    """The same, decided: every input of the task has its column."""

    @property
    def used(self) -> list[str]:
        """Every column that goes into a case, each once."""
        named = [*self.inputs.values(), self.expected, *self.stratum.values(), self.id]
        return list(dict.fromkeys(column for column in named if column is not None))


def choose_columns(task: TaskConfig, rows: Sequence[Row], wishes: Wishes, *, file: str) -> Columns:
    """The columns by wish, else by their names; InputError naming those there are and those needed."""
    there, needed = columns_of(rows), needed_inputs(task)
    problems = [
        Problem(f"task {task.name!r} has no input {name!r}", near(name, needed), file)
        for name in wishes.inputs
        if name not in needed
    ]
    problems += [_no_column(column, there, file) for column in _wished(wishes) if not _is_there(column, rows)]
    inputs = {name: wishes.inputs.get(name) or _like(name, there) for name in needed}
    missing = [name for name, column in inputs.items() if column is None]
    if missing:
        problems.append(_unmapped(task, missing, there, file))
    if problems:
        raise InputError(*problems)
    expected = wishes.expected or (EXPECTED if EXPECTED in there and EXPECTED not in needed else None)
    found = {name: column for name, column in inputs.items() if column is not None}
    return Columns(found, expected, wishes.id, wishes.stratum)


def cell(values: Mapping[str, Any], column: str) -> Any:
    """A row's value under a column; `a.b` is also the b inside a. None when there is none."""
    if column in values:
        return values[column]
    head, dot, rest = column.partition(".")
    inner = values.get(head)
    return cell(inner, rest) if dot and isinstance(inner, Mapping) else None


def used_values(row: Row, columns: Columns) -> dict[str, Any]:
    """What of a row goes into its case, by column; the rest of the row is never looked at."""
    found = {column: cell(row.values, column) for column in columns.used}
    return {column: value for column, value in found.items() if value is not None}


def read_pairs(text: str, option: str) -> dict[str, str]:
    """`name=column,name=column`; a bare name is the column of that name."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    found = {name.strip(): (column if sign else name).strip() for name, sign, column in pairs}
    if not all(found) or not all(found.values()):
        raise InputError(Problem(f"{option} {text!r} is not of the form name=column,name=column"))
    return found


def _wished(wishes: Wishes) -> list[str]:
    named = [*wishes.inputs.values(), wishes.expected, wishes.id, *wishes.stratum.values()]
    return [column for column in named if column is not None]


def _is_there(column: str, rows: Sequence[Row]) -> bool:
    return any(cell(row.values, column) is not None for row in rows)


def _like(name: str, there: Sequence[str]) -> str | None:
    """The column of that name, as written or in another case."""
    alike = [column for column in there if column.casefold() == name.casefold()]
    return name if name in there else alike[0] if len(alike) == 1 else None


def _no_column(column: str, there: Sequence[str], file: str) -> Problem:
    return Problem(f"no column {column!r}", near(column, there[:_MOST_SHOWN]), file, 1)


def _unmapped(task: TaskConfig, missing: Sequence[str], there: Sequence[str], file: str) -> Problem:
    shown = ", ".join(there[:_MOST_SHOWN]) + (", …" if len(there) > _MOST_SHOWN else "")
    pairs = ",".join(f"{name}=COLUMN" for name in missing)
    message = f"task {task.name!r} needs {', '.join(missing)}; the columns are {shown}"
    return Problem(message, f"say which is which: --map {pairs}", file, 1)
