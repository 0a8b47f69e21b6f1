from pathlib import Path

import pytest

from evalq.bakeoff.known_programs import announce_programs
from evalq.definitions.alert_channels import AlertChannel
from evalq.definitions.judge import CommandJudge, JudgeConfig, PythonJudge


def announce(judges: list[JudgeConfig], folder: Path, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    alerts = [AlertChannel(command=["notify", "me"])]
    announce_programs(judges, alerts, folder=folder, environ={"XDG_CONFIG_HOME": str(folder)})
    return [record.getMessage() for record in caplog.records]


def test_a_program_is_named_before_its_first_run_and_again_when_it_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = CommandJudge(name="mine", provider="command", command=["sh", "-c", "echo \x1b[2J"])
    function = PythonJudge(name="ours", provider="python", callable="answers:capital")
    first = announce([command, function], tmp_path, caplog)
    assert ["judge 'mine'" in first[0], "answers:capital" in first[1], "notify me" in first[2]] == [True] * 3
    assert "\x1b" not in first[0]
    assert announce([command, function], tmp_path, caplog) == []
    changed = command.model_copy(update={"command": ["sh", "-c", "id"]})
    assert len(announce([changed, function], tmp_path, caplog)) == 1


def test_a_folder_that_cannot_be_written_has_programs_named_every_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "evalq").write_text("a file in the way")
    assert announce([], tmp_path, caplog) == announce([], tmp_path, caplog) != []
