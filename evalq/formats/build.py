"""Builds what every importer needs: validated graders, names, and unique case ids."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.definitions.definition import NAME_PATTERN
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.definitions.template import names_builtin_rubric
from evalq.errors import Problem
from evalq.formats.problems import ImportWarnings

MAX_TOKENS = 8192
"""Of an answer, for formats that set no limit."""

MAX_SAMPLES = 1000
"""Of each case, however many a file asks for."""

_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)
_MAX_NAME_CHARS = 100
_MAX_ID_CHARS = 200
_GENERIC_NAMES = frozenset({"eval", "evals", "dataset", "tests", "test", "promptfooconfig", "baseline"})


def build_grader(fields: Mapping[str, Any]) -> GraderConfig:
    """Build a grader, leaving out fields that are None; raise ValueError for invalid ones."""
    written = {key: value for key, value in fields.items() if value is not None}
    try:
        return _GRADER.validate_python(written)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{place}: {message}" if place else message) from None


def plain_rubric(text: str) -> str:
    """Turn a text, stripped, into a rubric that means the same."""
    return escape_rubric(text.strip())


def escape_rubric(text: str) -> str:
    """Keep a text from having placeholders, and from being the name of a built-in rubric."""
    escaped = text.replace("{", "{{").replace("}", "}}")
    return f"{escaped}." if names_builtin_rubric(escaped) else escaped


def as_name(text: str | None) -> str | None:
    """Turn a text into a name, with dashes for invalid characters; None if nothing is left."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", text or "").strip("-._")[:_MAX_NAME_CHARS]
    return cleaned if re.fullmatch(NAME_PATTERN, cleaned) else None


def set_name(path: Path) -> str:
    """Name an evalset by its file, without the suffixes."""
    stem = path.name.partition(".")[0] or path.stem
    return as_name(stem) or "imported"


def task_name(path: Path, own: str | None = None) -> str:
    """Name a task as the file names itself, else by its file or its folders: the first telling name."""
    named = as_name(own)
    if named:
        return named
    folder = path.resolve().parent
    for written in (path.name.partition(".")[0], folder.name, folder.parent.name):
        name = as_name(written)
        if name and written.lower() not in _GENERIC_NAMES:
            return name
    return "imported"


def short_id(text: str) -> str:
    """Return the text if it is short enough for an id, else its beginning and a hash."""
    if len(text) <= _MAX_ID_CHARS:
        return text
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: _MAX_ID_CHARS - 10]}…{mark}"


def with_unique_ids(
    groups: Iterable[tuple[Sequence[EvalCase], Problem]], warnings: ImportWarnings
) -> tuple[list[EvalCase], dict[str, int]]:
    """Give every case an id of its own; return the cases and the line of each.

    A group is the cases of one test, with a `Problem` that has the test's file and line.
    """
    seen: Counter[str] = Counter()
    kept: list[EvalCase] = []
    lines: dict[str, int] = {}
    for cases, place in groups:
        for case in cases:
            seen[case.id] += 1
            if seen[case.id] > 1:
                new_id = _find_free_id(case.id, seen)
                message = f"id {case.id!r} is used twice: this one is called {new_id!r}"
                warnings.add(Problem(message, "give every test an id of its own", place.file, place.line))
                case = case.model_copy(update={"id": new_id})
                seen[new_id] += 1
            kept.append(case)
            lines[case.id] = place.line
    return kept, lines


def _find_free_id(case_id: str, taken: Counter[str]) -> str:
    number = 2
    while short_id(f"{case_id}#{number}") in taken:
        number += 1
    return short_id(f"{case_id}#{number}")
