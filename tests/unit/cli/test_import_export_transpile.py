import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalq.cli.import_export import transpile
from evalq.errors import InputError

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "eval-yaml" / "EVAL.yaml"

ONE_SKILL = """\
tests:
  - id: ask
    input: Sum the column
    assert:
      - {type: trigger-judge, skill: sums}
  - id: chat
    input: Good morning
    assert:
      - {type: trigger-judge, skill: sums, should_trigger: false}
      - {type: mystery, name: looks-odd}
"""
TWO_SKILLS = ONE_SKILL + "      - {type: trigger-judge, skill: greets}\n"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(text: str, *args: str) -> Result:
    Path("EVAL.yaml").write_text(text, "utf-8")
    return CliRunner(catch_exceptions=False).invoke(transpile, ["EVAL.yaml", *args])


def files() -> dict[str, Any]:
    """What is in the working folder beside the input."""
    return {
        str(path): json.loads(path.read_text("utf-8"))
        for path in sorted(Path().rglob("*"))
        if path.is_file() and path.name != "EVAL.yaml"
    }


def test_the_evals_are_written_beside_the_input() -> None:
    result = run(ONE_SKILL)
    assert (result.exit_code, result.stdout) == (0, "wrote evals.json\n")
    assert files()["evals.json"]["skill_name"] == "sums"
    assert result.stderr.splitlines() == [
        "warning: EVAL.yaml:10: unknown type 'mystery', taken as: looks-odd",
        "next  evalq transpile EVAL.yaml --run-eval -d DIR, for the list of queries that run_eval.py takes",
    ]


def test_several_skills_are_several_files_in_the_folder_named() -> None:
    result = run(TWO_SKILLS, "-d", "out/evals")
    assert result.stdout == "wrote out/evals/sums.evals.json\nwrote out/evals/greets.evals.json\n"
    assert list(files()) == ["out/evals/greets.evals.json", "out/evals/sums.evals.json"]
    assert files()["out/evals/greets.evals.json"]["evals"][0]["should_trigger"] is True


def test_on_stdout_one_skill_is_its_document() -> None:
    result = run(ONE_SKILL, "--stdout")
    assert json.loads(result.stdout)["skill_name"] == "sums"
    assert files() == {}


def test_on_stdout_several_skills_are_a_list() -> None:
    documents = json.loads(run(TWO_SKILLS, "--stdout").stdout)
    assert [document["skill_name"] for document in documents] == ["sums", "greets"]


def test_the_file_and_stdout_hold_the_same_text() -> None:
    printed = run(ONE_SKILL, "--stdout").stdout
    run(ONE_SKILL)
    assert Path("evals.json").read_text("utf-8") == printed


def test_run_eval_writes_the_bare_list() -> None:
    result = run(ONE_SKILL, "--run-eval")
    assert files()["evals.json"] == [
        {"query": "Sum the column", "should_trigger": True},
        {"query": "Good morning", "should_trigger": False},
    ]
    assert "python -m scripts.run_eval --eval-set FILE" in result.stderr


def test_run_eval_keeps_skills_apart() -> None:
    run(TWO_SKILLS, "--run-eval")
    assert files()["greets.evals.json"] == [{"query": "Good morning", "should_trigger": True}]
    with pytest.raises(InputError, match="prints one skill, and these are 2; write them to files with -d"):
        run(TWO_SKILLS, "--run-eval", "--stdout")


def test_run_eval_without_triggers_is_an_empty_list_with_a_warning() -> None:
    result = run("tests: [{input: Hi}]", "--run-eval", "--stdout")
    assert json.loads(result.stdout) == []
    assert "warning: no test says whether a skill should trigger: the list is empty" in result.stderr


def test_run_eval_tells_of_queries_it_lost() -> None:
    twice = ONE_SKILL.replace("Good morning", "Sum the column")
    assert "warning: EVAL.yaml:6: the query of line 2 again" in run(twice, "--run-eval").stderr


def test_compat_writes_what_agentv_writes() -> None:
    result = run(ONE_SKILL, "--compat", "agentv")
    assert result.stdout == f"Transpiled to {Path('evals.json').absolute()}\n"
    assert "Warning: Test 'ask': 'assert' is deprecated. Use 'assertions' instead." in result.stderr
    assert list(files()["evals.json"]["evals"][0]) == ["id", "prompt", "assertions", "should_trigger"]
    assert files()["evals.json"]["evals"][1]["assertions"] == ["mystery assertion"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO_SKILLS, "--stdout prints one skill, and these are 2"),
        ("tests: []", "No output produced (no tests found)"),
        ("tests: cases.yaml", "Invalid EVAL.yaml: missing 'tests' array in 'EVAL.yaml'"),
    ],
)
def test_compat_refuses_what_agentv_refuses_with_its_exit_code(text: str, message: str) -> None:
    result = run(text, "--compat", "agentv", "--stdout")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Error: {message}" in result.stderr
    assert files() == {}


@pytest.mark.parametrize("extra", [(), ("--compat", "agentv"), ("--compat", "agentv@4"), ("--run-eval",)])
def test_bad_input_is_refused_with_its_line_and_nothing_is_written(extra: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"EVAL\.yaml:2: key 'tests' is written twice"):
        run("tests: []\ntests: []\n", *extra)
    assert files() == {}


def test_one_bad_test_of_many_writes_nothing() -> None:
    with pytest.raises(InputError, match=r"EVAL\.yaml:11: should_trigger is neither true nor false"):
        run(ONE_SKILL + "      - {type: trigger-judge, skill: x, should_trigger: 1}\n")
    assert files() == {}


def test_a_file_and_stdout_at_once_are_bad_usage() -> None:
    result = run(ONE_SKILL, "-d", "out", "--stdout")
    assert result.exit_code == 2
    assert "Choose one of -d and --stdout." in result.stderr


def test_the_input_is_not_written_over() -> None:
    Path("evals.json").write_text(
        '{"tests": [{"input": "x", "assert": [{"type": "skill-used", "value": "s"}]}]}'
    )
    with pytest.raises(InputError, match=r"evals\.json: would be written over by its own evals; choose -d"):
        CliRunner(catch_exceptions=False).invoke(transpile, ["evals.json"])


def test_a_hostile_name_reaches_the_terminal_clean() -> None:
    result = run('tests: [{input: "a\\u202Eb", assert: [{type: "\\e[31mred"}]}]', "--stdout")
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stdout
    assert json.loads(result.stdout)["evals"][0]["prompt"] == "a\u202eb"


def test_the_program_ends_with_two_and_a_place_for_bad_input() -> None:
    Path("EVAL.yaml").write_text("tests:\n  - input: [a\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "evalq", "transpile", "EVAL.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: EVAL.yaml:")
    assert done.stdout == ""


def test_our_own_example_is_transpiled_for_both_uses() -> None:
    for extra in ((), ("--run-eval",)):
        args = [str(EXAMPLE), "-d", "out", "--force", *extra]
        CliRunner(catch_exceptions=False).invoke(transpile, args)
        assert list(files()) == ["out/chart-maker.evals.json", "out/ledger-reader.evals.json"]
    for queries in files().values():
        assert queries
        assert all(type(item["query"]) is str and type(item["should_trigger"]) is bool for item in queries)
