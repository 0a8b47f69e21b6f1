"""The tests of a promptfoo configuration, in place or in files of their own, over what all of them share."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.csv_cases import csv_rows
from evalq.definitions.files import shown
from evalq.definitions.json_text import load_json
from evalq.definitions.located import Loc, Located
from evalq.definitions.yaml_anchors import load_anchored_yaml
from evalq.importers.attachments import Attachments
from evalq.importers.paths import Place, read_inside, resolve_inside
from evalq.importers.promptfoo_prompts import SCHEME
from evalq.transpile.nodes import Node, root

MOST_COMBINATIONS = 10_000
"""Of variables that are lists: every value of one with every value of the other."""

_EXPECTED = re.compile(r"__expected\d*")
_CHECK = re.compile(r"(?P<type>[a-z-]+)(?:\((?P<threshold>[0-9.]+)\))?:\s*(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Test:
    """One test over the defaults: variables, checks, and the score it needs."""

    node: Node
    description: str
    variables: Mapping[str, Any]
    checks: tuple[Node, ...]
    threshold: float | None
    metadata: Mapping[str, Any]


def read_tests(document: Node, attachments: Attachments) -> list[Test]:
    """Every test, those in files among them; one with lists for variables stands for all combinations."""
    tests = document.get("tests")
    defaults = _defaults(document, attachments)
    nodes = list(_nodes(tests, attachments)) if tests else []
    if not nodes:
        document.refuse("no tests", "list them under tests:")
    return [made for node in nodes for made in _combined(node, defaults, attachments)]


def _defaults(document: Node, attachments: Attachments) -> Node | None:
    written = document.get("defaultTest")
    if written is None or not isinstance(written.value, str):
        return written
    return next(iter(_followed(written, attachments)), None)


def _nodes(tests: Node, attachments: Attachments) -> Iterator[Node]:
    if isinstance(tests.value, str):
        yield from _followed(tests, attachments)
        return
    for item in tests.items():
        path = item.get("path") if isinstance(item.value, dict) and "vars" not in item.value else None
        if isinstance(item.value, str) or path:
            yield from _followed(path or item, attachments)
        else:
            item.mapping()
            yield item


def _followed(node: Node, attachments: Attachments) -> Iterator[Node]:
    """The tests in a file: CSV, JSONL, JSON or YAML, inside the folder or repository."""
    written = node.text().removeprefix(SCHEME)
    place = Place(node.file, node.line)
    suffix = Path(written).suffix.lower()
    if suffix not in (".csv", ".jsonl", ".json", ".yaml", ".yml"):
        node.refuse(f"tests in {written!r} cannot be read", "name a CSV, JSONL, JSON or YAML file")
    text = read_inside(written, attachments.roots, place=place, max_bytes=5_000_000)
    file = shown(resolve_inside(written, attachments.roots, place=place, max_bytes=5_000_000))
    if suffix == ".csv":
        located = _table(text, file)
    elif suffix == ".jsonl":
        located = _lines(text, file)
    else:
        located = load_json(text, file) if suffix == ".json" else load_anchored_yaml(text, file)
    listed = root(located)
    yield from listed.items() if isinstance(listed.value, list) else [listed]


def _lines(text: str, file: str) -> Located:
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    lines: dict[Loc, int] = {(): 1, **{(i,): n for i, (n, _) in enumerate(numbered)}}
    return Located([load_json(line, file, first_line=n).value for n, line in numbered], lines, file)


def _table(text: str, file: str) -> Located:
    rows = list(csv_rows(text, file))
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    tests = [_row(dict(zip(header, cells, strict=False))) for _, cells in rows[1:]]
    lines: dict[Loc, int] = {(): 1, **{(i,): line for i, (line, _) in enumerate(rows[1:])}}
    return Located(tests, lines, file)


def _row(cells: Mapping[str, str]) -> dict[str, Any]:
    """A row as the test it stands for: columns with two underscores are not variables."""
    variables = {name: cell for name, cell in cells.items() if not name.startswith("__")}
    checks = [_short(cell) for name, cell in cells.items() if _EXPECTED.fullmatch(name) and cell.strip()]
    test: dict[str, Any] = {"vars": variables, "assert": checks}
    if cells.get("__description"):
        test["description"] = cells["__description"]
    if cells.get("__threshold"):
        test["threshold"] = _number(cells["__threshold"])
    return test


def _short(cell: str) -> dict[str, Any]:
    """`contains: text`, `similar(0.8): text`, or a text that is to be the answer."""
    found = _CHECK.fullmatch(cell.strip())
    if not found:
        kind = cell.strip()
        return {"type": kind} if kind in ("is-json", "not-is-json") else {"type": "equals", "value": cell}
    check: dict[str, Any] = {"type": found["type"], "value": found["value"]}
    return {**check, "threshold": _number(found["threshold"])} if found["threshold"] else check


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _combined(node: Node, defaults: Node | None, attachments: Attachments) -> Iterator[Test]:
    variables = {**_variables(defaults, attachments), **_variables(node, attachments)}
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    total = 1
    for values in lists.values():
        total *= len(values)
    if total > MOST_COMBINATIONS:
        node.refuse(f"its lists of variables make {total:,} tests", "write fewer values")
    for choice in itertools.product(*lists.values()):
        yield _test(node, defaults, {**variables, **dict(zip(lists, choice, strict=True))})


def _test(node: Node, defaults: Node | None, variables: Mapping[str, Any]) -> Test:
    threshold = node.get("threshold") or (defaults.get("threshold") if defaults else None)
    description, metadata = node.get("description"), node.get("metadata")
    return Test(
        node=node,
        description=description.text() if description and isinstance(description.value, str) else "",
        variables=variables,
        checks=(*_checks(node), *(_checks(defaults) if defaults else ())),
        threshold=threshold.share() if threshold else None,
        metadata=metadata.mapping() if metadata else {},
    )


def _checks(node: Node) -> list[Node]:
    checks = node.get("assert")
    return checks.items() if checks else []


def _variables(node: Node | None, attachments: Attachments) -> dict[str, Any]:
    written = node.get("vars") if node else None
    if written is None:
        return {}
    place = Place(written.file, written.line)
    if isinstance(written.value, str):
        written.refuse("variables in a file of their own are not read", "write them as 'name: value' lines")
    return {name: _variable(value, attachments, place) for name, value in written.mapping().items()}


def _variable(value: Any, attachments: Attachments, place: Place) -> Any:
    """A value, or the text of the file it names; one that is not there is empty."""
    if isinstance(value, str) and value.startswith(SCHEME):
        return attachments.text(value.removeprefix(SCHEME), place) or ""
    return value
