"""Loads the file an EVAL.yaml is, and the files of tests it names, with the line of every part."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evalq.definitions.files import read_text, shown
from evalq.definitions.json_text import load_json
from evalq.definitions.located import Loc, Located
from evalq.definitions.yaml_anchors import load_anchored_yaml
from evalq.definitions.yaml_text import plain_value
from evalq.transpile.nodes import Node, root

TEST_KEYS = ("tests", "eval_cases", "evalcases", "evalCases")
_SCHEME = "file://"


def load_document(path: Path, *, merges: bool = True, plain: Callable[[str], Any] = plain_value) -> Located:
    """The value in a YAML, JSON or JSONL file; a JSONL file's is the list of its lines."""
    text, file = read_text(path), shown(path)
    match path.suffix.lower():
        case ".json":
            return load_json(text, file)
        case ".jsonl":
            return _lines(text, file)
        case _:
            return load_anchored_yaml(text, file, merges=merges, plain=plain)


def tests_of(document: Node, path: Path) -> Iterator[Node]:
    """Every test of the document at `path`, those in files it names among them.

    A file is followed one step, and only inside the folder of the document.
    """
    tests = document if isinstance(document.value, list) else document.get(*TEST_KEYS)
    if tests is None:
        document.refuse("no tests", "list them under tests:")
    if isinstance(tests.value, str):
        yield from _followed(tests, tests.value, path)
        return
    for test in tests.items():
        reference = _reference(test)
        if reference is None:
            yield test
        else:
            yield from _followed(test, reference, path)


def _lines(text: str, file: str) -> Located:
    # Not splitlines(): it also splits at separators that may stand inside a JSON string.
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    lines: dict[Loc, int] = {(): 1, **{(i,): n for i, (n, _) in enumerate(numbered)}}
    return Located([load_json(line, file, first_line=n).value for n, line in numbered], lines, file)


def _reference(test: Node) -> str | None:
    """The path where an entry of the list is one: `file://cases.yaml`, or a mapping with `include`."""
    if isinstance(test.value, str) and test.value.startswith(_SCHEME):
        return test.value
    include = test.get("include")
    if include is None:
        return None
    if test.get("type") and test.mapping()["type"] != "tests":
        test.refuse("only tests can be included, not a whole suite", "transpile that file by itself")
    return include.text()


def _followed(node: Node, reference: str, path: Path) -> Iterator[Node]:
    for found in _files(node, reference.removeprefix(_SCHEME), path.parent):
        listed = root(load_document(found))
        tests = listed if isinstance(listed.value, list) else listed.get(*TEST_KEYS)
        if tests is None:
            listed.refuse("no tests", "write a list of tests")
        yield from tests.items()


def _files(node: Node, reference: str, folder: Path) -> list[Path]:
    """The one file, or those a pattern matches, in the order of their names."""
    if not any(sign in reference for sign in "*?["):
        return [_inside(node, folder / reference, folder)]
    if Path(reference).is_absolute() or ".." in Path(reference).parts:
        node.refuse(f"{reference!r} leaves the folder of the file", "name files in or under that folder")
    matches = sorted(found for found in folder.glob(reference) if found.is_file())
    if not matches:
        node.refuse(f"no file matches {reference!r}", "check the pattern")
    return [_inside(node, found, folder) for found in matches]


def _inside(node: Node, found: Path, folder: Path) -> Path:
    if not found.resolve().is_relative_to(folder.resolve()):
        remedy = "name a file in or under that folder"
        node.refuse(f"{str(node.value)!r} is outside the folder of the file", remedy)
    if not found.is_file():
        node.refuse(f"no such file: {shown(found)}", "name a file of tests: YAML, JSON or JSONL")
    return found
