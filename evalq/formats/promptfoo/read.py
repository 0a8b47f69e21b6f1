"""Reads the prompts and tests of a promptfoo configuration, written in place or in files of their own."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.files import csv_rows, display_path
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.yaml_text import load_anchored_yaml
from evalq.errors import InputError, Problem
from evalq.formats.document import Node, load_json_lines, root_node, text_of
from evalq.formats.known_keys import guess_key
from evalq.formats.paths import Attachments, Place, read_inside, resolve_inside
from evalq.formats.problems import build_readable

SCHEME = "file://"
MAX_COMBINATIONS = 10_000
"""Of variables that are lists: every value of one with every value of the other."""

_MAX_FILE_BYTES = 5_000_000
_ROLES = ("system", "user", "assistant")
_PROMPT_SUFFIXES = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", "")
_TEST_SUFFIXES = (".csv", ".jsonl", ".json", ".yaml", ".yml")
_PROMPT_SEPARATOR = "\n---\n"
_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*-?\}\}")
_LOGIC = re.compile(r"\{%|\{#|\{\{")
_EXPECTED_COLUMN = re.compile(r"__expected\d*")
_COLUMNS = ("__description", "__threshold")
_SHORT_CHECK = re.compile(r"(?P<type>[a-z-]+)(?:\((?P<threshold>[0-9.]+)\))?:\s*(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class PromptTemplate:
    """One prompt: its label, and its messages, each a role and a text with placeholders."""

    label: str
    messages: tuple[tuple[str, str], ...]

    @property
    def names(self) -> list[str]:
        """The variables it takes, each once, by the first part of their names."""
        names: dict[str, None] = {}
        for _, text in self.messages:
            for found in _FIELD.finditer(text):
                names[found[1].partition(".")[0]] = None
        return list(names)


def fill(template: str, variables: Mapping[str, Any]) -> str:
    """Fill a template in one pass: values are not filled in again; unknown variables are empty."""
    return _FIELD.sub(lambda found: _look_up(found[1], variables), template)


def fill_all(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill every text inside a value."""
    if isinstance(value, str):
        return fill(value, variables)
    if isinstance(value, list):
        return [fill_all(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: fill_all(item, variables) for key, item in value.items()}
    return value


def _look_up(path: str, variables: Mapping[str, Any]) -> str:
    value: Any = variables
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else text_of(value)


def read_prompts(document: Node, attachments: Attachments) -> list[PromptTemplate]:
    """Read every prompt that evalq can fill in; warn about those that are programs."""
    written = document.get("prompts")
    prompts: list[PromptTemplate] = []
    for node, label in _find_prompts(written) if written else ():
        try:
            prompts += _read_templates(node, label or f"prompt-{len(prompts) + 1}", attachments)
        except ValueError as exc:
            message, remedy = split_remedy(str(exc))
            attachments.warnings.add(node.problem(f"a prompt is left out: {message}", remedy))
    return prompts


def _find_prompts(prompts: Node) -> Iterator[tuple[Node, str]]:
    """Yield each prompt and its label from a text, a list, or a mapping from prompts to labels."""
    if isinstance(prompts.value, str):
        yield prompts, ""
    elif isinstance(prompts.value, dict):
        for key, label in prompts.value.items():
            yield Node(prompts.located, (*prompts.loc, key), key), str(label)
    else:
        for item in prompts.items():
            yield item.get("raw", "content", "id", "file") or item, _read_label(item)


def _read_label(item: Node) -> str:
    label = item.get("label", "display", "id")
    return label.value.removeprefix(SCHEME) if label and isinstance(label.value, str) else ""


def _read_templates(node: Node, label: str, attachments: Attachments) -> list[PromptTemplate]:
    """Read a prompt, or the prompts in the file it names; raise ValueError for a program."""
    text = node.value
    if not isinstance(text, str):
        raise ValueError("it is not text; write it as one, or as file://…")
    is_file = text.startswith(SCHEME) and "\n" not in text
    if not is_file and not text.startswith("exec:"):
        return [_read_template(label, text, "")]
    path = text.removeprefix(SCHEME)
    suffix = PurePath(path).suffix.lower()
    if suffix not in _PROMPT_SUFFIXES or "*" in path:
        raise ValueError(f"{path!r} is a program or a pattern; name one file of text")
    content = attachments.text(path, Place(node.file, node.line))
    if content is None:
        return []
    parts = content.split(_PROMPT_SEPARATOR) if suffix in (".txt", ".md", "") else [content]
    if len(parts) == 1:
        return [_read_template(label, content, suffix)] if content.strip() else []
    numbered = enumerate(parts, start=1)
    return [_read_template(f"{label}-{number}", part, suffix) for number, part in numbered if part.strip()]


def _read_template(label: str, text: str, suffix: str) -> PromptTemplate:
    """Read a chat if the text is one, in JSON, or in YAML by its suffix; else one message of the user's."""
    messages = _read_chat(text, suffix)
    if messages is None:
        messages = [("user", text.strip())]
    for _, content in messages:
        _refuse_logic(content)
    return PromptTemplate(label, tuple(messages))


def _read_chat(text: str, suffix: str) -> list[tuple[str, str]] | None:
    is_json, is_yaml = text.lstrip().startswith("["), suffix in (".yaml", ".yml")
    if not (is_json or is_yaml):
        return None
    try:
        value: Any = (load_json(text, "") if is_json else load_anchored_yaml(text, "")).value
    except InputError:
        return None
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(one, dict) and "role" in one for one in value):
        return None
    return [_read_message(one) for one in value]


