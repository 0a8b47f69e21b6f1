from pathlib import Path

import pytest

from evalq.errors import Refused
from evalq.grading.sandbox.availability import EscapeTrial, availability, hold_trial, outlook, require_sandbox
from evalq.grading.sandbox.escape_test import ESCAPES, EscapeResult


def fake_bwrap(folder: Path, version: str) -> dict[str, str]:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
    program.chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder)}


def test_without_bubblewrap_code_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        require_sandbox("strong", {"PATH": str(tmp_path)})
    message = str(caught.value)
    assert message.startswith("SANDBOX_UNAVAILABLE: bubblewrap is not installed")
    assert "apt-get install bubblewrap" in message
    assert "`sandbox: unsafe` in evalq.yaml together with EVALQ_ALLOW_UNSAFE_CODE=1" in message
    assert caught.value.exit_code == 5


def test_an_old_bubblewrap_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"bubblewrap 0\.6\.1, too old, 0\.8 is needed"):
        require_sandbox("strong", fake_bwrap(tmp_path, "0.6.1"))


def test_a_bubblewrap_that_runs_nothing_is_refused_and_not_remembered(tmp_path: Path) -> None:
    environ = fake_bwrap(tmp_path, "0.9.0")
    assert outlook(environ).is_available is None
    with pytest.raises(Refused, match="SANDBOX_UNAVAILABLE: the sandbox did not start"):
        require_sandbox("strong", environ)
    assert outlook(environ).is_available is None


def test_the_variable_alone_does_not_weaken_the_sandbox(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        require_sandbox("strong", {"PATH": str(tmp_path), "EVALQ_ALLOW_UNSAFE_CODE": "1"})


@pytest.mark.parametrize("value", ["", "0", "yes"])
def test_the_setting_alone_does_not_weaken_it_either(value: str) -> None:
    with pytest.raises(Refused, match="set EVALQ_ALLOW_UNSAFE_CODE=1 too") as caught:
        require_sandbox("unsafe", {"EVALQ_ALLOW_UNSAFE_CODE": value})
    assert caught.value.exit_code == 5


def test_both_together_do() -> None:
    assert require_sandbox("unsafe", {"EVALQ_ALLOW_UNSAFE_CODE": "1"}) == "weak"


def test_where_nothing_can_be_tried_the_trial_says_why() -> None:
    trial = hold_trial({})
    assert (trial.is_well, trial.rounds, trial.finding) == (False, {}, "bubblewrap is not installed")
    assert not availability({}).is_available


def test_one_escape_in_one_round_spoils_the_trial() -> None:
    held = [EscapeResult(escape, True, "", 1) for escape in ESCAPES]
    assert EscapeTrial({1: held}).is_well
    spoiled = EscapeTrial({1: held, 4: [*held[:-1], EscapeResult(ESCAPES[-1], False, "got out", 1)]})
    assert not spoiled.is_well
    assert spoiled.finding == "not contained: forged result (got out)"
