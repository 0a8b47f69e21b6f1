"""The page on other formats names every check we take, and its examples are there."""

from pathlib import Path

import pytest

from evalq.formats import recognise
from evalq.formats.agentv.graders import ROWS as EVAL_ROWS
from evalq.formats.agentv.sections import TYPES
from evalq.formats.known_formats import FORMATS
from evalq.formats.promptfoo.checks import ROWS as PROMPTFOO_ROWS
from evalq.formats.tables import ANSWERS, QUESTIONS, STRATA

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "formats.md").read_text("utf-8")
EXAMPLES = [
    "eval-yaml/EVAL.yaml",
    "evals-json/evals/evals.json",
    "promptfoo/promptfooconfig.yaml",
    "tables/capitals.csv",
]


def part(title: str) -> str:
    return PAGE.split(f"\n### {title}\n")[1].split("\n### ")[0]


@pytest.mark.parametrize("kind", sorted(TYPES | set(EVAL_ROWS)))
def test_every_check_of_an_eval_yaml_is_told_of(kind: str) -> None:
    assert f"`{kind}`" in part("EVAL.yaml")


@pytest.mark.parametrize("kind", sorted(PROMPTFOO_ROWS))
def test_every_check_of_promptfoo_is_told_of(kind: str) -> None:
    assert f"`{kind}`" in part("promptfoo")


@pytest.mark.parametrize("name", [*QUESTIONS, *ANSWERS, *STRATA])
def test_every_column_is_told_of(name: str) -> None:
    assert f"`{name}`" in part("Tables")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_can_be_imported(name: str) -> None:
    importer = recognise(DOCS / "examples" / name)
    assert importer is not None
    assert importer.problems(DOCS / "examples" / name, DOCS) == ()
    assert f"docs/examples/{name.partition('/')[0]}" in PAGE


def test_every_format_has_an_example() -> None:
    found = {importer.name for name in EXAMPLES if (importer := recognise(DOCS / "examples" / name))}
    assert found == {importer.name for importer in FORMATS} - {"eva", "suite"}
