"""Every complete definition of the reference document is accepted, when that document is at hand."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from references import REMEDY, referenced

from evalq.definitions.located import Located
from evalq.formats.suite.load import problems, recognises, report_problems
from evalq.formats.suite.read import load_text

SKELETONS = re.compile(r"(?m)^\s+(id|rubric): string\b")
"""Blocks that only name the type of each field."""


def blocks() -> Iterator[tuple[str, str]]:
    for document in referenced("seeds/002_*.txt"):
        yield from re.findall(r"(?ms)^```(yaml|json)\n(.*?)^```", document.read_text("utf-8"))


BLOCKS = [block for block in blocks() if not SKELETONS.search(block[1])]
EVAL = {"id": "a", "input": "x", "expected": "y"}
REGRESSION = {"id": "r", "baseline": {"output": "x"}, "current": {"input": "y"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the document's placeholders name."""
    (tmp_path / "path/to").mkdir(parents=True)
    (tmp_path / "path/to/technical-spec.md").write_text("# A specification\n", "utf-8")
    for name in (
        "capability/cap-001",
        "capability/cap-002",
        "auth-capability",
        "feature-x",
        "regression/reg-001",
    ):
        path = tmp_path / f"evals/{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = REGRESSION if "reg" in path.stem else {**EVAL, "id": path.stem}
        path.write_text(json.dumps(content), "utf-8")
    return tmp_path


@pytest.mark.skipif(not BLOCKS, reason=REMEDY)
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_complete_definition_is_accepted(folder: Path, number: int) -> None:
    kind, text = BLOCKS[number]
    path = folder / f"block.{kind}"
    path.write_text(text, "utf-8")
    assert recognises(path), text
    assert [str(problem) for problem in problems(path, folder)] == []


@pytest.mark.skipif(not BLOCKS, reason=REMEDY)
def test_the_document_has_the_blocks_we_think_it_has() -> None:
    assert len(BLOCKS) == 16


def test_a_document_that_is_not_a_report_is_refused_by_the_schema() -> None:
    located: Located = load_text(Path("r.json"), '{"eval_report": {"metadata": {}}}')
    assert any("is a required property" in problem.message for problem in report_problems(located))
