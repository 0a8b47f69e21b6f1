"""Human labels from a JSONL or CSV file: one answer and what a person says of it per line."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from evalq.definitions.csv_cases import csv_rows
from evalq.definitions.files import read_text, shown
from evalq.definitions.json_text import load_json
from evalq.definitions.validation import cut, near
from evalq.errors import InputError, Problem

LABEL_SUFFIXES = (".csv", ".jsonl")
REQUIRED = ("judge", "case_id", "passed")
COLUMNS = ("judge", "case_id", "sample", "passed", "labeller")
FOR_PEOPLE = ("stratum", "input", "expected", "answer", "comment")
"""Columns that help whoever labels; they are not read back."""

KNOWN = (*COLUMNS, *FOR_PEOPLE)
ANONYMOUS = "anonymous"
_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "valid"), True),
    **dict.fromkeys(("false", "0", "no", "invalid"), False),
}

_Row = tuple[int, Mapping[str, Any] | InputError]
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Label:
    """What one person says of one answer, and the line it is written on."""

    judge: str
    case_id: str
    sample: int
    passed: bool
    labeller: str
    line: int


@dataclass(frozen=True)
class LabelFile:
    """The labels of a file, and how many of its rows nobody has filled in yet."""

    file: str
    labels: tuple[Label, ...]
    n_empty: int = 0


def load_labels(path: Path) -> LabelFile:
    """The labels in a JSONL or CSV file; InputError with every problem and its line."""
    suffix = path.suffix.lower()
    if suffix not in LABEL_SUFFIXES:
        remedy = f"write a {' or '.join(LABEL_SUFFIXES)} file"
        raise InputError(Problem("not a file labels can be read from", remedy, shown(path)))
    return read_labels(read_text(path), shown(path), is_csv=suffix == ".csv")


def read_labels(text: str, file: str, *, is_csv: bool) -> LabelFile:
    """The labels in a text; a row whose `passed` is empty is not labelled yet, and only counted."""
    labels: list[Label] = []
    problems: list[Problem] = []
    n_empty = 0
    for line, row in _csv(text, file) if is_csv else _jsonl(text, file):
        if isinstance(row, InputError):
            problems += row.problems
        elif _is_blank(row.get("passed")) and "passed" in row:
            n_empty += 1
        else:
            label, wrong = _label(row, file, line)
            labels += [label] if label else []
            problems += wrong
    if not problems and not labels:
        problems = [Problem("no label in it", "fill in `passed`: true or false", file)]
    if problems:
        raise InputError(*cut(problems))
    return LabelFile(file, tuple(labels), n_empty)


def _jsonl(text: str, file: str) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = load_json(line, file, first_line=number).value
        except InputError as exc:
            yield number, exc
            continue
        is_object = isinstance(value, dict)
        yield number, value if is_object else _refusal("not a JSON object", "write {…}", file, number)


def _csv(text: str, file: str) -> Iterator[_Row]:
    try:
        rows = csv_rows(text, file)
        _, header = next(rows, (1, []))
        names = [name.strip() for name in header]
        _check_header(names, file)
        for line, cells in rows:
            if len(cells) == len(names):
                yield line, dict(zip(names, cells, strict=True))
            else:
                message = f"{len(cells)} cells under {len(names)} columns"
                yield line, _refusal(message, "put text that holds commas in double quotes", file, line)
    except InputError as exc:
        yield 1, exc


def _check_header(names: list[str], file: str) -> None:
    problems = [
        Problem(f"no column {name!r}", near(name, filter(None, names)), file, 1)
        for name in REQUIRED
        if name not in names
    ]
    problems += [_unknown(name, file, 1) for name in names if name not in KNOWN]
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        problems = [Problem("one column only", "separate the columns by commas", file, 1)]
    problems += [
        Problem(f"two columns {name!r}", "remove one", file, 1)
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise InputError(*problems)


def _label(row: Mapping[str, Any], file: str, line: int) -> tuple[Label | None, list[Problem]]:
    """The label of a row, or everything that is wrong with it."""
    problems = [_unknown(name, file, line) for name in row if name not in KNOWN]

    def take(name: str, read: Callable[[Any], _Value], default: _Value) -> _Value:
        if _is_blank(row.get(name)) and name not in REQUIRED:
            return default
        try:
            return read(row.get(name))
        except ValueError as exc:
            problems.append(Problem(f"{name} {exc.args[0]}", exc.args[1], file, line))
            return default

    label = Label(
        judge=take("judge", _text, ""),
        case_id=take("case_id", _text, ""),
        sample=take("sample", _number, 1),
        passed=take("passed", _verdict, False),
        labeller=take("labeller", _text, ANONYMOUS),
        line=line,
    )
    return (None, problems) if problems else (label, [])


def _unknown(name: str, file: str, line: int) -> Problem:
    return Problem(f"unknown column {name!r}", near(name, KNOWN), file, line)


def _text(value: Any) -> str:
    if _is_blank(value):
        raise ValueError("is missing", "write it")
    if not isinstance(value, str):
        raise ValueError("is not text", "put it in quotes")
    return value.strip()


def _number(value: Any) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 6 or int(text) < 1:
        raise ValueError(f"cannot be {str(value)[:40]!r}", "write 1 for the first answer to a case")
    return int(text)


def _verdict(value: Any) -> bool:
    word = str(value).strip().lower()
    if value is None:
        raise ValueError("is missing", "write true or false")
    if word not in _WORDS:
        raise ValueError(f"cannot be {str(value)[:40]!r}", f"write one of {', '.join(_WORDS)}")
    return _WORDS[word]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _refusal(message: str, remedy: str, file: str, line: int) -> InputError:
    return InputError(Problem(message, remedy, file, line))
