"""Tables of the keys a definition has: type, bounds, default and meaning, read from the code."""

import ast
import inspect
import types
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from evalq.definitions.definition import ABSENT

KEYS_FILE = Path(__file__).with_name("keys.yaml")

_PLAIN_TYPES = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Decimal: "dollars",
    Path: "path",
    Any: "anything",
}
_MANY = 4


def key_table(model: type[BaseModel], *, without: Iterable[str] = (), words: bool = True) -> str:
    """A Markdown table of the model's keys, in the order they are written."""
    left_out = set(without)
    head = ["key", "type", "default", *(["means"] if words else [])]
    rows = []
    for name, field in model.model_fields.items():
        if name in left_out:
            continue
        row = [_name_cell(name, field), describe_type(field.annotation, field.metadata), _default_cell(field)]
        if words:
            row.append(meaning_of(model, name))
        rows.append(row)
    return markdown_table(head, rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The rows under their head; a bar inside a cell is escaped."""
    lines = [_table_line(head), _table_line(["---"] * len(head))]
    lines += [_table_line(row) for row in rows]
    return "\n".join(lines) + "\n"


def _table_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def meaning_of(model: type[BaseModel], name: str) -> str:
    """What a key means: the docstring under its field, else its words in keys.yaml."""
    for owner in model.__mro__:
        if name in _field_docstrings(owner):
            return _field_docstrings(owner)[name]
        if name in known_words().get(owner.__name__, {}):
            return known_words()[owner.__name__][name]
    raise KeyError(f"{model.__name__}.{name} has no words: add them to {KEYS_FILE.name}")


@cache
def known_words() -> dict[str, dict[str, str]]:
    """The words of keys.yaml, by class and key."""
    words: dict[str, dict[str, str]] = yaml.safe_load(KEYS_FILE.read_text("utf-8"))
    return words


@cache
def _field_docstrings(owner: type) -> dict[str, str]:
    """The strings that stand right under the fields of a class."""
    if not owner.__module__.startswith("evalq"):
        return {}
    body = ast.parse(inspect.cleandoc("\n" + inspect.getsource(owner))).body[0].body  # type: ignore[attr-defined]
    found = {}
    for field, text in pairwise(body):
        is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            words = " ".join(str(text.value.value).split()).rstrip(".")
            found[field.target.id] = words[:1].lower() + words[1:]
    return found


def _name_cell(name: str, field: FieldInfo) -> str:
    names = [name]
    if isinstance(field.validation_alias, AliasChoices):
        names += [str(choice) for choice in field.validation_alias.choices if choice != name]
    return " or ".join(f"`{one}`" for one in names)


def _default_cell(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    default = field.get_default(call_default_factory=True)
    if default is None or default is ABSENT or default is PydanticUndefined or default in ([], {}, ""):
        return "–"
    if isinstance(default, BaseModel):
        return "see below"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float):
        return f"`{default:g}`"
    return f"`{default}`"


def describe_type(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """The type in words, with its bounds: `number, 0 to 1`, `list of text`."""
    bounds = _bounds_of(metadata)
    name = _type_words(annotation)
    return f"{name}, {bounds}" if bounds else name


def _type_words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN_TYPES:
        return _PLAIN_TYPES[annotation]
    if origin is Annotated:
        return describe_type(arguments[0], _inner_metadata(arguments[1:]))
    if origin is Literal:
        return " · ".join(f"`{value}`" for value in arguments)
    if origin is list:
        return f"list of {_type_words(arguments[0])}" if arguments else "list"
    if origin is dict:
        return "mapping"
    if origin in (Union, types.UnionType):
        return _union_words([one for one in arguments if one is not type(None)])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return "anything"


def _union_words(members: Sequence[Any]) -> str:
    words = list(dict.fromkeys(_type_words(member) for member in members))
    return " or ".join(words) if len(words) <= _MANY else "mapping"


def _inner_metadata(parts: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        found += part.metadata if isinstance(part, FieldInfo) else [part]
    return found


def _bounds_of(metadata: Sequence[Any]) -> str:
    low = high = None
    above = False
    for part in metadata:
        low = getattr(part, "ge", low)
        if getattr(part, "gt", None) is not None:
            low, above = part.gt, True
        high = getattr(part, "le", high)
    if low is None and high is None:
        return ""
    if high is None:
        return f"above {low:,}" if above else f"from {low:,} on"
    return f"up to {high:,}" if low is None or above else f"{low:,} to {high:,}"
