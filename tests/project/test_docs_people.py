"""What the documentation of the human grader shows can be typed and loaded."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalq.cli.review import review
from evalq.definitions.files import load_task
from evalq.definitions.graders import Human

_, _, TEXT = (
    (Path(__file__).parents[2] / "docs" / "graders.md").read_text("utf-8").partition("\n## Graders: people\n")
)
TASK = 'name: shown\nsystem_prompt: ""\nuser_template: "{message}"\n'


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_example_loads(tmp_path: Path, text: str) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(text if text.startswith("name:") else TASK + text, "utf-8")
    assert all(isinstance(grader, Human) for grader in load_task(path).graders)


def test_there_are_examples_of_every_scale() -> None:
    assert len(blocks("yaml")) == 2
    assert set(re.findall(r"type: (binary|likert|ranking)$", TEXT, re.MULTILINE)) == {
        "binary",
        "likert",
        "ranking",
    }


def test_every_parameter_is_named() -> None:
    for name in (*Human.model_fields, "min_required", "max_allowed", "agreement_threshold", "pass_rank"):
        assert f"`{name}`" in TEXT or f".{name}`" in TEXT or name == "type", name


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines()])
def test_every_command_shown_is_one(line: str) -> None:
    words = line.partition("#")[0].split()
    assert words[:2] == ["evalq", "review"]
    assert words[2] in review.commands
    shown = CliRunner().invoke(review, [words[2], "--help"]).output
    assert all(flag in shown for flag in re.findall(r"(?<=\s)--?[a-z]+", line.partition("#")[0]))
