"""Finds which keys a file has, without parsing all of it, so that formats can recognise their files."""

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
_MAX_YAML_CHARS = 200_000
_TOP_KEY = re.compile(r"^([\"']?)([A-Za-z_$][\w$-]*)\1[ \t]*:(?=\s)", re.MULTILINE)
_INNER_KEY = re.compile(
    r"(?:^[ \t]+(?:-[ \t]+)*|^-[ \t]+|[{,][ \t]*)([\"']?)([A-Za-z_$][\w$-]*)\1[ \t]*:(?=\s)", re.MULTILINE
)


@dataclass(frozen=True)
class FileKeys:
    """The keys of a file's mapping, or of the first entry if the file is a list or a table.

    `inner` holds the keys one level further in, as far as the file was read.
    """

    keys: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()
    is_list: bool = False

    def has(self, *names: str) -> bool:
        """Whether the file has at least one of these keys."""
        return not self.keys.isdisjoint(names)


NO_KEYS = FileKeys()


def sniff(path: Path) -> FileKeys:
    """Find a file's keys; return NO_KEYS for a file that is missing, unreadable or of another type."""
    try:
        state = path.stat()
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            return NO_KEYS
        return _sniff_content(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return NO_KEYS


@lru_cache(maxsize=32)  # every format asks in turn
def _sniff_content(path: Path, changed_ns: int, size: int) -> FileKeys:
    del changed_ns, size  # part of the cache key: a changed file is read again
    try:
        text = read_text(path)
        match path.suffix.lower():
            case ".csv":
                return FileKeys(frozenset(_header_names(text, str(path))), is_list=True)
            case ".jsonl":
                return _sniff_value(_first_entry_of_jsonl(text))
            case ".json":
                return _sniff_value(json.loads(text)) if len(text) <= MAX_TEXT_BYTES else NO_KEYS
            case _:
                return _sniff_yaml(text)
    except (InputError, ValueError, RecursionError):
        return NO_KEYS


def _header_names(text: str, file: str) -> list[str]:
    for _, cells in csv_rows(text, file):
        return [cell.strip().lower() for cell in cells]
    return []


def _first_entry_of_jsonl(text: str) -> list[Any] | None:
    for line in text.split("\n"):
        if line.strip():
            value = json.loads(line)
            return [value] if isinstance(value, dict) else None
    return None


def _sniff_yaml(text: str) -> FileKeys:
    """Find keys by their indentation; parse only a list, or a mapping that is all in brackets."""
    keys = frozenset(found[2] for found in _TOP_KEY.finditer(text))
    if keys:
        return FileKeys(keys, frozenset(found[2] for found in _INNER_KEY.finditer(text)))
    entries = [found.start() for found in re.finditer(r"^- ", text, re.MULTILINE)]
    beginning = text[: entries[1]] if len(entries) > 1 else text[:_MAX_YAML_CHARS]
    return _sniff_value(load_anchored_yaml(beginning, "").value)


def _sniff_value(value: Any) -> FileKeys:
    if isinstance(value, dict):
        return FileKeys(frozenset(value), _inner_keys(value.values()))
    if not isinstance(value, list):
        return NO_KEYS
    first = value[0] if value else None
    if not isinstance(first, dict):
        return FileKeys(inner=_inner_keys([first]), is_list=True)
    return FileKeys(frozenset(first), _inner_keys([first]), is_list=True)


def _inner_keys(values: Iterable[Any]) -> frozenset[str]:
    """Return the keys of mappings among these values, and of the first entry of each list."""
    keys: set[str] = set()
    for value in values:
        inside = value[0] if isinstance(value, list) and value else value
        if isinstance(inside, dict):
            keys.update(inside)
    return frozenset(keys)
