"""The commit of a project is found where there is one, and missed nowhere."""

import os
import subprocess
from pathlib import Path

import pytest

from evalq.bakeoff.commit import commit_sha


@pytest.fixture(autouse=True)
def _no_repository_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


def test_the_commit_is_that_of_the_checkout(tmp_path: Path) -> None:
    who = {f"GIT_{role}_{what}": "me" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, env={**os.environ, **who}, check=True)
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
