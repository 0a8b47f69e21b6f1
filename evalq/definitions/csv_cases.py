"""Cases from CSV: one row each, its columns named after the parts of a case."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from evalq.definitions.json_text import load_json
from evalq.errors import InputError, Problem

Column = tuple[str, str]  # the part of a case, and the key in it: ("inputs", "text"), ("id", "")

_PARTS = ("inputs", "expected", "stratum")
_LIST_KEYS = ("any_of", "relevant")
_MAX_CELL_CHARS = 64_000_000


def read_csv_cases(text: str, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each case as it would stand in YAML, with the line its row begins on."""
    rows = csv_rows(text, file)
    _, header = next(rows, (1, []))
    columns = _columns(header, file)
    for line, cells in rows:
        if len(cells) != len(columns):
            message = f"{len(cells)} cells under {len(columns)} columns"
            raise InputError(
                Problem(message, "put text that holds commas or quotes in double quotes", file, line)
            )
        yield line, _case(zip(columns, cells, strict=True), file, line)


def csv_rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold anything, with their first lines: a quoted cell may run over many."""
    csv.field_size_limit(_MAX_CELL_CHARS)  # the usual 128 kB is less than one long document
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as exc:
        raise InputError(
            Problem(f"not CSV: {exc}", "close the quotes; double a quote inside", file, line)
        ) from None


def _columns(header: list[str], file: str) -> list[Column]:
    columns = [_column(name.strip(), file) for name in header]
    if ("id", "") not in columns:
        raise InputError(Problem("CSV without an id column", _id_remedy(header), file, 1))
    for column in columns:
        if columns.count(column) > 1:
            name = ".".join(filter(None, column))
            raise InputError(Problem(f"two columns for {name!r}", "rename or remove one", file, 1))
    return columns


def _id_remedy(header: list[str]) -> str:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        return "separate the columns by commas, and have one named id"
    return "add one, with a different id in every row"


def _column(name: str, file: str) -> Column:
    if not name:
        raise InputError(Problem("a column without a name", "name every column in the first row", file, 1))
    if name in ("id", "expected_type"):
        return name, ""
    if name == "expected":
        return "expected", "answer"
    part, dot, key = name.partition(".")
    if part not in _PARTS or not dot:
        return "inputs", name
    if not key:
        raise InputError(Problem(f"column {name!r} names no key", f"write {name}KEY", file, 1))
    return part, key


def _case(cells: Iterable[tuple[Column, str]], file: str, line: int) -> dict[str, Any]:
    case: dict[str, Any] = {"inputs": {}}
    for (part, key), cell in cells:
        if part == "inputs":
            case["inputs"][key] = cell
        elif key and cell:
            case.setdefault(part, {})[key] = _entries(cell, file, line) if _is_list(part, key) else cell
        elif part == "id" or cell:
            case[part] = cell.strip()
    return case


def _is_list(part: str, key: str) -> bool:
    return part == "expected" and key in _LIST_KEYS


def _entries(cell: str, file: str, line: int) -> Any:
    """`a|b` or a JSON list."""
    if cell.lstrip().startswith("["):
        return load_json(cell, file, first_line=line).value
    return [entry.strip() for entry in cell.split("|") if entry.strip()]
