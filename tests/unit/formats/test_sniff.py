"""A file's format is known by what is in it, and by its name where that says so."""

from pathlib import Path

import pytest

from evalq.formats import recognise
from evalq.formats.sniff import NO_KEYS, sniff

EVAL = "tests:\n  - id: a\n    input: x\n    assert: [a]\n"
PROMPTFOO = "prompts: [a]\ntests:\n  - vars: {x: 1}\n"


@pytest.mark.parametrize(
    ("name", "text", "format_name"),
    [
        ("EVAL.yaml", "", "EVAL.yaml"),
        ("csv.eval.yaml", "tests: []", "EVAL.yaml"),
        ("csv-analyzer.EVAL.yml", "not: [closed", "EVAL.yaml"),
        ("any.yaml", EVAL, "EVAL.yaml"),
        ("any.yaml", "tests: [{id: a, input: x}]\n", "EVAL.yaml"),
        ("any.yaml", "- id: a\n  input: x\n  criteria: c\n- id: b\n", "EVAL.yaml"),
        ("any.yaml", '{"tests": [{"input": "x", "criteria": "c"}]}', "EVAL.yaml"),
        ("any.json", '{"eval_cases": [{"input": "x"}]}', "EVAL.yaml"),
        ("any.jsonl", '{"input": "x", "criteria": "c"}\n', "EVAL.yaml"),
        ("evals.json", '{"evals": []}', "evals.json"),
        ("any.json", '{"skill_name": "s", "evals": []}', "evals.json"),
        ("queries.json", '[{"query": "q", "should_trigger": true}]', "evals.json"),
        ("promptfooconfig.yaml", "", "promptfoo"),
        ("any.yaml", PROMPTFOO, "promptfoo"),
        ("any.yaml", "providers: [a]\ntests:\n  - input: x\n", "promptfoo"),
        ("any.yaml", "tests:\n  - vars: {x: 1}\n    assert: []\n", "promptfoo"),
        ("any.csv", "question,answer\n", "rows"),
    ],
)
def test_a_format_is_known(tmp_path: Path, name: str, text: str, format_name: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    importer = recognise(tmp_path / name)
    assert importer is not None
    assert importer.name == format_name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("EVAL.yaml", "name: dev\ncases:\n  - id: a\n"),
        ("dev.yaml", "cases:\n  - {id: a, inputs: {}}\n"),
        ("dev.json", '[{"id": "a", "inputs": {}}]'),
        ("task.yaml", "name: t\nuser_template: x\n"),
        ("dev.jsonl", '{"id": "a", "inputs": {}}'),
        ("dev.csv", "id,text,expected\n"),
        ("broken.json", "{"),
        ("notes.txt", EVAL),
        ("list.yaml", "- a\n- b\n"),
    ],
)
def test_our_own_files_and_others_are_none(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert recognise(tmp_path / name) is None


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "EVAL.yaml").mkdir()
    assert recognise(tmp_path / "EVAL.yaml") is None
    assert recognise(Path("dev-93")) is None
    assert recognise(Path("x" * 5000)) is None
    assert sniff(tmp_path) == NO_KEYS
    assert sniff(Path("x" * 5000)) == NO_KEYS


def test_a_file_is_looked_at_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(EVAL, "utf-8")
    assert recognise(path) is not None
    path.write_text("cases:\n  - {id: another, inputs: {}}\n", "utf-8")
    assert recognise(path) is None
