"""Tables from elsewhere: which column is which is guessed from its name, and said."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError
from evalq.formats.tables import load, recognises


def table(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def lines(folder: Path, *rows: Any) -> Path:
    return table(folder, "".join(json.dumps(row) + "\n" for row in rows), "data.jsonl")


def loaded(path: Path) -> LoadedTask:
    return load(path, path.parent)


def test_columns_are_guessed_and_said(tmp_path: Path) -> None:
    found = loaded(table(tmp_path, "Question,Answer,Category,Note\nWhy?,Because,easy,x\n"))
    (case,) = found.evalset.cases
    assert (case.inputs, case.expected, case.stratum) == (
        {"prompt": "Why?"},
        {"answer": "Because"},
        {"category": "easy"},
    )
    assert [grader.type for grader in found.task.graders] == ["icontains"]
    assert "column 'question' is taken for what is asked, 'answer' for what is expected" in found.notes[0]
    assert "columns 'note' are left out" in found.warnings[0]


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    rows = [
        {"question": "6 x 7?", "answer": "First 6 times 7.\n#### 42"},
        {"question": "1/2?", "answer": 0.5},
    ]
    found = loaded(lines(tmp_path, *rows))
    assert [case.expected for case in found.evalset.cases] == [{"answer": 42}, {"answer": 0.5}]
    assert found.task.graders[0].type == "numeric"


def test_long_answers_are_left_to_a_model(tmp_path: Path) -> None:
    found = loaded(lines(tmp_path, {"query": "Why?", "target": "one two three four five six seven"}))
    assert found.task.graders[0].type == "verdict"


def test_several_right_answers_are_alternatives(tmp_path: Path) -> None:
    found = loaded(lines(tmp_path, {"input": [{"role": "user", "content": "Who?"}], "ideal": ["I", "me"]}))
    assert found.evalset.cases[0].expected == {"answer": "I", "alternatives": ["me"]}


def test_a_chat_ends_with_what_is_expected(tmp_path: Path) -> None:
    chat = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello")]
    found = loaded(lines(tmp_path, {"messages": [{"role": role, "content": text} for role, text in chat]}))
    (case,) = found.evalset.cases
    assert [one.content for one in case.messages] == ["Be brief.", "Hi"]
    assert (case.inputs, case.expected) == ({"prompt": "Hi"}, {"answer": "Hello"})


def test_ids_are_kept_or_made_of_the_line(tmp_path: Path) -> None:
    found = loaded(table(tmp_path, "id,prompt,expected\na,p,x\n,q,y\n"))
    assert [case.id for case in found.evalset.cases] == ["a", "line-3"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("question,answer\nWhy?,\n", r"data\.csv:2: no answer"),
        ("question,answer\n ,x\n", r"data\.csv:2: no question"),
        ("question,answer\nWhy?,x,y\n", r"data\.csv:2: 3 cells under 2 columns"),
        ("question,answer\n", "no rows"),
        ("question,colour\nWhy?,red\n", "no column that asks, or none that answers"),
    ],
)
def test_what_is_missing_is_said_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        loaded(table(tmp_path, text))


def test_a_line_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a line that is not a mapping"):
        loaded(lines(tmp_path, {"question": "a", "answer": "b"}, 5))


@pytest.mark.parametrize(
    ("name", "text", "is_known"),
    [
        ("a.csv", "question,answer\n", True),
        ("a.csv", "id,inputs.question,answer\n", False),
        ("a.csv", "question,colour\n", False),
        ("a.jsonl", '{"inputs": {"question": "x"}, "answer": 1}', False),
        ("a.jsonl", '{"messages": []}', True),
        ("a.txt", "question,answer\n", False),
        ("evalsets/t/a.csv", "question,answer\n", False),
    ],
)
def test_only_what_is_no_evalset_is_guessed(tmp_path: Path, name: str, text: str, is_known: bool) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    assert recognises(path) is is_known
