"""Converts scrubbed rows to cases: columns to inputs, expected values in the task's form, no case twice."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalq.cases.scrub.scrub import ScrubbedRow, renumber
from evalq.definitions.definition import did_you_mean
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet, Row, columns_of
from evalq.definitions.fit import check_fit, needed_inputs
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.errors import InputError, Problem

EXPECTED = "expected"
"""The column used for the expected value when none is named."""

_MAX_ID_CHARS = 200
_MOST_SHOWN = 30


@dataclass(frozen=True)
class ColumnOptions:
    """The columns the user named: by input, by stratum, for the expected value and for the id."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    expected: str | None = None
    id: str | None = None
    stratum: Mapping[str, str] = field(default_factory=dict)

    @property
    def used(self) -> list[str]:
        """Every column named, each once."""
        named = [*self.inputs.values(), self.expected, *self.stratum.values(), self.id]
        return list(dict.fromkeys(column for column in named if column is not None))


@dataclass(frozen=True)
class ColumnMapping(ColumnOptions):
    """The columns to use: every input of the task has one."""


@dataclass(frozen=True)
class SkippedRow:
    """A row that became no case, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class ConvertedRows:
    """The cases with the lines they come from, duplicates by line, and rows left out."""

    cases: tuple[EvalCase, ...]
    lines: tuple[int, ...]
    duplicates: tuple[int, ...]
    left_out: tuple[SkippedRow, ...]

    @property
    def n_drafts(self) -> int:
        """Cases that lack what the grading needs."""
        return sum(case.draft for case in self.cases)


def read_pairs(text: str, option: str) -> dict[str, str]:
    """Read `name=column,name=column`; a bare name is the column of that name."""
    found: dict[str, str] = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, sign, column = part.partition("=")
        found[name.strip()] = (column if sign else name).strip()
    if not all(found) or not all(found.values()):
        raise InputError(Problem(f"{option} {text!r} is not of the form name=column,name=column"))
    return found


def choose_columns(
    task: TaskConfig, rows: Sequence[Row], options: ColumnOptions, *, file: str
) -> ColumnMapping:
    """Choose the columns the user named, else those with an input's name; InputError if one is missing."""
    present, needed = columns_of(rows), needed_inputs(task)
    inputs: dict[str, str] = {}
    missing: list[str] = []
    for name in needed:
        found = options.inputs.get(name) or _find_column(name, present)
        if found is None:
            missing.append(name)
        else:
            inputs[name] = found
    problems = list(_option_problems(task, rows, options, file))
    if missing:
        problems.append(_unmapped_problem(task, missing, present, file))
    if problems:
        raise InputError(*problems)
    expected = options.expected
    if expected is None and EXPECTED in present and EXPECTED not in needed:
        expected = EXPECTED
    return ColumnMapping(inputs, expected, options.id, options.stratum)


def used_values(row: Row, columns: ColumnMapping) -> dict[str, Any]:
    """The values of a row that go into its case, by column; the others are never read."""
    values = {}
    for column in columns.used:
        value = read_cell(row.values, column)
        if value is not None:
            values[column] = value
    return values


def read_cell(values: Mapping[str, Any], column: str) -> Any:
    """A row's value under a column; `a.b` is also the b inside a. None when there is none."""
    if column in values:
        return values[column]
    head, dot, rest = column.partition(".")
    inner = values.get(head)
    if dot and isinstance(inner, Mapping):
        return read_cell(inner, rest)
    return None


def convert_rows(
    task: TaskConfig,
    rows: Sequence[ScrubbedRow],
    columns: ColumnMapping,
    *,
    existing: Sequence[EvalCase] = (),
    file: str = "",
) -> ConvertedRows:
    """Convert rows to cases, in order; rows whose content exists already are duplicates.

    A case that lacks what the task's grading needs is a draft, which a person must complete.
    """
    contents = {content_id(case) for case in existing}
    ids = {case.id: 0 for case in existing}
    cases: list[EvalCase] = []
    lines: list[int] = []
    duplicates: list[int] = []
    left_out: list[SkippedRow] = []
    for row in rows:
        case = _build_case(task, row.values, columns)
        if isinstance(case, str):
            left_out.append(SkippedRow(row.line, case))
            continue
        content = content_id(case)
        if content in contents:
            duplicates.append(row.line)
            continue
        if not case.id:
            case = case.model_copy(update={"id": f"in-{content[:12]}"})
        _refuse_taken_id(case.id, ids, row.line, file)
        contents.add(content)
        ids[case.id] = row.line
        cases.append(case)
        lines.append(row.line)
    return ConvertedRows(tuple(cases), tuple(lines), tuple(duplicates), tuple(left_out))


