"""Tables of questions and answers, CSV or JSONL: which column is which is guessed, and said."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from evalq.formats.agentv.eval_file import text_of
from evalq.formats.build import made_grader, set_name, task_name, with_own_ids
from evalq.formats.problems import Losses, each_made
from evalq.formats.skills.trigger_cases import short_id
from evalq.formats.sniff import glance

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
_SHORT_WORDS = 6
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_LAST_LINE = re.compile(r".*####\s*(\S.*)", re.DOTALL)


@dataclass(frozen=True)
class _Row:
    """One row: its columns by their names in lower case, and its line."""

    cells: Mapping[str, Any]
    line: int


@dataclass(frozen=True)
class _Table:
    """All rows, and which column was taken for what."""

    file: str
    rows: Sequence[_Row]
    asked: str
    answered: str
    stratum: str | None


def recognises(path: Path) -> bool:
    """True for a CSV or JSONL with a column that asks and one that answers, outside of evalsets/."""
    if path.suffix.lower() not in (".csv", ".jsonl") or path.resolve().parent.parent.name == "evalsets":
        return False
    seen = glance(path)
    names = {key.lower() for key in seen.keys}
    is_ours = "inputs" in names or any(name.startswith("inputs.") for name in names)
    return not is_ours and not names.isdisjoint(QUESTIONS) and _has_answer(names)


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """The rows for a bake-off; InputError with the problems of all of them."""
    del root, trigger_mode  # nothing else is looked at, and no skill is named
    table = _table(path)
    losses = Losses()
    made = each_made(lambda row: (_case(row, table), Problem("", "", table.file, row.line)), table.rows)
    cases, lines = with_own_ids(made, losses)
    grader = _grader([text for case in cases for text in answers_in(case.expected or {})])
    for message in _unused(table):
        losses.note(Problem(message, "", table.file))
    if grader["type"] == "numeric":
        cases = [_with_numbers(case) for case in cases]
    return LoadedTask(
        _task(path, grader),
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), table.file, lines),
        warnings=losses.texts,
        notes=(
            str(Problem(_guess(table, grader), "evalq import writes it as a task to change", table.file)),
        ),
    )


def _has_answer(names: Iterable[str]) -> bool:
    found = set(names)
    return "messages" in found or not found.isdisjoint(ANSWERS)


def _table(path: Path) -> _Table:
    file, text = display_path(path), read_text(path)
    rows = list(_csv(text, file) if path.suffix.lower() == ".csv" else _jsonl(text, file))
    if not rows:
        raise InputError(Problem("no rows", "write one question a row", file))
    names = rows[0].cells
    asked = next((name for name in QUESTIONS if name in names), "")
    answered = next((name for name in ANSWERS if name in names), "messages" if "messages" in names else "")
    if not asked or not answered:
        remedy = f"name a column {QUESTIONS[1]} and one {ANSWERS[0]}"
        raise InputError(Problem("no column that asks, or none that answers", remedy, file, 1))
    return _Table(file, rows, asked, answered, next((name for name in STRATA if name in names), None))


def _csv(text: str, file: str) -> Iterator[_Row]:
    rows = csv_rows(text, file)
    _, header = next(rows, (1, []))
    names = [name.strip().lower() for name in header]
    for line, cells in rows:
        if len(cells) != len(names):
            message = f"{len(cells)} cells under {len(names)} columns"
            remedy = "put text that holds commas or quotes in double quotes"
            raise InputError(Problem(message, remedy, file, line))
        yield _Row(dict(zip(names, cells, strict=True)), line)


def _jsonl(text: str, file: str) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            value = load_json(line, file, first_line=number).value
            if not isinstance(value, dict):
                raise InputError(Problem("a line that is no mapping", 'write {"question": …}', file, number))
            yield _Row({key.strip().lower(): cell for key, cell in value.items()}, number)


def _case(row: _Row, table: _Table) -> EvalCase:
    messages = _messages(row.cells.get(table.asked))
    texts = _answers(row, table, messages)
    if not texts or not all(texts):
        raise InputError(
            Problem(f"no {table.answered}", "fill it in, or remove the row", table.file, row.line)
        )
    said = messages[:-1] if table.answered == "messages" else messages
    prompt = said[-1]["content"] if said else text_of(row.cells.get(table.asked) or "")
    if not prompt.strip() or (said and said[-1]["role"] != "user"):
        raise InputError(Problem(f"no {table.asked}", "fill it in, or remove the row", table.file, row.line))
    first, *others = texts
    fields: dict[str, Any] = {
        "id": _case_id(row),
        "inputs": {"prompt": prompt},
        "expected": {"answer": first, "alternatives": others} if others else {"answer": first},
    }
    if len(said) > 1:
        fields["messages"] = said
    if table.stratum and row.cells.get(table.stratum):
        fields["stratum"] = {table.stratum: text_of(row.cells[table.stratum])}
    return EvalCase.model_validate(fields)


def _case_id(row: _Row) -> str:
    written = row.cells.get("id")
    text = "" if written is None else text_of(written).strip()
    return short_id(text) if text else f"line-{row.line}"


def _messages(value: Any) -> list[dict[str, str]]:
    """A chat, where the question is one; nothing where it is a text."""
    listed = value if isinstance(value, list) else []
    return [
        {"role": str(one.get("role")), "content": text_of(one.get("content") or "")}
        for one in listed
        if isinstance(one, dict) and one.get("role") in ("system", "user", "assistant")
    ]


def _answers(row: _Row, table: _Table, messages: Sequence[Mapping[str, str]]) -> list[str]:
    """What is expected and its alternatives; of sums worked out, what stands behind the last ####."""
    value: Any = row.cells.get(table.answered)
    if table.answered == "messages":
        value = messages[-1]["content"] if messages and messages[-1]["role"] == "assistant" else None
    listed = value if isinstance(value, list) else [value]
    texts = [text_of(one).strip() for one in listed if one is not None]
    return [found[1].strip() if (found := _LAST_LINE.fullmatch(text)) else text for text in texts]


