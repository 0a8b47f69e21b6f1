from pathlib import Path

import pytest

from evalq.errors import Refused
from evalq.grading.sandbox.executors import ExecutorProgram, find_executor, require_executors


def install(folder: Path, name: str) -> dict[str, str]:
    """A PATH with a program of this name."""
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def test_python_needs_nothing_more() -> None:
    assert find_executor("python", {"PATH": ""}) == ExecutorProgram()


def test_a_missing_interpreter_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        Refused, match=r"javascript code cannot be run: node is not on the PATH; install Node"
    ):
        find_executor("javascript", {"PATH": str(tmp_path)})
    with pytest.raises(Refused, match=r"shell code cannot be run: bash is not on the PATH; install bash"):
        require_executors(frozenset({"python", "shell"}), {"PATH": str(tmp_path)})


def test_an_interpreter_for_its_owner_alone_is_refused(tmp_path: Path) -> None:
    environ = install(tmp_path, "node")
    tmp_path.chmod(0o700)
    with pytest.raises(Refused, match="can be read by its owner alone"):
        find_executor("javascript", environ)


def test_bash_reads_no_profile_and_gets_the_script() -> None:
    found = find_executor("shell", {"PATH": "/usr/bin:/bin"})
    assert found.command[1:4] == ("--noprofile", "--norc", "-c")
    assert "declare -F" in found.command[4]
    assert not found.shown
