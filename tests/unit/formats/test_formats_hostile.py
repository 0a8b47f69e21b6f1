"""Every format of the registry: misspelt keys are refused, and no shape of a file breaks the reading."""

import copy
from pathlib import Path
from typing import Any

import pytest
from format_examples import FORMAT_EXAMPLES, FormatExample, Keys, walk_places

from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError, Problem
from evalq.formats import recognise
from evalq.formats.known_formats import FORMATS

BY_NAME = {one.name: one for one in FORMATS}
EXAMPLES = [(name, example) for name in BY_NAME for example in FORMAT_EXAMPLES[name]]
ODD: list[Any] = [None, True, -1, 10**30, "", "x", [], {}, [1], ["x"], {"a": None}]
IDS = [f"{name}: {example.file}" for name, example in EXAMPLES]
each_example = pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=IDS)


def load(name: str, path: Path, root: Path) -> LoadedTask | tuple[Problem, ...]:
    recognise(path)
    try:
        return BY_NAME[name].load(path, root)
    except InputError as exc:
        return exc.problems


def replaced(value: Any, place: Keys, new: Any) -> Any:
    if not place:
        return new
    changed = copy.deepcopy(value)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = new
    return changed


def misspelt(value: Any, place: Keys, wrong: str) -> Any:
    changed = copy.deepcopy(value)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    renamed = {wrong if key == place[-1] else key: item for key, item in parent.items()}
    parent.clear()
    parent.update(renamed)
    return changed


def is_key_of_the_format(place: Keys, example: FormatExample) -> bool:
    if not place or not isinstance(place[-1], str) or len(place[-1]) < 4 or place[-1].startswith("$"):
        return False
    return not any(key in example.free for key in place[:-1])


def test_every_format_has_examples() -> None:
    assert set(FORMAT_EXAMPLES) == set(BY_NAME)


@each_example
def test_the_example_is_sound(name: str, example: FormatExample, tmp_path: Path) -> None:
    found = load(name, example.write(tmp_path, example.value), tmp_path)
    assert isinstance(found, LoadedTask), found


@pytest.mark.parametrize(
    ("name", "example"),
    [one for one in EXAMPLES if one[0] != "rows"],
    ids=[i for i in IDS if "rows" not in i],
)
def test_a_misspelt_key_is_refused_with_its_line(name: str, example: FormatExample, tmp_path: Path) -> None:
    for place in walk_places(example.value):
        if not is_key_of_the_format(place, example):
            continue
        right = str(place[-1])
        wrong = right[:2] + right[3:] if len(right) > 5 else right + right[-1]
        found = load(name, example.write(tmp_path, misspelt(example.value, place, wrong)), tmp_path)
        assert isinstance(found, tuple), (place, wrong)
        assert all(problem.file and problem.line for problem in found), (place, found)
        assert any(wrong in str(problem) or right in str(problem) for problem in found), (place, found)


@each_example
def test_a_wrong_shape_anywhere_is_accepted_or_refused(
    name: str, example: FormatExample, tmp_path: Path
) -> None:
    for place in walk_places(example.value):
        for odd in ODD:
            found = load(name, example.write(tmp_path, replaced(example.value, place, odd)), tmp_path)
            if not isinstance(found, LoadedTask):
                assert all(problem.file for problem in found), (place, odd, found)
                assert not any("pydantic" in str(problem) for problem in found), (place, odd, found)


@each_example
def test_a_key_that_is_missing_is_accepted_or_refused(
    name: str, example: FormatExample, tmp_path: Path
) -> None:
    for place in walk_places(example.value):
        if place:
            changed = copy.deepcopy(example.value)
            parent = changed
            for key in place[:-1]:
                parent = parent[key]
            del parent[place[-1]]
            load(name, example.write(tmp_path, changed), tmp_path)
