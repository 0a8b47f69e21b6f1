"""JSONPath as users write it, parsed once; and the plainer dotted paths with wildcards."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalq.definitions.definition import ABSENT

if TYPE_CHECKING:
    from jsonpath_ng.jsonpath import JSONPath

MAX_PATH_CHARS = 500

_PART = re.compile(r"\[(\d+|\*)\]|((?:\\.|[^.\[\]\\])+)")


def check_json_path(path: str) -> None:
    """ValueError, with a remedy, for what is no JSONPath, or one that could take forever."""
    parsed_json_path(path)


@lru_cache(maxsize=128)
def parsed_json_path(path: str) -> "JSONPath":
    """The path, ready to look with."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.parser import parse

    # Each `..` visits everything below everything the one before it found; | and & are on their way out.
    if len(path) > MAX_PATH_CHARS or path.count("..") > 1 or "|" in path or "&" in path:
        raise ValueError("too much of a path; write a shorter one, with '..' once at most, without | and &")
    try:
        return parse(path)
    except (JSONPathError, RecursionError):
        raise ValueError("not a JSONPath; write one such as $.items[0].name or $..name") from None


@lru_cache(maxsize=1024)
def dotted_parts(path: str) -> tuple[str, ...]:
    """The parts of `users.*.id` or `users[0].id`; a dot inside a key is written with a backslash before it.

    `*` stands for any one key or place in a list, `**` for any number of them.
    """
    parts, rest = [], path
    while rest:
        found = _PART.match(rest)
        if not found:
            break
        parts.append(found[1] or re.sub(r"\\(.)", r"\1", found[2]))
        rest = rest[found.end() :]
        if rest[:1] == "." and rest[1:]:
            rest = rest[1:]
        elif rest[:1] != "[":
            break
    if rest or not parts:
        raise ValueError(f"{path[:60]!r} is not a path; write keys with dots between them: users.*.id")
    if parts.count("**") > 1:
        raise ValueError(f"{path[:60]!r} leaves too much open; write ** once at most")
    return tuple(parts)


def value_at(document: Any, path: str) -> Any:
    """What stands at a dotted path without wildcards; ABSENT where nothing does."""
    value = document
    for part in dotted_parts(path):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value
