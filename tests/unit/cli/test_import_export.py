"""`evalq import` and `evalq check` on files in other formats."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalq.cli.main import evalq
from evalq.definitions.files import load_evalset, load_task
from evalq.errors import InputError

EXAMPLES = Path(__file__).resolve().parents[3] / "docs/examples"
EVAL = """\
tests:
  - id: a
    input: What is 2+2?
    assertions:
      - {type: equals, value: "4"}
      - type: code-judge
        command: [check]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evalq.yaml").write_text("", "utf-8")
    (tmp_path / "EVAL.yaml").write_text(EVAL, "utf-8")
    return tmp_path


def run(*words: Any) -> Result:
    return CliRunner().invoke(evalq, [str(word) for word in words])


def test_a_file_is_written_as_a_task_and_a_set(project: Path) -> None:
    result = run("import", "EVAL.yaml", "--task", "sums", "--eval-set", "first")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "EVAL.yaml: 1 case for task sums",
        "      1  equals",
        "wrote tasks/sums.yaml",
        "wrote evalsets/sums/first.yaml",
    ]
    assert load_task(project / "tasks/sums.yaml").name == "sums"
    assert load_evalset(project / "evalsets/sums/first.yaml").evalset.cases[0].id == "a"


def test_what_is_not_carried_over_is_listed_with_its_line(project: Path) -> None:
    result = run("import", "EVAL.yaml", "--task", "sums")
    assert "not carried over: EVAL.yaml:6: code-judge: runs a program of yours" in result.stderr
    assert "next  evalq bake-off --task sums --eval-set EVAL --judges a,b" in result.stderr


def test_a_dry_run_writes_nothing(project: Path) -> None:
    result = run("import", "EVAL.yaml", "--task", "sums", "--dry-run")
    assert "would write tasks/sums.yaml" in result.stdout
    assert not (project / "tasks").exists()


def test_the_report_is_json(project: Path) -> None:
    document = json.loads(run("import", "EVAL.yaml", "--task", "sums", "--json").stdout)
    assert (document["schema"], document["format"], document["cases"]) == ("evalq.import/1", "EVAL.yaml", 1)
    assert document["graders"] == {"equals": 1}
    assert document["written"] == ["tasks/sums.yaml", "evalsets/sums/EVAL.yaml"]
    assert len(document["not_carried_over"]) == 1


def test_a_second_time_is_refused_unless_forced(project: Path) -> None:
    run("import", "EVAL.yaml", "--task", "sums")
    again = run("import", "EVAL.yaml", "--task", "sums")
    assert isinstance(again.exception, InputError)
    assert "replace it with --force" in str(again.exception)
    assert run("import", "EVAL.yaml", "--task", "sums", "--force").exit_code == 0


def test_what_was_guessed_is_a_note(project: Path) -> None:
    (project / "data.csv").write_text("question,answer\nWhy?,because\n", "utf-8")
    result = run("import", "data.csv")
    assert "note: data.csv: guessed: column 'question'" in result.stderr
    assert "wrote tasks/data.yaml" in result.stdout


def test_a_prompt_of_eva_has_judges_and_a_deadline(project: Path) -> None:
    shutil.copytree(EXAMPLES / "eva", project / "eva")
    result = run("import", "eva/prompts/tidy-function", "--task", "tidy", "--dry-run")
    assert "not carried over: an answer may take 60 s; set deadline_s:" in result.stderr
    assert "--judges claude-opus-4-7" in result.stderr


def test_a_set_that_lacks_something_is_not_written(project: Path) -> None:
    (project / "suite.yaml").write_text(
        "eval_suite: {name: s, evals: [{id: a, input: {prompt: x}, grader: {type: exact_match}}]}\n", "utf-8"
    )
    assert isinstance(run("import", "suite.yaml", "--task", "t").exception, InputError)
    assert not (project / "tasks").exists()


@pytest.mark.parametrize(
    ("name", "reason"), [("notes.txt", "in no format"), ("gone.yaml", "no such file"), (".", "in no format")]
)
def test_what_cannot_be_imported_is_refused(project: Path, name: str, reason: str) -> None:
    (project / "notes.txt").write_text("hello", "utf-8")
    assert reason in str(run("import", name, "--task", "t").exception)


def test_a_file_in_another_format_is_checked(project: Path) -> None:
    result = run("check", "EVAL.yaml")
    assert (result.exit_code, result.stdout) == (0, "0 tasks, 1 evalset, 1 case: all fine\n")
    assert "warning: EVAL.yaml:6: code-judge" in result.stderr


def test_what_is_wrong_in_it_is_said(project: Path) -> None:
    (project / "EVAL.yaml").write_text("tests:\n  - {id: a, input: x}\n", "utf-8")
    result = run("check", "EVAL.yaml")
    assert result.exit_code == 2
    assert "EVAL.yaml:2: nothing marks the answers to test 'a'" in result.stderr
