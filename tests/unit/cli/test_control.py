"""Steering commands refuse what they cannot mean before anything is started."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from evalq.cli.main import evalq
from evalq.errors import InputError


@pytest.fixture(autouse=True)
def _an_empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def refusal(*arguments: str) -> str:
    error = CliRunner().invoke(evalq, arguments).exception
    assert isinstance(error, InputError)
    assert not Path(".evalq").exists()
    return str(error)


def test_one_bake_off_is_paused_at_a_time() -> None:
    assert refusal("pause", "3", "grok-4.3", "@-2") == "3 and @-2 are two bake-offs; pause one at a time"
