"""Drafts a task and its evalset from a table: stable ids, the labels in the prompt, a matcher that fits."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalq.definitions.definition import NAME_REMEDY, is_name, validate
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.scaffold import Scaffold, render_task
from evalq.definitions.task import TaskConfig
from evalq.definitions.writing import case_fields, evalset_yaml
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.build import short_id
from evalq.formats.table_columns import TableColumns
from evalq.formats.table_files import TableFile, TableRecord
from evalq.grading.checks.text import drop_punctuation

MAX_YAML_CHARS = 1_000_000
"""Longer sets are written as JSONL, which is read and written faster."""

_MOST_LABELS = 30
_LONGEST_LABEL = 60
_MOST_SHORT_WORDS = 6
_LISTED_LINES = 5
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_ID_CHARS = 10

Kind = Literal["labels", "numbers", "short texts", "long texts"]

_MATCHERS: dict[Kind, str] = {
    "labels": """\
# An answer passes when it is the expected label; letter case and punctuation make no difference.
graders:
  - {type: equals, case_sensitive: false, ignore_punctuation: true}
""",
    "numbers": """\
# An answer passes when its last number is the expected one.
graders:
  - {type: numeric, extract: last}
""",
    "short texts": """\
# An answer passes when the expected text occurs in it, in capitals or not. To let a model decide instead,
# write {type: verdict, rubric: answer_matches}.
graders:
  - {type: icontains}
""",
    "long texts": """\
# A grader model decides whether an answer says the same as the expected one. Which model: grader_model in
# evalq.yaml, or --grader-model. To search for a text instead, write {type: icontains}.
graders:
  - {type: verdict, rubric: answer_matches}
""",
}
_EXACT_LABELS = """\
# An answer passes when it is the expected label exactly: some labels differ in case or punctuation only.
graders:
  - {type: equals}
"""
_PROMPTS: dict[Kind, str] = {
    "labels": "Answer with exactly one of these labels, and nothing else:",
    "numbers": "Answer with one number, and nothing else.",
    "short texts": "Answer as briefly as you can, with the answer only.",
    "long texts": "Answer the question.",
}


@dataclass(frozen=True)
class TableDraft:
    """What a table becomes: the task, its cases, the files to write, and remarks for the user."""

    task: TaskConfig
    loaded: LoadedEvalSet
    scaffold: Scaffold
    remarks: tuple[str, ...]


def draft_task(name: str, table: TableFile, columns: TableColumns) -> TableDraft:
    """Draft everything; rows without a question or an answer are left out and counted."""
    if not is_name(name):
        raise InputError(Problem(f"{name!r} cannot name a task", NAME_REMEDY))
    rows = _Rows(table, columns)
    answers = [answer for _, answer in rows.kept]
    kind = guess_kind(answers)
    cases, lines = rows.build_cases(is_number=kind == "numbers")
    labels = sorted(set(answers), key=str.casefold) if kind == "labels" else []
    text = render_task(
        name,
        prompt="\n  ".join([_PROMPTS[kind], *(f"- {label}" for label in labels)]),
        template=_write_template(columns.inputs),
        scoring=_EXACT_LABELS if _look_alike(labels) else _MATCHERS[kind],
    )
    task = validate(TaskConfig, load_yaml(text, f"tasks/{name}.yaml"))
    evalset = EvalSet(name="dev", task=name, cases=cases)
    path, written = _write_cases(name, evalset, table.file)
    loaded = LoadedEvalSet(evalset, table.file, lines)
    remarks = (*table.remarks, *rows.remarks, _describe_kind(kind, labels, len(cases)))
    return TableDraft(task, loaded, Scaffold({f"tasks/{name}.yaml": text, path: written}), remarks)


def guess_kind(answers: Sequence[str]) -> Kind:
    """Few short texts that come again are labels; else numbers, short texts, long texts."""
    distinct = set(answers)
    is_short = all(len(answer) <= _LONGEST_LABEL and answer.isprintable() for answer in distinct)
    if is_short and len(distinct) <= min(_MOST_LABELS, max(2, len(answers) // 2)):
        return "labels"
    if all(_NUMBER.fullmatch(answer) for answer in distinct):
        return "numbers"
    if all(len(answer.split()) <= _MOST_SHORT_WORDS for answer in distinct):
        return "short texts"
    return "long texts"


def name_input(column: str) -> str:
    """The name of a column as a template can write it: `Ticket text` becomes `Ticket_text`."""
    name = re.sub(r"\W+", "_", column).strip("_")
    return name if name.isidentifier() else f"input_{name}".rstrip("_")


class _Rows:
    """The rows that can be asked and marked, and what there is to say about the others."""

    def __init__(self, table: TableFile, columns: TableColumns) -> None:
        self._table = table
        self._columns = columns
        self.kept: list[tuple[TableRecord, str]] = []
        self._unusable: list[int] = []
        self._repeated: list[int] = []
        seen: set[tuple[str, ...]] = set()
        for record in table.records:
            answer = record.cells.get(columns.expected or "", "").strip()
            inputs = [record.cells.get(column, "") for column in columns.inputs]
            if not answer or not any(text.strip() for text in inputs):
                self._unusable.append(record.line)
                continue
            own_id = record.cells.get(columns.id, "") if columns.id else ""
            if (key := (own_id, answer, *inputs)) in seen:
                self._repeated.append(record.line)
                continue
            seen.add(key)
            self.kept.append((record, answer))
        if not self.kept:
            message = f"no row has both {' or '.join(columns.inputs)} and {columns.expected}"
            raise InputError(Problem(message, "name other columns: --input, --expected", table.file, 1))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is left out, and what is odd."""
        columns = self._columns
        used = {*columns.inputs, columns.expected, columns.id, columns.stratum}
        unused = [column for column in self._table.columns if column not in used]
        found = [
            _count_rows(self._unusable, f"without {' and '.join(columns.inputs)} or {columns.expected}"),
            _count_rows(self._repeated, "repeating another"),
            _count_rows(self._find_contradictions(), "asking what another row asks, but expecting otherwise"),
            f"columns not used: {', '.join(unused)}" if unused else "",
        ]
        return tuple(remark for remark in found if remark)

    def build_cases(self, *, is_number: bool) -> tuple[list[EvalCase], dict[str, int]]:
        """The cases, and the line of each."""
        cases: list[EvalCase] = []
        lines: dict[str, int] = {}
        for record, answer in self.kept:
            case = self._build_case(record, _to_number(answer) if is_number else answer)
            if case.id in lines:
                message = f"the id {case.id!r} is used already, first on line {lines[case.id]}"
                remedy = "name a column that is different in every row with --id, or --id none to make ids"
                raise InputError(Problem(message, remedy, self._table.file, record.line))
            lines[case.id] = record.line
            cases.append(case)
        return cases, lines

    def _build_case(self, record: TableRecord, answer: Any) -> EvalCase:
        columns = self._columns
        inputs = {name_input(column): record.cells.get(column, "") for column in columns.inputs}
        own_id = record.cells.get(columns.id, "").strip() if columns.id else ""
        stratum = record.cells.get(columns.stratum, "").strip() if columns.stratum else ""
        return EvalCase(
            id=short_id(own_id) if own_id else _make_id(inputs, answer),
            inputs=inputs,
            expected={"answer": answer},
            stratum={name_input(columns.stratum): stratum} if columns.stratum and stratum else {},
        )

    def _find_contradictions(self) -> list[int]:
        first: dict[tuple[str, ...], str] = {}
        found = []
        for record, answer in self.kept:
            key = tuple(record.cells.get(column, "") for column in self._columns.inputs)
            if first.setdefault(key, answer) != answer:
                found.append(record.line)
        return found


