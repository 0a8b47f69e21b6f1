"""Eval files with anything in the wrong place: every one is accepted or refused, none breaks the reading."""

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError
from evalq.formats.suite.load import problems
from evalq.formats.suite.read import read_suite

EXAMPLE = Path(__file__).resolve().parents[4] / "docs/examples/suite"
FILES = sorted(path for path in EXAMPLE.rglob("*") if path.suffix in (".yaml", ".json"))
ODD: list[Any] = [
    None,
    True,
    -1,
    3.5,
    10**30,
    "",
    "x",
    "{{x}}",
    "../x",
    [],
    {},
    [1],
    ["x"],
    {"a": 1},
    {"$ref": "x"},
]
TRIES = 30


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*place, key)
        yield from places(item, (*place, key))


def mutated(value: Any, rng: random.Random) -> Any:
    value = copy.deepcopy(value)
    *path, last = rng.choice(list(places(value)))
    parent = value
    for key in path:
        parent = parent[key]
    if isinstance(parent, dict) and rng.random() < 0.3:
        del parent[last]
    else:
        parent[last] = rng.choice(ODD)
    return value


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_any_broken_file_gives_problems_and_never_a_crash(tmp_path: Path, file: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "s")
    copied = tmp_path / "s" / file.relative_to(EXAMPLE)
    whole = load_yaml(file.read_text("utf-8"), "f").value
    rng = random.Random(file.name)
    for _ in range(TRIES):
        copied.write_text(json.dumps(mutated(whole, rng)), "utf-8")
        try:
            read_suite(tmp_path / "s")
            found = problems(copied, tmp_path)
        except InputError as exc:
            found = exc.problems
        assert all(problem.message for problem in found)
