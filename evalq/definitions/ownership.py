"""Decides whether a file may be replaced: only one that evalq wrote, or with --force."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path
from evalq.errors import InputError, Problem

_MAX_BYTES = 256_000_000
_REMEDY = "name another, or replace it with --force"


def refuse_foreign(path: Path, *, is_ours: Callable[[str], bool], force: bool = False) -> None:
    """Raise InputError if the path holds something that evalq did not write; pipes and devices never do."""
    if force and not path.is_dir():
        return
    try:
        if path.is_dir():
            raise InputError(Problem("is a folder", "name a file", display_path(path)))
        if not path.is_file():
            return
        is_replaceable = path.stat().st_size <= _MAX_BYTES and is_ours(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        is_replaceable = False
    if not is_replaceable:
        raise InputError(Problem("is there already, and evalq did not write it", _REMEDY, display_path(path)))


def is_own_document(text: str) -> bool:
    """Whether a text is one of evalq's JSON documents, which name their schema."""
    schema = _read_key(text, "schema")
    return isinstance(schema, str) and schema.startswith("evalq.")


def _read_key(text: str, key: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value.get(key) if isinstance(value, dict) else None