def _grader(answers: Sequence[str]) -> dict[str, Any]:
    """By the number in the answer, by the text in it, or by a model: what the expected answers are like."""
    if all(_NUMBER.fullmatch(answer) for answer in answers):
        return {"type": "numeric", "extract": "last"}
    if all(len(answer.split()) <= _SHORT_WORDS for answer in answers):
        return {"type": "icontains"}
    return {"type": "verdict", "rubric": "answer_matches"}


_SAID = {
    "numeric": "an answer passes when its last number is the expected one",
    "icontains": "an answer passes when the expected text occurs in it",
    "verdict": "a grader model says whether an answer says the same as the expected one",
}


def _guess(table: _Table, grader: Mapping[str, Any]) -> str:
    taken = f"column {table.asked!r} is taken for what is asked, {table.answered!r} for what is expected"
    strata = f", {table.stratum!r} for the stratum" if table.stratum else ""
    return f"guessed: {taken}{strata}, and {_SAID[grader['type']]}"


def _unused(table: _Table) -> Iterator[str]:
    used = {table.asked, table.answered, table.stratum, "id"}
    unused = [name for name in table.rows[0].cells if name not in used]
    if unused:
        yield f"columns {', '.join(map(repr, unused))} are left out"


def _with_numbers(case: EvalCase) -> EvalCase:
    expected = case.expected or {}
    numbers = {
        key: [_number(one) for one in value] if isinstance(value, list) else _number(value)
        for key, value in expected.items()
    }
    return case.model_copy(update={"expected": numbers})


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _task(path: Path, grader: Mapping[str, Any]) -> TaskConfig:
    return TaskConfig(
        name=task_name(path),
        system_prompt="",
        user_template="{prompt}",
        graders=[made_grader(grader)],
        max_tokens=MAX_TOKENS,
    )
