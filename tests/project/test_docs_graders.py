"""Every grader that the documentation shows can be pasted into a task."""

import re
from pathlib import Path

import pytest

from evalq.definitions.definition import validate
from evalq.definitions.task import TaskConfig
from evalq.definitions.yaml_text import load_yaml

DOCS = sorted((Path(__file__).parents[2] / "docs").glob("graders.md"))
TASK = 'name: t\nsystem_prompt: ""\nuser_template: "{text}"\n'
SHOWN = [
    block
    for path in DOCS
    for block in re.findall(r"```yaml\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    if block.startswith("graders:\n")
]


def test_every_type_is_shown() -> None:
    shown = "".join(SHOWN)
    for kind in ("verdict", "rubric", "criteria", "categorical", "boolean", "pairwise"):
        assert f"type: {kind}" in shown


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.split("\n")[1].strip())
def test_a_shown_grader_is_a_grader(block: str) -> None:
    assert validate(TaskConfig, load_yaml(TASK + block, "docs")).graders
