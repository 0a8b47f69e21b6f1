"""docs/reference/ is what the code says today, and leaves out no command, key or setting."""

from typing import Any, get_args

import pytest
from pydantic import BaseModel

from evalq.cli.main import COMMANDS
from evalq.definitions.graders import GraderConfig
from tools import key_tables, reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_as_it_would_be_made_now(name: str) -> None:
    written = (reference.FOLDER / name).read_text("utf-8")
    assert written == reference.PAGES[name](), "run `make reference`"


def test_the_folder_has_no_other_page() -> None:
    assert {path.name for path in reference.FOLDER.iterdir()} == set(reference.PAGES)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_in_the_reference(name: str) -> None:
    assert f"## evalq {name}\n" in (reference.FOLDER / "cli.md").read_text("utf-8")


def test_every_grader_is_in_the_reference() -> None:
    page = (reference.FOLDER / "graders.md").read_text("utf-8")
    types = [
        name
        for grader in models_in(GraderConfig)
        for name in get_args(grader.model_fields["type"].annotation)
    ]
    assert len(types) > 30
    assert [name for name in types if f"`{name}`" not in page] == []


def models_in(union: Any) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    for part in get_args(union):
        is_model = isinstance(part, type) and issubclass(part, BaseModel)
        found += [part] if is_model else models_in(part)
    return found


def test_no_words_are_kept_for_a_key_that_is_gone() -> None:
    shown = "".join((reference.FOLDER / name).read_text("utf-8") for name in reference.PAGES)
    unused = [
        f"{owner}.{key}"
        for owner, words in key_tables.known_words().items()
        for key, text in words.items()
        if key != "provider" and text.replace("|", "\\|") not in shown
    ]
    assert unused == []
