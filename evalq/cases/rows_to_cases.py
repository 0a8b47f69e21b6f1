"""Scrubbed rows become cases: what is expected in the task's form, an id from the content, no case twice."""

import hashlib
import json
from collections.abc import Mapping, Sequence
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
"""The column taken for what is expected when none is named."""

_MOST_SHOWN = 30


@dataclass(frozen=True)
class ColumnOptions:
    """What the user said of the columns: input and stratum names with theirs, and two single ones."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    expected: str | None = None
    id: str | None = None
    stratum: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnMapping(ColumnOptions):
    """The same, decided: every input of the task has its column."""

    @property
    def used(self) -> list[str]:
        """Every column that goes into a case, each once."""
        named = [*self.inputs.values(), self.expected, *self.stratum.values(), self.id]
        return list(dict.fromkeys(column for column in named if column is not None))


def choose_columns(
    task: TaskConfig, rows: Sequence[Row], wishes: ColumnOptions, *, file: str
) -> ColumnMapping:
    """The columns by wish, else by their names; InputError naming those there are and those needed."""
    there, needed = columns_of(rows), needed_inputs(task)
    problems = [
        Problem(f"task {task.name!r} has no input {name!r}", did_you_mean(name, needed), file)
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
    return ColumnMapping(found, expected, wishes.id, wishes.stratum)


def cell(values: Mapping[str, Any], column: str) -> Any:
    """A row's value under a column; `a.b` is also the b inside a. None when there is none."""
    if column in values:
        return values[column]
    head, dot, rest = column.partition(".")
    inner = values.get(head)
    return cell(inner, rest) if dot and isinstance(inner, Mapping) else None


def used_values(row: Row, columns: ColumnMapping) -> dict[str, Any]:
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


def _wished(wishes: ColumnOptions) -> list[str]:
    named = [*wishes.inputs.values(), wishes.expected, wishes.id, *wishes.stratum.values()]
    return [column for column in named if column is not None]


def _is_there(column: str, rows: Sequence[Row]) -> bool:
    return any(cell(row.values, column) is not None for row in rows)


def _like(name: str, there: Sequence[str]) -> str | None:
    """The column of that name, as written or in another case."""
    alike = [column for column in there if column.casefold() == name.casefold()]
    return name if name in there else alike[0] if len(alike) == 1 else None


def _no_column(column: str, there: Sequence[str], file: str) -> Problem:
    return Problem(f"no column {column!r}", did_you_mean(column, there[:_MOST_SHOWN]), file, 1)


def _unmapped(task: TaskConfig, missing: Sequence[str], there: Sequence[str], file: str) -> Problem:
    shown = ", ".join(there[:_MOST_SHOWN]) + (", …" if len(there) > _MOST_SHOWN else "")
    pairs = ",".join(f"{name}=COLUMN" for name in missing)
    message = f"task {task.name!r} needs {', '.join(missing)}; the columns are {shown}"
    return Problem(message, f"say which is which: --map {pairs}", file, 1)


_MAX_ID = 200