def _read_message(written: dict[str, Any]) -> tuple[str, str]:
    role, content = written.get("role"), written.get("content")
    if role not in _ROLES:
        raise ValueError(f"a message of role {role!r}; write system, user or assistant")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise ValueError("a message whose content is not text; write it as one")
    return str(role), content


def _refuse_logic(template: str) -> None:
    """Raise ValueError for a template with logic, filters or calls, which evalq does not run."""
    rest = _FIELD.sub("", template)
    found = _LOGIC.search(rest)
    if found:
        beginning = rest[found.start() : found.start() + 30].split("\n")[0]
        raise ValueError(f"{beginning!r} is more than a name in braces; write {{{{name}}}} alone")


@dataclass(frozen=True)
class PromptfooTest:
    """One test over the defaults: variables, assertions, and the score it needs."""

    node: Node
    description: str
    variables: Mapping[str, Any]
    checks: tuple[Node, ...]
    threshold: float | None
    metadata: Mapping[str, Any]


def read_tests(document: Node, attachments: Attachments) -> list[PromptfooTest]:
    """Read every test, including those in files; lists as variables give a test for each combination.

    A test that cannot be read is left out, with a warning.
    """
    written = document.get("tests")
    defaults = document.get("defaultTest")
    if defaults is not None and isinstance(defaults.value, str):
        defaults = next(iter(_follow(defaults, attachments)), None)
    nodes = _find_tests(written, attachments) if written else []
    if not nodes:
        document.refuse("no tests", "list them under tests:")
    read = build_readable(
        lambda node: list(_read_combinations(node, defaults, attachments)),
        nodes,
        attachments.warnings,
        what="a test",
    )
    return list(itertools.chain.from_iterable(read))


def _find_tests(tests: Node, attachments: Attachments) -> list[Node]:
    """Find the tests; an entry that is none, or whose file cannot be read, is left out with a warning."""
    if isinstance(tests.value, str):
        return list(_follow(tests, attachments))
    found = build_readable(
        lambda item: list(_expand(item, attachments)), tests.items(), attachments.warnings, what="a test"
    )
    return list(itertools.chain.from_iterable(found))


def _expand(item: Node, attachments: Attachments) -> Iterator[Node]:
    """Yield the test, or the tests in the file that it names."""
    if isinstance(item.value, str):
        yield from _follow(item, attachments)
        return
    path = item.get("path")
    if path is not None and "vars" not in item.mapping():
        yield from _follow(path, attachments)
        return
    item.mapping()  # refuses anything else
    yield item


def _follow(node: Node, attachments: Attachments) -> Iterator[Node]:
    """Yield the tests in a file, which must be inside the folder of the configuration."""
    written = node.text().removeprefix(SCHEME)
    suffix = Path(written).suffix.lower()
    if suffix not in _TEST_SUFFIXES:
        node.refuse(f"tests in {written!r} cannot be read", "name a CSV, JSONL, JSON or YAML file")
    place = Place(node.file, node.line)
    text = read_inside(written, attachments.roots, place=place, max_bytes=_MAX_FILE_BYTES)
    file = display_path(resolve_inside(written, attachments.roots, place=place, max_bytes=_MAX_FILE_BYTES))
    match suffix:
        case ".csv":
            located = _load_table(text, file, attachments)
        case ".jsonl":
            located = load_json_lines(text, file)
        case ".json":
            located = load_json(text, file)
        case _:
            located = load_anchored_yaml(text, file)
    listed = root_node(located)
    yield from listed.items() if isinstance(listed.value, list) else [listed]


