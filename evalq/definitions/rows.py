"""Rows of any columns from a JSONL or CSV file, each with the line it begins on."""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evalq.definitions.csv_cases import csv_rows
from evalq.definitions.files import read_text, shown
from evalq.definitions.json_text import load_json
from evalq.errors import InputError, Problem

ROW_SUFFIXES = (".jsonl", ".csv")


@dataclass(frozen=True)
class Row:
    """One row: its values by column, texts in Unicode's normal form C."""

    line: int
    values: dict[str, Any]


def load_rows(path: Path, *, limit: int | None = None) -> list[Row]:
    """The rows of a .jsonl or .csv file, the first `limit` of them; InputError when there is none."""
    file = shown(path)
    if path.suffix.lower() not in ROW_SUFFIXES:
        raise InputError(Problem("not a file of rows", "give a .jsonl or .csv file", file))
    text = read_text(path)
    read = _csv_rows if path.suffix.lower() == ".csv" else _jsonl_rows
    rows = [Row(line, _normal(values)) for line, values in islice(read(text, file), limit)]
    if not rows:
        raise InputError(Problem("holds no rows", "name a file that does", file))
    return rows


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Every column any row has, in order of appearance."""
    return list(dict.fromkeys(column for row in rows for column in row.values))


def _jsonl_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Not splitlines(): it also splits at separators that may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            value = load_json(line, file, first_line=number).value
            if not isinstance(value, dict):
                remedy = 'write {"column": value, …} on every line'
                raise InputError(Problem("a line that is not a JSON object", remedy, file, number))
            yield number, value


def _csv_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv_rows(text, file)
    _, header = next(rows, (1, []))
    columns = [name.strip() for name in header]
    if not all(columns) or len(set(columns)) < len(columns):
        remedy = "name every column in the first row, each by a name of its own"
        raise InputError(Problem("a column without a name, or two of the same name", remedy, file, 1))
    for line, cells in rows:
        if len(cells) != len(columns):
            remedy = "put text that holds commas or quotes in double quotes"
            raise InputError(Problem(f"{len(cells)} cells under {len(columns)} columns", remedy, file, line))
        yield line, dict(zip(columns, cells, strict=True))


def _normal(value: Any) -> Any:
    """The same value with its texts composed: an accent may be written in two ways that look alike."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): _normal(part) for key, part in value.items()}
    return [_normal(part) for part in value] if isinstance(value, list) else value
