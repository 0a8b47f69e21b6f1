"""Finds every regular expression of ours in the code, and makes texts that a bad one would never finish."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("evalq", "workers")

_SEARCHES = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
_PUMPS = (
    *(" ", "\n", "\t", "\r", "a", "A", "0", "1", '"', "'", "`", "[", "]", "{", "}", "(", ")", "<", ">", "-"),
    *("=", ".", ",", "\\", "/", ":", "|", "_", "#", "@", "+", "*", "ä", "\u00a0", "⟦"),
    *(
        "a ",
        "a.",
        "1,",
        "1.",
        "1 ",
        "1-",
        "\n ",
        "a\n",
        "a=",
        "a,",
        '\\"',
        "- ",
        "{{",
        "# ",
        "a: ",
        "a/",
        "a@",
    ),
)
_FEW = 8
_TAILS = ("", "\x00", "!\n")


@dataclass(frozen=True)
class Use:
    """One regular expression and one way it is applied: `where` is its module and its name or function."""

    where: str
    pattern: re.Pattern[str]
    method: str

    def apply(self, text: str) -> None:
        """Apply it as the code does."""
        if self.method in ("sub", "subn"):
            self.pattern.sub("", text)
        elif self.method == "finditer":
            for _ in self.pattern.finditer(text):
                pass
        else:
            getattr(self.pattern, self.method)(text)


@dataclass(frozen=True)
class Found:
    """The uses in the code, and the places that build a pattern while they run."""

    uses: tuple[Use, ...]
    built: frozenset[str]


def find_patterns() -> Found:
    """Every compiled pattern of a module with its uses, and every literal given to a function of `re`."""
    modules = dict(_modules())
    owners = _pattern_names(modules)
    uses: dict[tuple[str, str, int, str], Use] = {}
    built: set[str] = set()
    for name, tree in modules.items():
        for use in _uses_in(name, tree, owners, built):
            uses[use.where, use.pattern.pattern, use.pattern.flags, use.method] = use
    used = {use.where for use in uses.values()}
    for where, patterns in owners.items():
        if where not in used:  # in a table, or passed on: any way is possible
            for pattern in patterns:
                uses[where, pattern.pattern, pattern.flags, "finditer"] = Use(where, pattern, "finditer")
    return Found(tuple(uses.values()), frozenset(built))


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text()
            if re.search(rf"\bre\b|[A-Z]\.(?:{'|'.join(_SEARCHES)})\b", text) and parts[-1] != "__main__":
                yield name, ast.parse(text)


def _pattern_names(modules: Mapping[str, ast.Module]) -> dict[str, list[re.Pattern[str]]]:
    """The patterns under each module's own global names, also those inside tables."""
    owners: dict[str, list[re.Pattern[str]]] = {}
    for name, tree in modules.items():
        own = {target for node in tree.body for target in _targets(node)}
        for key, value in vars(importlib.import_module(name)).items():
            patterns = list(_patterns_inside(value)) if key in own else []
            if patterns:
                owners[f"{name}:{key}"] = patterns
    return owners


def _targets(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id


def _patterns_inside(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        is_bytes = isinstance(value.pattern, bytes)
        yield re.compile(value.pattern.decode("latin-1"), value.flags | re.ASCII) if is_bytes else value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _patterns_inside(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _patterns_inside(item)


def _uses_in(
    module: str, tree: ast.Module, owners: Mapping[str, Sequence[re.Pattern[str]]], built: set[str]
) -> Iterator[Use]:
    names = {key.partition(":")[2]: key for key in owners if key.startswith(f"{module}:")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {
                alias.asname or alias.name: f"{node.module}:{alias.name}"
                for alias in node.names
                if f"{node.module}:{alias.name}" in owners
            }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in _SEARCHES:
            continue
        if isinstance(node.value, ast.Name) and node.value.id in names:
            where = names[node.value.id]
            yield from (Use(where, pattern, node.attr) for pattern in owners[where])
    for function, node in _walk(tree, "<module>"):
        if isinstance(node, ast.Call) and function != "<module>" and _is_re(node.func):
            yield from _inline_use(f"{module}:{function}", node, built)


def _walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the name of the function around it."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        yield inner, child
        yield from _walk(child, inner)


def _is_re(func: ast.expr) -> bool:
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    return func.value.id == "re" and func.attr in (*_SEARCHES, "compile")


def _inline_use(where: str, call: ast.Call, built: set[str]) -> Iterator[Use]:
    assert isinstance(call.func, ast.Attribute)
    if not isinstance(call.args[0], ast.Constant):
        built.add(where)
        return
    flags = 0
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and node.attr.isupper():
            flags |= getattr(re, node.attr)
    method = "finditer" if call.func.attr == "compile" else call.func.attr
    yield Use(where, re.compile(call.args[0].value, flags), method)


def evil_texts(pattern: re.Pattern[str]) -> Iterator[Callable[[int], str]]:
    """Functions from a length to a text that nearly matches, or matches in very many ways."""
    flags = pattern.flags & ~re.DEBUG
    points = list(_repeats(parser.parse(pattern.pattern, flags), ""))
    whole = _example(parser.parse(pattern.pattern, flags))
    prefixes = dict.fromkeys(["", *(prefix for prefix, _ in points), whole[:-1]])
    own = [whole, whole[:-1], *(body for _, body in points), *(prefix for prefix, _ in points)]
    pumps = dict.fromkeys(pump for pump in (*_PUMPS, *own) if pump)
    for prefix in prefixes:
        for pump in pumps:
            for tail in _TAILS:
                yield lambda n, prefix=prefix, pump=pump, tail=tail: prefix + pump * (n // len(pump)) + tail


def _repeats(tokens: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Each repeat that may be long: what comes before it, and an example of what it repeats."""
    for op, value in tokens:
        is_repeat = op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
        if is_repeat and value[1] > _FEW:
            yield prefix, _example(value[2])
        for part in _parts(op, value):
            yield from _repeats(part, prefix)
        prefix += _one(op, value)


def _parts(op: Any, value: Any) -> Sequence[Any]:
    """The patterns inside an operation: several for alternatives."""
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [value[2]]
    if op is codes.SUBPATTERN:
        return [value[3]]
    if op is codes.ATOMIC_GROUP:
        return [value]
    if op is codes.BRANCH:
        return list(value[1])
    return [value[1]] if op is codes.ASSERT else []


def _example(tokens: Any) -> str:
    """A text that the tokens match, or nearly."""
    return "".join(_one(op, value) for op, value in tokens)


def _one(op: Any, value: Any) -> str:
    if op is codes.LITERAL:
        return chr(value)
    if op is codes.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is codes.ANY:
        return "a"
    if op is codes.IN:
        return _member(value)
    parts = [] if op is codes.ASSERT else _parts(op, value)
    if not parts:
        return ""
    is_repeat = op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
    return _example(parts[0]) * (max(1, value[0]) if is_repeat else 1)


_CATEGORIES = {codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}


def _member(items: Any) -> str:
    """A character of a set; of an inverse set, a common one that is not excluded."""
    if items[0][0] is codes.NEGATE:
        excluded = {chr(value) for op, value in items if op is codes.LITERAL}
        return next((letter for letter in "ab1 ;" if letter not in excluded), "~")
    op, value = items[0]
    if op is codes.LITERAL:
        return chr(value)
    if op is codes.RANGE:
        return chr(value[0])
    return _CATEGORIES.get(value, ";")
