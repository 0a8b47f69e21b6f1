"""The program ends with the exit code of what happened, and never with a traceback the user can mend."""

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalq.cli.main import run

AUDIT = ["bake-off", "--task", "knowledge_audit", "--eval-set", "dev-93", "--dry-run"]
NOWHERE = {
    "EVALQ_DATABASE_URL": "postgresql://evalq:secret@127.0.0.1:1/evalq",
    "EVALQ_BROKER_URL": "redis://127.0.0.1:1/0",
}


@dataclass(frozen=True)
class Ended:
    code: object
    out: str
    err: str


Evalq = Callable[..., Ended]


@pytest.fixture(autouse=True)
def _an_empty_project_of_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("EVALQ_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def evalq(capsys: pytest.CaptureFixture[str]) -> Evalq:
    """Runs the program in this process."""

    def call(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as caught:
            run(list(arguments))
        return Ended(caught.value.code, *capsys.readouterr())

    return call


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["judges", "--help"], ["judges"], AUDIT])
def test_what_went_well_ends_with_zero(evalq: Evalq, arguments: list[str]) -> None:
    assert evalq(*arguments).code == 0


def test_results_go_to_stdout_and_all_else_to_stderr(evalq: Evalq) -> None:
    listed = evalq("judges", "--json")
    assert {"name", "provider", "model", "price", "key_present"} <= set(json.loads(listed.out)[0])
    assert listed.err == ""
    checked = evalq(*AUDIT)
    assert "opus-4.7 needs ANTHROPIC_API_KEY, which is not set; evalq keys set anthropic" in checked.out
    assert "the prompt of case " in checked.out
    assert "knowledge_audit · dev-93 · 6 judges: 558 calls plus grading" in checked.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["bake-off"],
        ["bake-off", "--no-such-option"],
        ["bake-off", "--task", "no-such-task", "--eval-set", "dev"],
        [*AUDIT, "--judges", "no-such-judge"],
        [*AUDIT, "--samples", "0"],
        [*AUDIT, "--seed", "-1"],
        [*AUDIT, "--seed", str(2**63)],
        [*AUDIT, "--max-cost-usd", "much"],
        [*AUDIT, "--max-cost-usd", "-1"],
        ["check"],
        ["flower"],
        ["worker"],
    ],
    ids=" ".join,
)
def test_what_the_user_can_mend_ends_with_two(evalq: Evalq, arguments: list[str]) -> None:
    ended = evalq(*arguments)
    assert ended.code == 2
    assert "rror: " in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_every_problem_is_a_line_of_its_own(evalq: Evalq) -> None:
    err = evalq(*AUDIT, "--judges", "x,y").err
    assert [line[:30] for line in err.splitlines()] == [
        "error: there is no judge 'x'; ",
        "error: there is no judge 'y'; ",
    ]


def test_a_command_that_ends_by_itself_keeps_its_code(evalq: Evalq, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "bad.yaml").write_text("name: bad\n", "utf-8")
    assert evalq("check").code == 2


def test_a_projection_over_the_cap_ends_with_four(evalq: Evalq) -> None:
    ended = evalq(*AUDIT, "--max-cost-usd", "0.01")
    assert ended.code == 4
    assert "exceeds the cap $0.01" in ended.err


def test_a_frozen_holdout_ends_with_five(evalq: Evalq) -> None:
    ended = evalq("bake-off", "--task", "knowledge_audit", "--eval-set", "holdout-99")
    assert ended.code == 5
    assert "frozen holdout" in ended.err


def test_a_database_that_is_away_ends_with_six_and_shows_no_password(
    evalq: Evalq, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    ended = evalq("runs")
    assert ended.code == 6
    assert "check EVALQ_DATABASE_URL" in ended.err
    assert "secret" not in ended.err


def test_what_the_user_typed_cannot_take_over_the_terminal(evalq: Evalq) -> None:
    err = evalq(*AUDIT, "--judges", "\x1b[31mred\x07\u202e").err
    assert not set("\x1b\x07\u202e") & set(err)


class Interrupted(io.StringIO):
    """A stream on which Ctrl-C is pressed with the first letter."""

    def write(self, text: str) -> int:
        raise KeyboardInterrupt


@pytest.mark.parametrize("streams", [["stdout"], ["stdout", "stderr"]])
def test_an_interrupt_ends_with_130(streams: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in streams:
        monkeypatch.setattr(sys, name, Interrupted())
    with pytest.raises(SystemExit) as caught:
        run(["judges"])
    assert caught.value.code == 130
