from pathlib import Path

import pytest

from evalq.grading.sandbox.running import Interpreter, system_interpreter


def install(root: Path, version: str, library: str = "lib") -> Path:
    """A Python as a system has it, without anything in it."""
    name = f"python{version}"
    (root / "bin").mkdir()
    (root / "bin" / name).touch()
    (root / "bin" / "python3").symlink_to(name)
    (root / library / name / "json").mkdir(parents=True)
    return root / "bin" / "python3"


@pytest.mark.parametrize("library", ["lib", "lib64"])
def test_a_system_python_is_taken_by_its_own_name(tmp_path: Path, library: str) -> None:
    python = install(tmp_path, "3.12", library)
    assert system_interpreter(python) == Interpreter(tmp_path.resolve() / "bin" / "python3.12")


def test_an_old_system_python_is_not_taken(tmp_path: Path) -> None:
    assert system_interpreter(install(tmp_path, "3.10")) is None


def test_a_system_python_without_its_library_is_not_taken(tmp_path: Path) -> None:
    python = install(tmp_path, "3.12")
    (tmp_path / "lib" / "python3.12" / "json").rmdir()
    assert system_interpreter(python) is None


def test_no_system_python_is_none(tmp_path: Path) -> None:
    assert system_interpreter(tmp_path / "python3") is None
