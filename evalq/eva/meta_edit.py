"""Changing single values of a meta.yml and nothing else: comments, order and line ends stay."""

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalq.definitions.files import shown
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

_REMEDY = "write each key on a line of its own, 'key: value', or change it by hand"
_LINE = re.compile(
    rb"""(?P<key>['"]?[A-Za-z_]+['"]?[ \t]*:[ \t]*)"""
    rb"""(?:(?P<quote>['"])[^'"]*(?P=quote)|[^\s#'"][^#\r\n]*?|)"""
    rb"""(?P<rest>[ \t]*|[ \t]+\#[^\r\n]*)(?P<end>\r\n|\r|\n|)"""
)


def change(path: Path, values: Mapping[str, str]) -> None:
    """Give some of a file's top keys other values, at once or not at all."""
    try:
        before = path.read_bytes()
        after = changed(before, values, file=shown(path))
        _replace(path, after)
    except OSError as exc:
        raise InputError(
            Problem(f"it cannot be changed: {exc.strerror}", "check the file", shown(path))
        ) from None


def changed(content: bytes, values: Mapping[str, str], *, file: str) -> bytes:
    """The content with these values for its top keys; InputError where another byte would have to change."""
    located = load_yaml(content.decode("utf-8-sig"), file)
    lines = content.splitlines(keepends=True)
    for key, value in values.items():
        if key in located.value:
            at = located.lines[(key,)] - 1
            lines[at] = _with_value(lines[at], value, file)
        else:
            lines = _with_line(lines, f"{key}: {value}".encode())
    after = b"".join(lines)
    # Read again: YAML has more ways to write a value than this knows.
    if _value_of(after) != {**located.value, **values}:
        raise InputError(Problem("its values cannot be changed in place", _REMEDY, file))
    return after


def _value_of(content: bytes) -> Any:
    try:
        return load_yaml(content.decode("utf-8-sig"), "").value
    except InputError:
        return None


def _with_value(line: bytes, value: str, file: str) -> bytes:
    found = _LINE.fullmatch(line.removeprefix(b"\xef\xbb\xbf"))
    if not found:
        raise InputError(Problem("its values cannot be changed in place", _REMEDY, file))
    quote, key = found["quote"] or b"", found["key"]
    mark = line[: len(line) - len(found[0])]
    return (
        mark
        + key
        + (b" " if key.endswith(b":") else b"")
        + quote
        + value.encode()
        + quote
        + found["rest"]
        + found["end"]
    )


def _with_line(lines: list[bytes], line: bytes) -> list[bytes]:
    """One more line at the end, with the line ends that the others have."""
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    if lines and not lines[-1].endswith((b"\n", b"\r")):
        lines = [*lines[:-1], lines[-1] + end]
    return [*lines, line + end]


def _replace(path: Path, content: bytes) -> None:
    """Put the new content in the place of the old in one step, with its permissions."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
