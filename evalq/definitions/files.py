"""Loads tasks, evalsets and rows from the files they are written in, every problem with its line."""

import csv
import hashlib
import io
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from evalq.definitions.definition import NAME_REMEDY, is_name, split_remedy, validate
from evalq.definitions.evalset import EvalSet
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import check_template, names_builtin_rubric
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

TASK_SUFFIXES = (".yaml", ".yml", ".json")
EVALSET_SUFFIXES = (*TASK_SUFFIXES, ".jsonl", ".csv")
ROW_SUFFIXES = (".jsonl", ".csv")
MAX_FILE_BYTES = 64_000_000

_MAX_CELL_CHARS = 64_000_000
_CASE_PARTS = ("inputs", "expected", "stratum")
_LIST_KEYS = ("any_of", "relevant")

Column = tuple[str, str]
"""The part of a case a CSV column fills, and the key in it: ("inputs", "text"), ("id", "")."""


@dataclass(frozen=True)
class LoadedEvalSet:
    """An evalset, the file it came from, and the line of each case by its id."""

    evalset: EvalSet
    file: str = ""
    case_lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_drafts(self) -> int:
        """Cases that are not accepted yet."""
        return sum(case.draft for case in self.evalset.cases)

    def without_drafts(self) -> "LoadedEvalSet":
        """The accepted cases only; possibly none."""
        accepted = [case for case in self.evalset.cases if not case.draft]
        return replace(self, evalset=self.evalset.model_copy(update={"cases": accepted}))


@dataclass(frozen=True)
class Row:
    """One row: its values by column, texts in Unicode's normal form C."""

    line: int
    values: dict[str, Any]


def load_task(path: Path) -> TaskConfig:
    """Load a task from a YAML or JSON file and check its templates."""
    return read_task(load_located(path, TASK_SUFFIXES))


def read_task(located: Located) -> TaskConfig:
    """Read a task from a value and check its templates."""
    return validate(TaskConfig, located, *_template_problems(located))


def load_evalset(path: Path) -> LoadedEvalSet:
    """Load an evalset from a YAML, JSON, JSONL or CSV file; without a name it takes the file's."""
    return read_evalset(_with_name(load_located(path, EVALSET_SUFFIXES), path))


def read_evalset(located: Located) -> LoadedEvalSet:
    """Read an evalset from a value that has its name."""
    evalset = validate(EvalSet, located, *_duplicate_problems(located))
    lines = {case.id: located.line_of(("cases", i)) for i, case in enumerate(evalset.cases)}
    return LoadedEvalSet(evalset, located.file, lines)


def load_rows(path: Path, *, limit: int | None = None) -> list[Row]:
    """Load the first `limit` rows of a .jsonl or .csv file; raise InputError when there are none."""
    file = display_path(path)
    suffix = path.suffix.lower()
    if suffix not in ROW_SUFFIXES:
        raise InputError(Problem("not a file of rows", "give a .jsonl or .csv file", file))
    read = _csv_rows_by_column if suffix == ".csv" else _jsonl_rows
    rows = [Row(line, _normalise(values)) for line, values in islice(read(read_text(path), file), limit)]
    if not rows:
        raise InputError(Problem("holds no rows", "name a file that does", file))
    return rows


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Every column any row has, in order of appearance."""
    columns: dict[str, None] = {}
    for row in rows:
        columns |= dict.fromkeys(row.values)
    return list(columns)


def load_located(path: Path, suffixes: Iterable[str] = EVALSET_SUFFIXES) -> Located:
    """Read a file of one of these kinds; a JSONL or CSV file becomes a mapping with its cases."""
    file = display_path(path)
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(
            Problem("not a file evalq can read here", f"write a {', '.join(suffixes)} file", file)
        )
    text = read_text(path)
    match suffix:
        case ".json":
            return load_json(text, file)
        case ".jsonl":
            return _gather_cases(_jsonl_values(text, file), file)
        case ".csv":
            return _gather_cases(read_csv_cases(text, file), file)
        case _:
            return load_yaml(text, file)


def read_text(path: Path) -> str:
    """Read a regular UTF-8 file, with or without a byte order mark."""
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise InputError(
            Problem("not UTF-8 text", "save the file as UTF-8", display_path(path), line)
        ) from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise InputError(
            Problem("a NUL in the text", "save the file as plain UTF-8 text", display_path(path), line)
        )
    return text


def file_sha256(path: Path) -> str:
    """The hash of a regular file's bytes."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def display_path(path: Path) -> str:
    """The path from the working directory where it is inside it, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def read_bytes(path: Path) -> bytes:
    """Read a regular file of bounded size."""
    try:
        # Checked before opening: opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(
                Problem("not a regular file", "name a file, not a folder or device", display_path(path))
            )
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InputError(Problem("no such file", "check the path", display_path(path))) from None
    except OSError as exc:
        raise InputError(
            Problem(f"cannot be read: {exc.strerror}", "check the path", display_path(path))
        ) from None
    if len(content) > MAX_FILE_BYTES:
        remedy = "split it into several evalsets"
        raise InputError(Problem(f"larger than {MAX_FILE_BYTES // 1_000_000} MB", remedy, display_path(path)))
    return content


def _gather_cases(cases: Iterable[tuple[int, Any]], file: str) -> Located:
    values: list[Any] = []
    lines: dict[Loc, int] = {(): 1}
    for line, case in cases:
        lines[("cases", len(values))] = line
        values.append(case)
    return Located({"cases": values}, lines, file)


def _with_name(located: Located, path: Path) -> Located:
    """The file's mapping, or its bare list of cases as a mapping, with a name."""
    value, lines = located.value, located.lines
    if isinstance(value, list):
        value = {"cases": value}
        lines = {(): 1} | {("cases", *loc): line for loc, line in lines.items()}
    if not isinstance(value, dict) or "name" in value:
        return located
    if not is_name(path.stem):
        raise InputError(
            Problem(f"the file's name {path.stem!r} names no evalset", NAME_REMEDY, located.file)
        )
    return Located({"name": path.stem, **value}, lines, located.file)


