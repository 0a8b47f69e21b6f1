"""Suites written by the tests, and settings with judges that are simulations, systems and models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.read import Suite, read_suite
from evalq.settings import Settings

Write = Callable[..., Path]

JUDGES = {
    "sim": {"provider": "simulated", "model": "sim", "price": {"input": 1, "output": 1}},
    "sim2": {"provider": "simulated", "model": "sim2", "concurrency": 2, "price": {"input": 1, "output": 1}},
    "real": {
        "provider": "openai",
        "model": "r",
        "base_url": "http://127.0.0.1:9",
        "price": {"input": 1, "output": 1},
    },
    "api": {"provider": "http", "url": "http://127.0.0.1:8000", "exchange": True},
}


@pytest.fixture
def settings() -> Settings:
    return Settings.model_validate({"judges": JUDGES})


@pytest.fixture
def make_suite(tmp_path: Path) -> Callable[..., Suite]:
    """Makes a suite of evals, with whatever else its block says."""

    def make(*evals: dict[str, Any], **body: Any) -> Suite:
        path = tmp_path / "eval-suite.yaml"
        path.write_text(json.dumps({"eval_suite": {"name": "S", "evals": list(evals), **body}}), "utf-8")
        return read_suite(path)

    return make


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
