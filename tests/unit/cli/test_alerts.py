"""Trying the channels: what arrived, what did not, and a project that has none."""

import os
from pathlib import Path

import pytest

from evalq.cli.main import run


@pytest.fixture(autouse=True)
def _a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("EVALQ_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_a_channel_that_fails_ends_with_six_and_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evalq.yaml").write_text("alerts: [{command: ['true']}, {command: ['false']}, {slack: {}}]\n")
    with pytest.raises(SystemExit) as ended:
        run(["alerts", "test"])
    assert ended.value.code == 6
    assert capsys.readouterr().out.splitlines() == [
        "✓ command: arrived",
        "✗ command-2: the command ended with exit code 1",
        "✗ slack: SLACK_WEBHOOK_URL is not set",
    ]


def test_without_a_channel_there_is_nothing_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["alerts", "test"])
    assert ended.value.code == 2
    assert "add alerts:" in capsys.readouterr().err
