"""The commit of a project is found where there is one, and missed nowhere."""

import os
import subprocess
from pathlib import Path

import pytest

from evalq.bakeoff.commit import commit_sha


@pytest.fixture(autouse=True)
def _no_repository_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


def commit_all(folder: Path) -> None:
    who = {f"GIT_{role}_{what}": "me" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=folder, env={**os.environ, **who}, check=True)


def test_the_commit_is_that_of_the_checkout(tmp_path: Path) -> None:
    commit_all(tmp_path)
    sha = commit_sha(tmp_path)
    assert sha is not None
    assert len(sha) == 40
    assert set(sha) <= set("0123456789abcdef")


def test_outside_a_repository_and_without_git_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert commit_sha(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert commit_sha(tmp_path) is None


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A committed project with a task and a log of looks."""
    for name in ("tasks/audit.yaml", "evalsets/audit/holdout-runs.log"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("first")
    commit_all(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["tasks/audit.yaml", "tasks/new.yaml", "evalsets/audit/dev-3.yaml", "evalq.yaml"]
)
def test_a_run_from_files_that_are_not_in_the_commit_says_dirty(project: Path, name: str) -> None:
    (project / name).write_text("other")
    assert (commit_sha(project) or "").endswith("-dirty")


@pytest.mark.parametrize("name", ["report.json", "evalsets/audit/holdout-runs.log"])
def test_what_a_run_itself_writes_does_not_make_it_dirty(project: Path, name: str) -> None:
    (project / name).write_text("other")
    assert not (commit_sha(project) or "dirty").endswith("dirty")
