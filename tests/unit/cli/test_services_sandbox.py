import json

import pytest
from click.testing import CliRunner

from evalq.cli.main import run
from evalq.cli.services import doctor, escape_rows
from evalq.grading.sandbox.availability import EscapeTrial
from evalq.grading.sandbox.escape_test import ESCAPES, EscapeResult


def finding(*, contained: bool = True, evidence: str = "") -> EscapeResult:
    return EscapeResult(ESCAPES[0], contained, evidence, 7)


def test_a_row_says_what_was_tried_and_what_came_of_it() -> None:
    (row,) = escape_rows(EscapeTrial({1: [finding()], 4: [finding(evidence="returned {}")]}))
    assert row[:2] == ("environment keys", "read the environment of the worker")
    assert row[2:] == ("contained", "7", "contained", "7", "returned {}")


def test_an_escape_stands_out_with_its_evidence() -> None:
    (row,) = escape_rows(EscapeTrial({1: [finding(contained=False, evidence="the key")], 4: [finding()]}))
    assert row[2:] == ("ESCAPED", "7", "contained", "7", "the key")


def test_without_bubblewrap_the_doctor_refuses_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as caught:
        run(["doctor", "--sandbox"])
    assert caught.value.code == 5
    assert capsys.readouterr().err.startswith(
        "error: SANDBOX_UNAVAILABLE: bubblewrap is not installed; install"
    )


def test_in_json_a_missing_bubblewrap_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = CliRunner().invoke(doctor, ["--sandbox", "--json"], standalone_mode=False)
    document = json.loads(done.stdout)
    assert done.return_value == 5
    assert (document["ok"], document["escapes"]) == (False, [])
    assert document["finding"] == "bubblewrap is not installed"


def sandbox_line(*, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    (line,) = (check for check in json.loads(done.stdout)["checks"] if check["name"] == "sandbox")
    assert not line["needed"]
    return dict(line)


def test_the_doctor_says_that_code_cannot_be_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    line = sandbox_line(environ={"PATH": ""}, monkeypatch=monkeypatch)
    assert (line["ok"], "apt-get install bubblewrap" in str(line["finding"])) == (False, True)


def test_the_doctor_says_that_code_is_run_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"EVALQ_SANDBOX": "unsafe", "EVALQ_ALLOW_UNSAFE_CODE": "1"}
    line = sandbox_line(environ=environ, monkeypatch=monkeypatch)
    assert line["finding"] == "none, by setting: grades of code say isolation: weak"


def test_the_doctor_says_that_unsafe_takes_two(monkeypatch: pytest.MonkeyPatch) -> None:
    line = sandbox_line(environ={"EVALQ_SANDBOX": "unsafe"}, monkeypatch=monkeypatch)
    assert (line["ok"], "EVALQ_ALLOW_UNSAFE_CODE=1" in str(line["finding"])) == (False, True)