@dataclass(frozen=True)
class SkippedRow:
    """A row that became no case, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class ConvertedRows:
    """What became of rows: cases with the lines they come from, duplicates by line, rows left out."""

    cases: tuple[EvalCase, ...]
    lines: tuple[int, ...]
    duplicates: tuple[int, ...]
    left_out: tuple[SkippedRow, ...]

    @property
    def n_drafts(self) -> int:
        """Cases that lack what the grading needs."""
        return sum(case.draft for case in self.cases)


def convert_rows(
    task: TaskConfig,
    rows: Sequence[ScrubbedRow],
    columns: ColumnMapping,
    *,
    existing: Sequence[EvalCase] = (),
    file: str = "",
) -> ConvertedRows:
    """Cases in the order of their rows; those whose content is there already are duplicates.

    A case that lacks what the task's grading needs is a draft: a person is to add it.
    """
    contents = {content_id(case) for case in existing}
    ids = {case.id: 0 for case in existing}
    cases: list[EvalCase] = []
    lines: list[int] = []
    duplicates: list[int] = []
    left_out: list[SkippedRow] = []
    for row in rows:
        made = _case(task, row.values, columns)
        if isinstance(made, str):
            left_out.append(SkippedRow(row.line, made))
        elif (content := content_id(made)) in contents:
            duplicates.append(row.line)
        else:
            contents.add(content)
            case = made if made.id else made.model_copy(update={"id": f"in-{content[:12]}"})
            _refuse_taken_id(case.id, ids, row.line, file)
            ids[case.id] = row.line
            cases.append(case)
            lines.append(row.line)
    return ConvertedRows(tuple(cases), tuple(lines), tuple(duplicates), tuple(left_out))


def content_id(case: EvalCase) -> str:
    """The hash of what a case asks and expects; how its stand-ins are counted makes no difference."""
    content = {"inputs": case.inputs, "expected": case.expected, "expected_type": case.expected_type}
    text = renumber(json.dumps(content, ensure_ascii=False, sort_keys=True), {})
    return hashlib.sha256(text.encode()).hexdigest()


def expected_of(task: TaskConfig, value: Any) -> dict[str, Any] | None:
    """What a column says is expected, in the form the task's grading reads; None for nothing."""
    if isinstance(value, Mapping):
        return dict(value) or None
    entries = value if isinstance(value, list) else _entries(value)
    if not entries:
        return None
    key = _list_key(task)
    if key is None:
        return {"answer": value if isinstance(value, str) else _text(value)}
    return {key: [_text(entry) for entry in entries]}


def _list_key(task: TaskConfig) -> str | None:
    """Under which key the task expects a list; None where it expects one answer."""
    if task.scoring is None:
        return "relevant"
    return None if task.scoring.pass_rule == "exact_match" else "any_of"  # noqa: S105 - a rule, not a password


def _entries(value: Any) -> list[Any]:
    """One value as a list: `a|b`, a JSON list, or itself; nothing for a blank."""
    text = "" if value is None else _text(value).strip()
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except ValueError:
            listed = None
        if isinstance(listed, list):
            return listed
    return [entry.strip() for entry in text.split("|") if entry.strip()]


def _case(task: TaskConfig, values: Mapping[str, Any], columns: ColumnMapping) -> EvalCase | str:
    """The case of a row, or why there is none; without an id where none is given."""
    inputs = {name: values.get(column) for name, column in columns.inputs.items()}
    blank = [name for name, value in inputs.items() if value is None or _text(value).strip() == ""]
    if blank:
        return f"nothing in the column for {', '.join(blank)}"
    case_id = _text(values.get(columns.id, "")).strip() if columns.id else ""
    if columns.id and not 0 < len(case_id) <= _MAX_ID:
        return f"no id of 1 to {_MAX_ID} characters in column {columns.id}"
    expected = expected_of(task, values.get(columns.expected)) if columns.expected else None
    case = EvalCase.model_construct(
        id=case_id,
        inputs=inputs,
        expected=expected,
        stratum={name: _text(values.get(column, "")) for name, column in columns.stratum.items()},
        expected_type="negative" if _is_negative(task, columns, expected) else "positive",
        draft=False,
    )
    return case.model_copy(update={"draft": not _fits(task, case)})


def _is_negative(task: TaskConfig, columns: ColumnMapping, expected: object) -> bool:
    """Where findings are asked for and a column says so, nothing expected means there is nothing to find."""
    asks_for_findings = task.scoring is not None and task.scoring.pass_rule == FINDINGS_RULE
    return asks_for_findings and columns.expected is not None and not expected


def _fits(task: TaskConfig, case: EvalCase) -> bool:
    return not check_fit(task, LoadedEvalSet(EvalSet.model_construct(name="rows", cases=[case])))


def _refuse_taken_id(case_id: str, ids: Mapping[str, int], line: int, file: str) -> None:
    if case_id in ids:
        first = f"first on line {ids[case_id]}" if ids[case_id] else "by a case of the set"
        remedy = "name a column that is different in every row, or leave out --id"
        raise InputError(Problem(f"the id of this row is used already, {first}", remedy, file, line))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