def content_id(case: EvalCase) -> str:
    """The hash of a case's inputs and expected values; the numbers of stand-ins do not count."""
    content = {"inputs": case.inputs, "expected": case.expected, "expected_type": case.expected_type}
    text = renumber(json.dumps(content, ensure_ascii=False, sort_keys=True), {})
    return hashlib.sha256(text.encode()).hexdigest()


def expected_of(task: TaskConfig, value: Any) -> dict[str, Any] | None:
    """A column's value as the `expected` that the task's grading reads; None for an empty one."""
    if isinstance(value, Mapping):
        return dict(value) or None
    entries = value if isinstance(value, list) else _split_entries(value)
    if not entries:
        return None
    if task.scoring is None:
        return {"relevant": [_to_text(entry) for entry in entries]}
    if task.scoring.pass_rule == "exact_match":  # noqa: S105 - a rule, not a password
        return {"answer": _to_text(value)}
    return {"any_of": [_to_text(entry) for entry in entries]}


def _option_problems(
    task: TaskConfig, rows: Sequence[Row], options: ColumnOptions, file: str
) -> Iterator[Problem]:
    """Inputs the user named that the task does not have, and columns that no row has."""
    needed, present = needed_inputs(task), columns_of(rows)
    for name in options.inputs:
        if name not in needed:
            message = f"task {task.name!r} has no input {name!r}"
            yield Problem(message, did_you_mean(name, needed), file)
    for column in options.used:
        if all(read_cell(row.values, column) is None for row in rows):
            hint = did_you_mean(column, present[:_MOST_SHOWN])
            yield Problem(f"no column {column!r}", hint, file, 1)


def _find_column(name: str, present: Sequence[str]) -> str | None:
    """The column of that name, as written or in another letter case."""
    if name in present:
        return name
    alike = [column for column in present if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _unmapped_problem(task: TaskConfig, missing: Sequence[str], present: Sequence[str], file: str) -> Problem:
    columns = ", ".join(present[:_MOST_SHOWN])
    if len(present) > _MOST_SHOWN:
        columns += ", …"
    pairs = ",".join(f"{name}=COLUMN" for name in missing)
    message = f"task {task.name!r} needs {', '.join(missing)}; the columns are {columns}"
    return Problem(message, f"say which is which: --map {pairs}", file, 1)


def _split_entries(value: Any) -> list[Any]:
    """One value as a list: `a|b`, a JSON list, or itself; empty for a blank."""
    text = "" if value is None else _to_text(value).strip()
    if text.startswith("["):
        try:
            entries = json.loads(text)
        except ValueError:
            entries = None
        if isinstance(entries, list):
            return entries
    return [entry.strip() for entry in text.split("|") if entry.strip()]


def _build_case(task: TaskConfig, values: Mapping[str, Any], columns: ColumnMapping) -> EvalCase | str:
    """The case of a row, or why there is none; its id is "" where no column has it."""
    inputs = {name: values.get(column) for name, column in columns.inputs.items()}
    blank = [name for name, value in inputs.items() if value is None or _to_text(value).strip() == ""]
    if blank:
        return f"nothing in the column for {', '.join(blank)}"
    case_id = ""
    if columns.id:
        case_id = _to_text(values.get(columns.id, "")).strip()
        if not 0 < len(case_id) <= _MAX_ID_CHARS:
            return f"no id of 1 to {_MAX_ID_CHARS} characters in column {columns.id}"
    expected = expected_of(task, values.get(columns.expected)) if columns.expected else None
    case = EvalCase.model_construct(
        id=case_id,
        inputs=inputs,
        expected=expected,
        stratum={name: _to_text(values.get(column, "")) for name, column in columns.stratum.items()},
        expected_type="negative" if _is_negative(task, columns, expected) else "positive",
        draft=False,
    )
    misfits = check_fit(task, LoadedEvalSet(EvalSet.model_construct(name="rows", cases=[case])))
    return case.model_copy(update={"draft": bool(misfits)})


def _is_negative(task: TaskConfig, columns: ColumnMapping, expected: object) -> bool:
    """Where a task asks for findings, an empty expected column means that there is nothing to find."""
    asks_for_findings = task.scoring is not None and task.scoring.pass_rule == FINDINGS_RULE
    return asks_for_findings and columns.expected is not None and not expected


def _refuse_taken_id(case_id: str, ids: Mapping[str, int], line: int, file: str) -> None:
    if case_id not in ids:
        return
    first = f"first on line {ids[case_id]}" if ids[case_id] else "by a case of the set"
    remedy = "name a column that is different in every row, or leave out --id"
    raise InputError(Problem(f"the id of this row is used already, {first}", remedy, file, line))


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