def _duplicate_problems(located: Located) -> Iterator[Problem]:
    """Ids that are used twice; anything that is not an id is left to the model to report."""
    cases = located.value.get("cases") if isinstance(located.value, dict) else None
    if not isinstance(cases, list):
        return
    first: dict[str, int] = {}
    for i, case in enumerate(cases):
        case_id = case.get("id") if isinstance(case, dict) else None
        if not isinstance(case_id, str):
            continue
        line = located.line_of(("cases", i))
        if case_id in first:
            message = f"case id {case_id!r} is used twice, first on line {first[case_id]}"
            yield Problem(message, "give every case an id of its own", located.file, line)
        first.setdefault(case_id, line)


def _template_problems(located: Located) -> Iterator[Problem]:
    places: list[Loc] = [("user_template",)]
    rubric = _text_at(located.value, "scoring", "rubric")
    if _text_at(located.value, "scoring", "mode") == "llm_judge" and not names_builtin_rubric(rubric):
        places.append(("scoring", "rubric"))
    for loc in places:
        try:
            check_template(_text_at(located.value, *loc))
        except ValueError as exc:
            message, remedy = split_remedy(str(exc))
            yield located.problem(loc, f"{'.'.join(map(str, loc))}: {message}", remedy)


def _text_at(value: Any, *loc: str | int) -> str:
    """The text at a path of keys; "" where there is none, which the model reports."""
    for part in loc:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def read_csv_cases(text: str, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each case as YAML would have it, with the line its row begins on."""
    rows = csv_rows(text, file)
    _, header = next(rows, (1, []))
    columns = _case_columns(header, file)
    for line, cells in rows:
        _check_width(cells, columns, file, line)
        yield line, _build_case(zip(columns, cells, strict=True), file, line)


def csv_rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their first lines: a quoted cell may run over many."""
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


def _check_width(cells: list[str], columns: list[Any], file: str, line: int) -> None:
    if len(cells) != len(columns):
        remedy = "put text that holds commas or quotes in double quotes"
        raise InputError(Problem(f"{len(cells)} cells under {len(columns)} columns", remedy, file, line))


def _case_columns(header: list[str], file: str) -> list[Column]:
    columns = [_case_column(name.strip(), file) for name in header]
    if ("id", "") not in columns:
        remedy = "add one, with a different id in every row"
        if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
            remedy = "separate the columns by commas, and have one named id"
        raise InputError(Problem("CSV without an id column", remedy, file, 1))
    for part, key in columns:
        if columns.count((part, key)) > 1:
            name = f"{part}.{key}" if key else part
            raise InputError(Problem(f"two columns for {name!r}", "rename or remove one", file, 1))
    return columns


def _case_column(name: str, file: str) -> Column:
    if not name:
        raise InputError(Problem("a column without a name", "name every column in the first row", file, 1))
    if name in ("id", "expected_type"):
        return name, ""
    if name == "expected":
        return "expected", "answer"
    part, dot, key = name.partition(".")
    if part not in _CASE_PARTS or not dot:
        return "inputs", name
    if not key:
        raise InputError(Problem(f"column {name!r} names no key", f"write {name}KEY", file, 1))
    return part, key


def _build_case(cells: Iterable[tuple[Column, str]], file: str, line: int) -> dict[str, Any]:
    case: dict[str, Any] = {"inputs": {}}
    for (part, key), cell in cells:
        if part == "inputs":
            case["inputs"][key] = cell
        elif part == "expected" and key in _LIST_KEYS and cell:
            case.setdefault(part, {})[key] = _split_entries(cell, file, line)
        elif key and cell:
            case.setdefault(part, {})[key] = cell
        elif part == "id" or cell:
            case[part] = cell.strip()
    return case


def _split_entries(cell: str, file: str, line: int) -> Any:
    """The entries of `a|b` or of a JSON list."""
    if cell.lstrip().startswith("["):
        return load_json(cell, file, first_line=line).value
    return [entry.strip() for entry in cell.split("|") if entry.strip()]


def _csv_rows_by_column(text: str, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv_rows(text, file)
    _, header = next(rows, (1, []))
    columns = [name.strip() for name in header]
    if not all(columns) or len(set(columns)) < len(columns):
        remedy = "name every column in the first row, each by a name of its own"
        raise InputError(Problem("a column without a name, or two of the same name", remedy, file, 1))
    for line, cells in rows:
        _check_width(cells, columns, file, line)
        yield line, dict(zip(columns, cells, strict=True))


def _jsonl_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, value in _jsonl_values(text, file):
        if not isinstance(value, dict):
            remedy = 'write {"column": value, …} on every line'
            raise InputError(Problem("a line that is not a JSON object", remedy, file, number))
        yield number, value


def _jsonl_values(text: str, file: str) -> Iterator[tuple[int, Any]]:
    # Not splitlines(): it also splits at separators that may be inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, load_json(line, file, first_line=number).value


def _normalise(value: Any) -> Any:
    """The value with its texts composed: an accent can be encoded in two ways that look alike."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): _normalise(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalise(item) for item in value]
    return value
