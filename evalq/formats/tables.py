"""Loads a CSV or JSONL table of questions and answers, guesses which column is which, and says so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet, csv_rows, display_path, read_text
from evalq.definitions.graders.grader import answers_in
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.located import load_json
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.formats.build import build_grader, set_name, short_id, task_name, with_unique_ids
from evalq.formats.document import as_list, text_of
from evalq.formats.problems import ImportWarnings, build_each
from evalq.formats.sniff import sniff

QUESTIONS = (
    *("prompt", "question", "query", "input", "user_query", "user_input", "instruction", "problem"),
    "messages",
)
ANSWERS = (
    *("answer", "expected", "ideal", "target", "expected_output", "expected_answer", "correct_answer"),
    *("reference", "ground_truth", "gold", "solution", "completion", "response", "output", "label"),
)
STRATA = ("category", "stratum", "subject", "difficulty", "language", "topic")

MAX_TOKENS = 2048
_MAX_SHORT_WORDS = 6
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_SOLUTION = re.compile(r".*####\s*(\S.*)", re.DOTALL)
_GUESSES = {
    "numeric": "an answer passes when its last number is the expected one",
    "icontains": "an answer passes when the expected text occurs in it",
    "verdict": "a grader model says whether an answer says the same as the expected one",
}


@dataclass(frozen=True)
class _TableRow:
    """One row: its cells by column name in lower case, and its line."""

    cells: Mapping[str, Any]
    line: int


@dataclass(frozen=True)
class _Table:
    """All rows, and which columns hold the question, the answer and the stratum."""

    file: str
    rows: Sequence[_TableRow]
    question: str
    answer: str
    stratum: str | None

    def error(self, message: str, remedy: str, line: int) -> InputError:
        """Return an InputError for a line of the table."""
        return InputError(Problem(message, remedy, self.file, line))


def recognises(path: Path) -> bool:
    """Recognise a CSV or JSONL with a column of questions and one of answers, outside of evalsets/."""
    if path.suffix.lower() not in (".csv", ".jsonl") or path.resolve().parent.parent.name == "evalsets":
        return False
    names = {key.lower() for key in sniff(path).keys}
    if "inputs" in names or any(name.startswith("inputs.") for name in names):
        return False  # an evalset of ours
    has_answer = "messages" in names or not names.isdisjoint(ANSWERS)
    return has_answer and not names.isdisjoint(QUESTIONS)


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """Load the rows for a bake-off; raise InputError with the problems of all of them."""
    del root, trigger_mode  # a table names no other file and no skill
    table = _read_table(path)
    warnings = ImportWarnings()
    groups = build_each(
        lambda row: ([_build_case(row, table)], Problem("", "", table.file, row.line)), table.rows
    )
    cases, lines = with_unique_ids(groups, warnings)
    answers: list[str] = []
    for case in cases:
        answers += answers_in(case.expected or {})
    grader = _guess_grader(answers)
    if grader["type"] == "numeric":
        cases = [_with_numbers(case) for case in cases]
    used = {table.question, table.answer, table.stratum, "id"}
    unused = [repr(name) for name in table.rows[0].cells if name not in used]
    if unused:
        warnings.add(Problem(f"columns {', '.join(unused)} are left out", "", table.file))
    guess = Problem(_describe_guess(table, grader), "evalq import writes it as a task to change", table.file)
    task = TaskConfig(
        name=task_name(path),
        system_prompt="",
        user_template="{prompt}",
        graders=[build_grader(grader)],
        max_tokens=MAX_TOKENS,
    )
    return LoadedTask(
        task,
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), table.file, lines),
        warnings=warnings.texts,
        notes=(str(guess),),
    )


def _read_table(path: Path) -> _Table:
    file, text = display_path(path), read_text(path)
    rows = list(_read_csv(text, file) if path.suffix.lower() == ".csv" else _read_jsonl(text, file))
    if not rows:
        raise InputError(Problem("no rows", "write one question a row", file))
    columns = rows[0].cells
    question = _first_column(QUESTIONS, columns)
    answer = _first_column((*ANSWERS, "messages"), columns)
    if question is None or answer is None:
        remedy = f"name a column {QUESTIONS[1]} and one {ANSWERS[0]}"
        raise InputError(Problem("no column that asks, or none that answers", remedy, file, 1))
    return _Table(file, rows, question, answer, _first_column(STRATA, columns))


def _first_column(names: Sequence[str], columns: Mapping[str, Any]) -> str | None:
    for name in names:
        if name in columns:
            return name
    return None


def _read_csv(text: str, file: str) -> Iterator[_TableRow]:
    rows = csv_rows(text, file)
    _, header = next(rows, (1, []))
    names = [name.strip().lower() for name in header]
    for line, cells in rows:
        if len(cells) != len(names):
            message = f"{len(cells)} cells under {len(names)} columns"
            remedy = "put text that holds commas or quotes in double quotes"
            raise InputError(Problem(message, remedy, file, line))
        yield _TableRow(dict(zip(names, cells, strict=True)), line)


def _read_jsonl(text: str, file: str) -> Iterator[_TableRow]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            value = load_json(line, file, first_line=number).value
            if not isinstance(value, dict):
                raise InputError(
                    Problem("a line that is not a mapping", 'write {"question": …}', file, number)
                )
            yield _TableRow({key.strip().lower(): cell for key, cell in value.items()}, number)


def _build_case(row: _TableRow, table: _Table) -> EvalCase:
    messages = _read_messages(row.cells.get(table.question))
    answers = _read_answers(row, table, messages)
    if not answers or not all(answers):
        raise table.error(f"no {table.answer}", "fill it in, or remove the row", row.line)
    if table.answer == "messages":
        messages = messages[:-1]
    prompt = messages[-1]["content"] if messages else text_of(row.cells.get(table.question) or "")
    if not prompt.strip() or (messages and messages[-1]["role"] != "user"):
        raise table.error(f"no {table.question}", "fill it in, or remove the row", row.line)
    expected: dict[str, Any] = {"answer": answers[0]}
    if len(answers) > 1:
        expected["alternatives"] = answers[1:]
    fields: dict[str, Any] = {"id": _build_case_id(row), "inputs": {"prompt": prompt}, "expected": expected}
    if len(messages) > 1:
        fields["messages"] = messages
    if table.stratum and row.cells.get(table.stratum):
        fields["stratum"] = {table.stratum: text_of(row.cells[table.stratum])}
    return EvalCase.model_validate(fields)


def _build_case_id(row: _TableRow) -> str:
    written = row.cells.get("id")
    text = "" if written is None else text_of(written).strip()
    return short_id(text) if text else f"line-{row.line}"


def _read_messages(value: Any) -> list[dict[str, str]]:
    """Read a question that is a chat; return nothing for a text."""
    messages: list[dict[str, str]] = []
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and one.get("role") in ("system", "user", "assistant"):
            messages.append({"role": str(one["role"]), "content": text_of(one.get("content") or "")})
    return messages


def _read_answers(row: _TableRow, table: _Table, messages: Sequence[Mapping[str, str]]) -> list[str]:
    """Read the expected answer and its alternatives; of a worked solution, what follows the last ####."""
    value: Any = row.cells.get(table.answer)
    if table.answer == "messages":
        value = messages[-1]["content"] if messages and messages[-1]["role"] == "assistant" else None
    answers: list[str] = []
    for one in as_list(value):
        if one is not None:
            text = text_of(one).strip()
            solution = _SOLUTION.fullmatch(text)
            answers.append(solution[1].strip() if solution else text)
    return answers


def _guess_grader(answers: Sequence[str]) -> dict[str, Any]:
    """Compare numbers if all answers are numbers, search short texts, and let a model judge the rest."""
    if all(_NUMBER.fullmatch(answer) for answer in answers):
        return {"type": "numeric", "extract": "last"}
    if all(len(answer.split()) <= _MAX_SHORT_WORDS for answer in answers):
        return {"type": "icontains"}
    return {"type": "verdict", "rubric": "answer_matches"}


def _with_numbers(case: EvalCase) -> EvalCase:
    expected: dict[str, Any] = {}
    for key, value in (case.expected or {}).items():
        expected[key] = [_to_number(one) for one in value] if isinstance(value, list) else _to_number(value)
    return case.model_copy(update={"expected": expected})


def _to_number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _describe_guess(table: _Table, grader: Mapping[str, Any]) -> str:
    taken = f"column {table.question!r} is taken for what is asked, {table.answer!r} for what is expected"
    strata = f", {table.stratum!r} for the stratum" if table.stratum else ""
    return f"guessed: {taken}{strata}, and {_GUESSES[grader['type']]}"
