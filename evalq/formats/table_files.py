"""Reads a table of rows from CSV, TSV, JSONL, JSON or XLSX, in the encodings and delimiters people use."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path, read_bytes
from evalq.definitions.located import Loc, load_json
from evalq.errors import InputError, Problem
from evalq.formats.document import text_of
from evalq.formats.sniff import sniff
from evalq.formats.spreadsheet import read_sheet

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".xlsx", ".xlsm")
MAX_CELL_CHARS = 1_000_000

_CASE_KEYS = ("cases", "inputs", "expected_type")
_CASE_PARTS = ("inputs.", "expected.", "stratum.")
_DELIMITERS = ",;\t|"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_QUOTED = re.compile(r'"(?:[^"]++|"")*+"?')

Lines = Iterable[tuple[int, list[str]]]


@dataclass(frozen=True)
class TableRecord:
    """One row that is not blank: its line, and its cells by column."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class TableFile:
    """A table, and remarks on how it was read."""

    file: str
    columns: tuple[str, ...]
    records: tuple[TableRecord, ...]
    remarks: tuple[str, ...] = ()

    def values(self, column: str) -> list[str]:
        """The cells of a column that are not blank."""
        found = [record.cells.get(column, "").strip() for record in self.records]
        return [cell for cell in found if cell]


def read_table(path: Path) -> TableFile:
    """Read a table by the suffix of its file; every problem is an InputError with its line."""
    file, suffix = display_path(path), path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        remedy = f"give one of {', '.join(TABLE_SUFFIXES)}"
        raise InputError(Problem("not a table that evalq can read", remedy, file))
    content = read_bytes(path)
    if suffix in (".xlsx", ".xlsm"):
        sheet = read_sheet(content, file)
        several = f"the first of {sheet.n_sheets} sheets is read: {sheet.name!r}"
        return _build(sheet.rows, file, (several,) if sheet.n_sheets > 1 else ())
    text, remarks = decode_text(content, file)
    if suffix in (".jsonl", ".ndjson"):
        return _build_objects(_list_lines(text, file), file, remarks)
    if suffix == ".json":
        return _build_objects(_list_entries(text, file), file, remarks)
    delimiter = "\t" if suffix == ".tsv" else _guess_delimiter(text)
    return _build(_split_rows(text, delimiter, file), file, remarks)


def is_own_evalset(path: Path) -> bool:
    """Whether a file is an evalset of evalq: YAML, or its columns say which part of a case they fill."""
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return True
    if suffix not in (".csv", ".json", ".jsonl"):
        return False
    keys = sniff(path).keys
    return any(key in _CASE_KEYS or key.startswith(_CASE_PARTS) for key in keys)