def _make_id(inputs: dict[str, str], answer: Any) -> str:
    """The same row has the same id wherever it is in the file."""
    content = json.dumps([inputs, str(answer)], ensure_ascii=False, sort_keys=True)
    return f"c-{hashlib.sha256(content.encode()).hexdigest()[:_ID_CHARS]}"


def _to_number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _look_alike(labels: Sequence[str]) -> bool:
    """Whether two labels differ in nothing but case or punctuation, or one has nothing else."""
    folded = Counter(drop_punctuation(label.casefold()) for label in labels)
    return "" in folded or any(number > 1 for number in folded.values())


def _write_template(inputs: Sequence[str]) -> str:
    names = [name_input(column) for column in inputs]
    if len(names) == 1:
        return f"{{{names[0]}}}"
    return "\n  ".join(f"{name}: {{{name}}}" for name in names)


def _write_cases(name: str, evalset: EvalSet, file: str) -> tuple[str, str]:
    lines = [json.dumps(case_fields(case), ensure_ascii=False) for case in evalset.cases]
    if sum(map(len, lines)) <= MAX_YAML_CHARS:
        return f"evalsets/{name}/dev.yaml", evalset_yaml(evalset, file, named=False)
    return f"evalsets/{name}/dev.jsonl", "".join(f"{line}\n" for line in lines)


def _count_rows(lines: Sequence[int], what: str) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:_LISTED_LINES]))
    more = f" and {len(lines) - _LISTED_LINES} more" if len(lines) > _LISTED_LINES else ""
    noun = "row" if len(lines) == 1 else "rows"
    return f"{len(lines)} {noun} {what}: line {shown}{more}"


def _describe_kind(kind: Kind, labels: Sequence[str], n_cases: int) -> str:
    described = {
        "labels": f"{len(labels)} labels, listed in the prompt and compared without case and punctuation",
        "numbers": "numbers, compared with the last number of an answer",
        "short texts": "short texts, searched for in the answer",
        "long texts": "long texts, compared by a grader model",
    }
    alike = " (exactly, since some differ in nothing else)" if _look_alike(labels) else ""
    return f"{n_cases} cases; what is expected are {described[kind]}{alike}"
