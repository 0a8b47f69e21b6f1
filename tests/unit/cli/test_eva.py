"""The commands on eva prompts as far as they need no fleet: doctor, promote, check, and what eval refuses."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalq.cli.main import run

EXAMPLES = Path(__file__).resolve().parents[3] / "docs/examples/eva/prompts"


@pytest.fixture(autouse=True)
def _a_project_with_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "prompts")
    (tmp_path / "evalq.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("EVALQ_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def give(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def use(prompt: str, n: int, **fields: Any) -> None:
    row = {"ts": "t", "sent": True, "verified": True, **fields}
    Path(f"prompts/{prompt}/.usage.jsonl").write_text(f"{json.dumps(row)}\n" * n)


def test_the_examples_are_in_good_health(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("eva", "doctor") == 0
    assert capsys.readouterr() == ("", "2 prompts: 0 problems, 0 warnings\nnext  evalq eva eval PATH\n")


def test_a_problem_is_one_line_and_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    Path("prompts/tidy-function/prompt.xml").write_text("{{source}} {{limits}} {{more}}\n")
    assert give("eva", "doctor", "prompts/tidy-function") == 1
    found = capsys.readouterr().out.splitlines()
    assert found[0] == (
        "prompts/tidy-function/prompt.xml:1: problem: {{more}} is not declared; "
        "add '- name: more' under inputs: in meta.yml"
    )


def test_warnings_alone_end_with_nought(capsys: pytest.CaptureFixture[str]) -> None:
    meta = Path("prompts/tidy-function/meta.yml")
    meta.write_text(meta.read_text() + "owner: me\n")
    assert give("eva", "doctor", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["prompts"], document["problems"], document["warnings"]) == (2, 0, 1)
    assert document["findings"][0]["severity"] == "warning"
    assert document["findings"][0]["line"] == 23


def test_a_project_without_prompts_has_nothing_to_examine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(tmp_path / "prompts")
    assert give("eva", "doctor") == 2
    assert "there is no folder prompts/" in capsys.readouterr().err


def test_check_reports_the_same_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("check", "prompts/tidy-function", "prompts/changelog-line/eval.yml") == 0
    assert capsys.readouterr().out == "0 tasks, 2 evalsets, 3 cases: all fine\n"
    Path("prompts/tidy-function/prompt.xml").write_text("{{more}}")
    assert give("check", "prompts/tidy-function") == 2
    assert "prompts/tidy-function/prompt.xml:1: {{more}} is not declared" in capsys.readouterr().err


def test_unmet_gates_are_listed_and_end_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("prompts/tidy-function/meta.yml").read_bytes()
    assert give("eva", "promote", "tidy-function") == 1
    assert capsys.readouterr().out == (
        "unmet gate: uses: 0 of 3 that are sent and not found wrong, in .usage.jsonl\n"
        "tidy-function stays draft\n"
    )
    assert Path("prompts/tidy-function/meta.yml").read_bytes() == before


def test_met_gates_promote(capsys: pytest.CaptureFixture[str]) -> None:
    use("tidy-function", 3, verified=None)
    assert give("eva", "promote", "prompts/tidy-function") == 0
    assert capsys.readouterr().out == "tidy-function: draft → tested\n"
    assert "status: tested\n" in Path("prompts/tidy-function/meta.yml").read_text()


def test_force_goes_round_the_gates_with_a_warning_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("eva", "promote", "prompts/changelog-line", "--force") == 0
    said = capsys.readouterr()
    assert said.out == "changelog-line: tested → ready\n"
    assert said.err.count("warning: ") == 2
    assert give("eva", "promote", "prompts/changelog-line", "--force") == 5
    assert "cannot promote" in capsys.readouterr().err


def test_a_promotion_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("eva", "promote", "changelog-line", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["promoted"], document["from"], document["to"]) == (False, "tested", "ready")
    assert len(document["unmet"]) == 2


def test_an_exam_can_be_priced_without_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("eva", "eval", "tidy-function", "--dry-run") == 0
    said = capsys.readouterr().err
    assert "tidy-function · triggering · 1 judge: 4 calls" in said
    assert "by claude-haiku-4-5-20251001" in said
    assert "by opus-4.7" in said
    assert not Path("prompts/tidy-function/.eval.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "nope"], "there is no case 'nope'"),
        (["--judge", "nobody"], "there is no judge 'nobody'"),
        (["--grader-model", "nobody"], "there is no judge 'nobody'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_a_row_is_written(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert give("eva", "eval", "tidy-function", "--dry-run", *arguments) == 2
    assert message in capsys.readouterr().err


def test_an_exam_that_names_no_model_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("prompts/changelog-line/eval.yml")
    path.write_text(path.read_text().replace("{model: claude-haiku-4-5-20251001}", "{}"))
    assert give("eva", "eval", "changelog-line", "--dry-run") == 2
    assert "no model is named for its eval set; write defaults" in capsys.readouterr().err
    assert give("eva", "eval", "changelog-line", "--dry-run", "--judge", "sim-opus-4.7") == 0


def test_an_exam_dearer_than_the_cap_is_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("eva", "eval", "tidy-function", "--max-cost-usd", "0.0001") == 4
    assert not Path("prompts/tidy-function/.eval.jsonl").exists()


def test_a_bake_off_takes_task_and_judges_from_the_exam(capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("prompts/tidy-function", "prompts/tidy-function/eval.yml"):
        assert give("bake-off", "--eval-set", path, "--dry-run") == 0
        said = capsys.readouterr().err
        assert "tidy-function · eval · 1 judge: 2 calls plus grading" in said
        assert "its triggering block is not part of this" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "capitals"], "brings its own task; leave out --task"),
        (["--scorer", "strict_substring"], "brings its own graders; leave out --scorer"),
        (["--final-decision"], "is not a holdout"),
    ],
)
def test_a_bake_off_on_an_exam_takes_nothing_against_it(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert give("bake-off", "--eval-set", "prompts/tidy-function", "--dry-run", *arguments) == 2
    assert message in capsys.readouterr().err


def test_triggering_can_be_priced_without_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("triggers", "--skill", "prompts/tidy-function", "--runs", "5", "--dry-run") == 0
    assert "tidy-function · triggering · 1 judge: 20 calls" in capsys.readouterr().err
    both = ("--skill", "prompts/tidy-function", "--skill", "prompts/changelog-line")
    assert give("triggers", *both, "--judges", "sim-opus-4.7", "--dry-run") == 0
    assert "skills · triggering · 1 judge: 30 calls" in capsys.readouterr().err


def test_requests_may_come_from_another_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.txt").write_text("write the changelog\n- write a poem\n")
    arguments = ("--judges", "sim-opus-4.7", "--queries", "q.txt", "--dry-run")
    assert give("triggers", "--skill", "prompts/changelog-line", *arguments) == 0
    assert "changelog-line · triggering · 1 judge: 6 calls" in capsys.readouterr().err


def test_triggering_without_a_request_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert give("triggers", "--skill", "prompts/changelog-line", "--judges", "sim-opus-4.7") == 2
    assert "there is no request to try" in capsys.readouterr().err
