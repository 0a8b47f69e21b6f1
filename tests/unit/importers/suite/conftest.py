"""Eval files written by the tests, and read as suites."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.read import Suite, read_suite

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of the suite's folder: text as it is, anything else as JSON, which is YAML too."""

    def write_file(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), "utf-8")
        return path

    return write_file


@pytest.fixture
def read(write: Write) -> Callable[..., Suite]:
    """Reads what would stand in a file."""
    return lambda content, name="evals.yaml", **values: read_suite(write(name, content), values)


@pytest.fixture
def refused(write: Write) -> Callable[..., list[str]]:
    """What is said of a file that cannot be read."""

    def refuse(content: Any, name: str = "evals.yaml") -> list[str]:
        with pytest.raises(InputError) as caught:
            read_suite(write(name, content))
        return [str(problem) for problem in caught.value.problems]

    return refuse
