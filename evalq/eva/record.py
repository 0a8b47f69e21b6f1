"""The records beside an eva prompt: `.eval.jsonl` and `.usage.jsonl`, one JSON object a line."""

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalq.definitions.files import read_text, shown
from evalq.definitions.json_text import load_json
from evalq.errors import InputError, Problem

Row = Mapping[str, Any]

EVALS, USES = ".eval.jsonl", ".usage.jsonl"


def refuse_unwritable(path: Path) -> None:
    """Refuse before anything is spent what could not be recorded afterwards."""
    is_odd = path.is_symlink() or (path.exists() and not path.is_file())
    if is_odd or not os.access(path if path.exists() else path.parent, os.W_OK):
        remedy = "make it a plain file, in a folder you may write to"
        raise InputError(Problem("the result could not be recorded there", remedy, shown(path)))


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add one line, whole or not at all as others see it, and on the disk when this returns."""
    line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # a line on its way looks like a torn one
            # A line somebody was killed in the middle of must not swallow this one.
            os.write(handle, (b"\n" if _ends_torn(handle) else b"") + line)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as exc:
        message = f"the result was not recorded: {exc.strerror}"
        raise InputError(
            Problem(message, "make room or mend the file, and run it again", shown(path))
        ) from None


def _ends_torn(handle: int) -> bool:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode) or not state.st_size:
        return False
    return os.pread(handle, 1, state.st_size - 1) != b"\n"


def read_rows(path: Path) -> list[Row | Problem]:
    """The rows of a record in order, with what is wrong with those that are none; empty without a record."""
    lines = read_text(path).split("\n") if path.exists() else []
    return [_row(line, shown(path), number) for number, line in enumerate(lines, start=1) if line.strip()]


def _row(line: str, file: str, number: int) -> Row | Problem:
    try:
        value = load_json(line, file, first_line=number).value
    except InputError as exc:
        return exc.problems[0]
    return value if isinstance(value, dict) else Problem("not a JSON object", "remove it", file, number)
