"""Every example in the graders' documents is a grader; those of checks are run on the answers they name."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from answers import grade
from pydantic import TypeAdapter

from evalq.definitions.graders import GraderConfig
from evalq.grading.grade import CHECKS

DOCS = sorted((Path(__file__).parents[2] / "docs").glob("graders.md"))
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REMARK = re.compile(r"^# (passes|fails|expected): (.*)$", re.MULTILINE)
ADAPTER: TypeAdapter[Any] = TypeAdapter(GraderConfig)


def blocks() -> list[Any]:
    found = [(path, block) for path in DOCS for block in BLOCK.findall(path.read_text("utf-8"))]
    return [
        pytest.param(block, id=f"{path.stem}-{i}-{_kind(block)}") for i, (path, block) in enumerate(found)
    ]


def _kind(block: str) -> str:
    found = re.search(r"^type: (\S+)", block, re.MULTILINE)
    return found[1] if found else "several"


def graders_in(block: str) -> list[dict[str, Any]]:
    """One grader, a list of them, or a mapping that lists `graders`; none in other examples."""
    value = yaml.safe_load(block)
    listed = value.get("graders", [value]) if isinstance(value, dict) else value
    return [one for one in listed if isinstance(one, dict) and "type" in one]


def answer_of(text: str) -> Any:
    """What stands behind a remark: a mapping of what the call took, a text in quotes, or the text itself."""
    return yaml.safe_load(text) if text.startswith(("'", "{")) else text


@pytest.mark.parametrize("block", blocks())
def test_an_example_is_a_valid_grader(block: str) -> None:
    for one in graders_in(block):
        assert ADAPTER.validate_python(one).type == one["type"].replace("-", "_")


def is_runnable(block: str) -> bool:
    """Whether it is a check's: code needs a sandbox, and is run with the tests of that."""
    return bool(REMARK.search(block)) and all(one["type"] in CHECKS for one in graders_in(block))


@pytest.mark.parametrize("block", [param for param in blocks() if is_runnable(param.values[0])])
def test_an_example_of_a_check_passes_and_fails_where_it_says(block: str) -> None:
    [grader] = graders_in(block)
    remarks = REMARK.findall(block)
    expected = next((yaml.safe_load(text) for word, text in remarks if word == "expected"), None)
    said = [(word == "passes", answer_of(text)) for word, text in remarks if word != "expected"]
    marks = [grade(grader, answer, expected) for _, answer in said]
    assert [mark.passed for mark in marks] == [passes for passes, _ in said], [mark.reason for mark in marks]
    assert {passes for passes, _ in said} == {True, False}


def test_every_check_has_a_runnable_example() -> None:
    shown = {
        one["type"]
        for param in blocks()
        if is_runnable(param.values[0])
        for one in graders_in(param.values[0])
    }
    assert shown == set(CHECKS)


def test_every_check_is_in_a_table_of_the_document() -> None:
    text = next(path for path in DOCS if path.stem == "graders").read_text("utf-8")
    cells = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    assert set(CHECKS) <= set(re.findall(r"`(\w+)`", cells))
