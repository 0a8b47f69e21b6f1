"""Files that others planted or may change: one table, for settings, data folders and keys alike."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evalq.definitions.file_trust import find_distrust
from evalq.engines.data_folder import DataFolder
from evalq.errors import Refused
from evalq.keys import load_keys
from evalq.settings import Settings, load_settings, project_root

STRANGER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def give_away(path: Path) -> None:
    os.chown(path, STRANGER, STRANGER)


def open_to_group(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o020)


def open_to_all(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o002)


def link_by_stranger(path: Path) -> None:
    real = path.with_name("real")
    path.rename(real)
    path.symlink_to(real)
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


PLANTED = [
    pytest.param(give_away, "belongs to another user", marks=as_root),
    pytest.param(link_by_stranger, "belongs to another user", marks=as_root),
    pytest.param(open_to_group, "chmod go-w", id="open_to_group"),
    pytest.param(open_to_all, "chmod go-w", id="open_to_all"),
]
planted = pytest.mark.parametrize(("plant", "reason"), PLANTED)
Plant = Callable[[Path], None]


def write_file(path: Path, text: str = "max_cost_usd: 77\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


@planted
def test_a_planted_settings_file_in_the_project_is_refused(tmp_path: Path, plant: Plant, reason: str) -> None:
    plant(write_file(tmp_path / "evalq.yaml"))
    with pytest.raises(Refused, match=reason):
        load_settings(tmp_path, {})


@planted
@pytest.mark.parametrize("sign", [".git", "tasks", ""])
def test_a_planted_settings_file_above_the_project_is_passed_over(
    tmp_path: Path, plant: Plant, reason: str, sign: str
) -> None:
    plant(write_file(tmp_path / "evalq.yaml"))
    project = tmp_path / "project"
    (project / sign).mkdir(parents=True)
    said: list[str] = []
    assert load_settings(project, {}, tell=said.append) == Settings()
    assert "passed over" in said[0]
    assert reason in said[0]
    assert project_root(project) == project


def test_own_settings_above_the_project_are_used_and_named(tmp_path: Path) -> None:
    write_file(tmp_path / "evalq.yaml")
    project = tmp_path / "project"
    project.mkdir()
    said: list[str] = []
    assert load_settings(project, {}, tell=said.append).max_cost_usd == 77
    assert said == [f"settings come from {tmp_path}/evalq.yaml, which is outside the project {project}"]


@pytest.mark.parametrize("sign", [".git", "tasks"])
def test_settings_at_the_root_of_the_project_are_used_silently(tmp_path: Path, sign: str) -> None:
    write_file(tmp_path / "evalq.yaml")
    (tmp_path / sign).mkdir()
    (tmp_path / "inner").mkdir()
    said: list[str] = []
    assert load_settings(tmp_path / "inner", {}, tell=said.append).max_cost_usd == 77
    assert not said


@as_root
def test_a_strangers_tasks_make_no_project(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    give_away(tmp_path / "tasks")
    (tmp_path / "inner").mkdir()
    assert project_root(tmp_path / "inner") == tmp_path / "inner"


@planted
def test_a_planted_data_folder_is_refused(tmp_path: Path, plant: Plant, reason: str) -> None:
    folder = tmp_path / ".evalq"
    folder.mkdir(mode=0o700)
    plant(folder)
    with pytest.raises(Refused, match=reason):
        DataFolder.of(folder)


def test_a_data_folder_yet_to_be_made_is_fine(tmp_path: Path) -> None:
    assert DataFolder.of(tmp_path / ".evalq").path == tmp_path / ".evalq"


@planted
def test_a_planted_keys_file_is_refused(tmp_path: Path, plant: Plant, reason: str) -> None:
    del reason
    plant(write_file(tmp_path / "evalq" / ".env", "OPENAI_API_KEY=sk-fake\n"))
    with pytest.raises(Refused):
        load_keys({"XDG_CONFIG_HOME": str(tmp_path)})


def test_an_own_closed_file_is_trusted(tmp_path: Path) -> None:
    assert find_distrust(write_file(tmp_path / "evalq.yaml")) == ""