def _load_table(text: str, file: str, attachments: Attachments) -> Located:
    rows = csv_rows(text, file)
    first, header = next(rows, (1, []))
    names = [cell.strip() for cell in header]
    _check_columns(names, Place(file, first), attachments)
    tests: list[dict[str, Any]] = []
    lines: dict[Loc, int] = {(): 1}
    for line, cells in rows:
        lines[(len(tests),)] = line
        tests.append(_read_table_row(dict(zip(names, cells, strict=False))))
    return Located(tests, lines, file)


def _check_columns(names: Sequence[str], place: Place, attachments: Attachments) -> None:
    """Refuse a misspelt column of promptfoo's own, and warn about those that are not taken over."""
    for name in names:
        if not name.startswith("__") or name in _COLUMNS or _EXPECTED_COLUMN.fullmatch(name):
            continue
        guess = guess_key(name, ("__expected", *_COLUMNS))
        if guess:
            raise place.error(f"unknown column {name[:60]!r}", f"write {guess}")
        problem = Problem(f"the column {name[:60]} is not taken over", "", place.file, place.line)
        attachments.warnings.add(problem)


def _read_table_row(cells: Mapping[str, str]) -> dict[str, Any]:
    """Turn a row into the test it means: columns with two underscores are not variables."""
    variables: dict[str, str] = {}
    checks: list[dict[str, Any]] = []
    for name, cell in cells.items():
        if not name.startswith("__"):
            variables[name] = cell
        elif _EXPECTED_COLUMN.fullmatch(name) and cell.strip():
            checks.append(_read_short_check(cell))
    test: dict[str, Any] = {"vars": variables, "assert": checks}
    if cells.get("__description"):
        test["description"] = cells["__description"]
    if cells.get("__threshold"):
        test["threshold"] = _to_number(cells["__threshold"])
    return test


def _read_short_check(cell: str) -> dict[str, Any]:
    """Read `contains: text`, `similar(0.8): text`, or a text that must equal the answer."""
    if cell.strip() in ("is-json", "not-is-json"):
        return {"type": cell.strip()}
    found = _SHORT_CHECK.fullmatch(cell.strip())
    if not found:
        return {"type": "equals", "value": cell}
    check: dict[str, Any] = {"type": found["type"], "value": found["value"]}
    if found["threshold"]:
        check["threshold"] = _to_number(found["threshold"])
    return check


def _to_number(text: str) -> float | str:
    """Return the number; a text that is not one is left to the reader of the field to refuse."""
    try:
        return float(text)
    except ValueError:
        return text


def _read_combinations(
    node: Node, defaults: Node | None, attachments: Attachments
) -> Iterator[PromptfooTest]:
    variables = {**_read_variables(defaults, attachments), **_read_variables(node, attachments)}
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    n_tests = math.prod(len(values) for values in lists.values())
    if n_tests > MAX_COMBINATIONS:
        node.refuse(f"its lists of variables make {n_tests:,} tests", "write fewer values")
    for choice in itertools.product(*lists.values()):
        yield _read_test(node, defaults, {**variables, **dict(zip(lists, choice, strict=True))})


def _read_test(node: Node, defaults: Node | None, variables: Mapping[str, Any]) -> PromptfooTest:
    threshold = node.get_share("threshold")
    if threshold is None and defaults is not None:
        threshold = defaults.get_share("threshold")
    description = node.get_value("description")
    checks: list[Node] = []
    for owner in (node, defaults):
        checks += owner.get_items("assert") if owner else []
    return PromptfooTest(
        node=node,
        description=description if isinstance(description, str) else "",
        variables=variables,
        checks=tuple(checks),
        threshold=threshold,
        metadata=node.get_mapping("metadata"),
    )


def _read_variables(node: Node | None, attachments: Attachments) -> dict[str, Any]:
    """Read variables; one that names a file is the file's text, "" if the file is missing."""
    written = node.get("vars") if node else None
    if written is None:
        return {}
    if isinstance(written.value, str):
        written.refuse("variables in a file of their own are not read", "write them as 'name: value' lines")
    variables = dict(written.mapping())
    for name, value in variables.items():
        if isinstance(value, str) and value.startswith(SCHEME):
            path = value.removeprefix(SCHEME)
            variables[name] = attachments.text(path, Place(written.file, written.line)) or ""
    return variables