def decode_text(content: bytes, file: str) -> tuple[str, tuple[str, ...]]:
    """The text of a file and a remark when it is not UTF-8: by its mark, by its zeros, else Windows-1252."""
    encoding = _guess_encoding(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise InputError(Problem(f"not {encoding} text", "save it as UTF-8", file, line)) from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise InputError(Problem("a NUL in the text", "save it as plain UTF-8 text", file, line))
    remark = () if encoding.startswith("utf-8") else (f"it is not UTF-8, and is read as {encoding}",)
    return text, remark


def _guess_encoding(content: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    start = content[:2000]
    # Every second byte of Western text in UTF-16 is zero; no other text has any.
    if start.count(0) * 3 > len(start):
        return "utf-16-be" if start[:1] == b"\x00" else "utf-16-le"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        try:
            content.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252"
    return "utf-8"


def _guess_delimiter(text: str) -> str:
    """The delimiter that the first line has most of, outside quotes."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    bare = _QUOTED.sub("", first)
    return max(_DELIMITERS, key=bare.count)


def _split_rows(text: str, delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their first lines."""
    csv.field_size_limit(MAX_CELL_CHARS * 64)  # so that our own message names the line
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as exc:
        remedy = "close the quotes; double a quote inside"
        raise InputError(Problem(f"not CSV: {exc}", remedy, file, line)) from None


def _build(lines: Lines, file: str, remarks: tuple[str, ...]) -> TableFile:
    """A table from rows of cells, the first of which names the columns."""
    rows = iter(lines)
    head_line, head = next(rows, (1, []))
    records: list[tuple[int, list[str]]] = []
    for line, cells in rows:
        _check_cells(cells, len(head), file, line)
        records.append((line, cells))
    if not records:
        raise InputError(Problem("no rows under the names of the columns", "add one row a case", file))
    kept = _name_columns(head, records, file, head_line)
    named = []
    for line, cells in records:
        named.append(
            TableRecord(line, {name: cells[at] if at < len(cells) else "" for at, name in kept.items()})
        )
    return TableFile(file, tuple(kept.values()), tuple(named), remarks)


def _check_cells(cells: list[str], n_columns: int, file: str, line: int) -> None:
    is_short = len(cells) < n_columns and not file.lower().endswith((".xlsx", ".xlsm"))
    if is_short or any(cell.strip() for cell in cells[n_columns:]):
        remedy = "put text that holds the delimiter, quotes or line breaks in double quotes"
        raise InputError(Problem(f"{len(cells)} cells under {n_columns} columns", remedy, file, line))
    if any(len(cell) > MAX_CELL_CHARS for cell in cells):
        message = f"a cell of more than {MAX_CELL_CHARS:,} characters"
        raise InputError(Problem(message, "shorten it, or check that quotes are closed", file, line))


def _name_columns(
    head: list[str], records: list[tuple[int, list[str]]], file: str, line: int
) -> dict[int, str]:
    """The columns by their place; one without a name is called by its number, an empty one is left out."""
    names: dict[int, str] = {}
    for at, written in enumerate(head):
        name = written.strip()
        if not name:
            if not any(at < len(cells) and cells[at].strip() for _, cells in records):
                continue
            name = f"column_{at + 1}"
        if name in names.values():
            remedy = "rename one of them in the first row"
            raise InputError(Problem(f"two columns are called {name!r}", remedy, file, line))
        names[at] = name
    return names


def _build_objects(entries: Iterable[tuple[int, Any]], file: str, remarks: tuple[str, ...]) -> TableFile:
    columns: dict[str, None] = {}
    records = []
    for line, entry in entries:
        if not isinstance(entry, dict):
            remedy = 'write {"column": value, …} for every row'
            raise InputError(Problem("a row that is not a JSON object", remedy, file, line))
        cells = {key.strip(): "" if value is None else text_of(value) for key, value in entry.items()}
        if any(len(cell) > MAX_CELL_CHARS for cell in cells.values()):
            raise InputError(Problem(f"a value of more than {MAX_CELL_CHARS:,} characters", "", file, line))
        columns |= dict.fromkeys(cells)
        if any(cell.strip() for cell in cells.values()):
            records.append(TableRecord(line, cells))
    if not records:
        raise InputError(Problem("no rows", "add one object a case", file))
    return TableFile(file, tuple(columns), tuple(records), remarks)


def _list_lines(text: str, file: str) -> Iterator[tuple[int, Any]]:
    # Not splitlines(): it also splits at separators that may occur inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, load_json(line, file, first_line=number).value


def _list_entries(text: str, file: str) -> Iterator[tuple[int, Any]]:
    """The entries of a list, or of the only list that a mapping has."""
    located = load_json(text, file)
    value: Any = located.value
    path: Loc = ()
    if isinstance(value, dict):
        lists = {key: inner for key, inner in value.items() if isinstance(inner, list)}
        if len(lists) != 1:
            remedy = 'write [{"column": value, …}, …]'
            raise InputError(Problem("JSON without one list of rows", remedy, file, 1))
        ((key, value),) = lists.items()
        path = (key,)
    if not isinstance(value, list):
        raise InputError(Problem("JSON that is no list of rows", "write a list of objects", file, 1))
    for at, entry in enumerate(value):
        yield located.line_of((*path, at)), entry
