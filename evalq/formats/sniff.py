"""A first glance at a file: which keys it has, without reading all of it with care."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalq.definitions.files import csv_rows, read_text
from evalq.definitions.located import MAX_TEXT_BYTES
from evalq.definitions.yaml_text import load_anchored_yaml
from evalq.errors import InputError

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv")
_SMALL = 200_000
_TOP_KEY = re.compile(r"^([\"']?)([A-Za-z_$][\w$-]*)\1[ \t]*:(?=\s)", re.MULTILINE)
_INNER_KEY = re.compile(
    r"(?:^[ \t]+(?:-[ \t]+)*|^-[ \t]+|[{,][ \t]*)([\"']?)([A-Za-z_$][\w$-]*)\1[ \t]*:(?=\s)", re.MULTILINE
)


@dataclass(frozen=True)
class Glance:
    """The keys of a file's mapping, or of the first entry where it is a list or a table.

    `inner` are the keys further in, as far as they were looked at.
    """

    keys: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()
    is_list: bool = False

    def has(self, *names: str) -> bool:
        """Whether one of these is among the keys."""
        return not self.keys.isdisjoint(names)


NOTHING = Glance()


def glance(path: Path) -> Glance:
    """What a file seems to hold; nothing for what is not there, no file, or cannot be read."""
    try:
        state = path.stat()
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            return NOTHING
        return _glanced(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return NOTHING


@lru_cache(maxsize=32)  # every format asks in turn
def _glanced(path: Path, changed_ns: int, size: int) -> Glance:
    del changed_ns, size  # another file at the same path is another question
    try:
        text = read_text(path)
        match path.suffix.lower():
            case ".csv":
                return Glance(frozenset(_header(text, str(path))), is_list=True)
            case ".jsonl":
                return _of_value(_first_line(text))
            case ".json":
                return _of_value(json.loads(text) if len(text) <= MAX_TEXT_BYTES else None)
            case _:
                return _of_yaml(text)
    except (InputError, ValueError, RecursionError):
        return NOTHING


def _header(text: str, file: str) -> Iterable[str]:
    _, cells = next(iter(csv_rows(text, file)), (1, []))
    return [cell.strip().lower() for cell in cells]


def _first_line(text: str) -> Any:
    line = next((line for line in text.split("\n") if line.strip()), "null")
    value = json.loads(line)
    return [value] if isinstance(value, dict) else None


def _of_value(value: Any) -> Glance:
    if isinstance(value, dict):
        return Glance(frozenset(value), frozenset(_inner_keys(value.values())))
    first = value[0] if isinstance(value, list) and value else None
    keys = frozenset(first) if isinstance(first, dict) else frozenset()
    return Glance(keys, frozenset(_inner_keys([first])), is_list=isinstance(value, list))


def _inner_keys(values: Iterable[Any]) -> Iterable[str]:
    """The keys of mappings inside these values, and of the first of a list."""
    for value in values:
        inside = value[0] if isinstance(value, list) and value else value
        if isinstance(inside, dict):
            yield from inside


def _of_yaml(text: str) -> Glance:
    """By its lines: a key of the whole stands at their beginning, unless all is written in brackets."""
    keys = frozenset(found[2] for found in _TOP_KEY.finditer(text))
    if keys:
        return Glance(keys, frozenset(found[2] for found in _INNER_KEY.finditer(text)))
    return _of_value(load_anchored_yaml(_first_entry(text), "").value)


def _first_entry(text: str) -> str:
    """The beginning of a list, as far as its second entry; small files whole."""
    begins = [found.start() for found in re.finditer(r"^- ", text, re.MULTILINE)]
    return text[: begins[1]] if len(begins) > 1 else text[:_SMALL]
