"""The tests of a promptfoo configuration, in place or in files of their own, over what all of them share."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.files import csv_rows, display_path
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.yaml_text import load_anchored_yaml
from evalq.errors import InputError
from evalq.formats.agentv.eval_file import text_of
from evalq.formats.agentv.read_parts import Node, root
from evalq.formats.paths import Attachments, Place, read_inside, resolve_inside

_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*-?\}\}")
_PROGRAM = re.compile(r"\{%|\{#|\{\{")


def check_plain(template: str) -> None:
    """ValueError for a template with logic, filters or calls in it: those are not run."""
    rest = _FIELD.sub("", template)
    found = _PROGRAM.search(rest)
    if found:
        shown = rest[found.start() : found.start() + 30].split("\n")[0]
        raise ValueError(f"{shown!r} is more than a name in braces; write {{{{name}}}} alone")


def names_in(template: str) -> list[str]:
    """The variables a template names, each once, by the first part of their names."""
    return list(dict.fromkeys(found[1].partition(".")[0] for found in _FIELD.finditer(template)))


def filled(template: str, variables: Mapping[str, Any]) -> str:
    """The template with its variables in one pass: a value is never filled in; an unknown one is empty."""
    return _FIELD.sub(lambda found: _shown(_looked_up(found[1], variables)), template)


def filled_in(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value with every text in it filled in."""
    if isinstance(value, str):
        return filled(value, variables)
    if isinstance(value, list):
        return [filled_in(item, variables) for item in value]
    return (
        {key: filled_in(item, variables) for key, item in value.items()} if isinstance(value, dict) else value
    )


def _looked_up(path: str, variables: Mapping[str, Any]) -> Any:
    value: Any = variables
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    return "" if value is None else text_of(value)


SCHEME = "file://"
_ROLES = ("system", "user", "assistant")
_TEXTS = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", "")
_BETWEEN = "\n---\n"


@dataclass(frozen=True)
class Template:
    """One prompt: its name, and the messages it consists of, each a role and a text to be filled in."""

    label: str
    messages: tuple[tuple[str, str], ...]

    @property
    def names(self) -> list[str]:
        """The variables it takes."""
        return list(dict.fromkeys(name for _, text in self.messages for name in names_in(text)))


def read_prompts(document: Node, attachments: Attachments) -> list[Template]:
    """Every prompt that can be filled in here; those that are programs are losses."""
    written = document.get("prompts")
    found: list[Template] = []
    for node, label in _written(written) if written else ():
        try:
            found += _templates(node, label or f"prompt-{len(found) + 1}", attachments)
        except ValueError as exc:
            message, remedy = split_remedy(str(exc))
            attachments.losses.note(node.problem(f"a prompt is left out: {message}", remedy))
    return found


def _written(prompts: Node) -> Iterator[tuple[Node, str]]:
    """Each prompt with its label: of a text, a list, or a mapping from prompts to labels."""
    if isinstance(prompts.value, str):
        yield prompts, ""
    elif isinstance(prompts.value, dict):
        for key, label in prompts.value.items():
            yield Node(prompts.located, (*prompts.loc, key), key), str(label)
    else:
        for item in prompts.items():
            yield _one(item)


def _one(item: Node) -> tuple[Node, str]:
    if isinstance(item.value, str):
        return item, ""
    label = item.get("label", "display", "id")
    named = label.value if label and isinstance(label.value, str) else ""
    content = item.get("raw", "content", "id", "file")
    return (content or item), named.removeprefix(SCHEME)


def _templates(node: Node, label: str, attachments: Attachments) -> list[Template]:
    if not isinstance(node.value, str):
        raise ValueError("it is no text; write it as one, or as file://…")
    text = node.value
    if not _is_file(text):
        return [_template(label, text, "")]
    path = text.removeprefix(SCHEME)
    suffix = PurePath(path).suffix.lower()
    if suffix not in _TEXTS or "*" in path:
        raise ValueError(f"{path!r} is a program or a pattern; name one file of text")
    content = attachments.text(path, Place(node.file, node.line))
    if content is None:
        return []
    parts = content.split(_BETWEEN) if suffix in (".txt", ".md", "") else [content]
    names = [label] if len(parts) == 1 else [f"{label}-{number}" for number in range(1, len(parts) + 1)]
    return [_template(name, part, suffix) for name, part in zip(names, parts, strict=True) if part.strip()]


def _is_file(text: str) -> bool:
    if text.startswith("exec:"):
        return True
    return text.startswith(SCHEME) and "\n" not in text


def _template(label: str, text: str, suffix: str) -> Template:
    """A chat where the text is one in JSON, or in YAML by its file's name; one message of the user's else."""
    messages = _chat(text, suffix)
    for _, content in messages or ():
        check_plain(content)
    if messages is None:
        check_plain(text)
        messages = [("user", text.strip())]
    return Template(label, tuple(messages))


def _chat(text: str, suffix: str) -> list[tuple[str, str]] | None:
    is_json, is_yaml = text.lstrip().startswith("["), suffix in (".yaml", ".yml")
    if not (is_json or is_yaml):
        return None
    try:
        value: Any = (load_json(text, "") if is_json else load_anchored_yaml(text, "")).value
    except InputError:
        return None
    if not isinstance(value, list) or not all(isinstance(one, dict) and "role" in one for one in value):
        return None
    return [_message(one) for one in value]


def _message(written: dict[str, Any]) -> tuple[str, str]:
    role, content = written.get("role"), written.get("content")
    if role not in _ROLES:
        raise ValueError(f"a message of role {role!r}; write system, user or assistant")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise ValueError("a message whose content is no text; write it as one")
    return str(role), content


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
    file = display_path(resolve_inside(written, attachments.roots, place=place, max_bytes=5_000_000))
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
