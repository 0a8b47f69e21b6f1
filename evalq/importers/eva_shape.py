"""Whether an eva prompt has the shape of a skill: its name, its description, and how much it says."""

import re
from collections.abc import Mapping
from typing import Any

from evalq.definitions.located import Located
from evalq.errors import Problem
from evalq.importers.finding import Notes

LONGEST_DESCRIPTION = 1024
MANY_WORDS, TOO_MANY_WORDS = 3500, 5000
MANY_LINES = 200

_RESERVED = ("claude", "anthropic")
_SAYS_WHEN = re.compile(r"\buse when\b", re.IGNORECASE)


def check_skill(notes: Notes, meta: Located) -> None:
    """What a skill's meta.yml must be like, beyond what every prompt's must."""
    value: Mapping[str, Any] = meta.value
    name = str(value.get("id", ""))
    for word in _RESERVED:
        if word in name.lower():
            remedy = "skills may not be named so; rename the folder and id"
            notes.problem(meta.problem(("id",), f"the id holds {word!r}", remedy))
    description = value.get("description")
    if isinstance(description, str) and description.strip():
        _check_description(notes, meta, description)


def _check_description(notes: Notes, meta: Located, description: str) -> None:
    loc = ("description",)
    if len(description) > LONGEST_DESCRIPTION:
        message = f"the description has {len(description)} characters, {LONGEST_DESCRIPTION} at most are read"
        notes.problem(meta.problem(loc, message, "shorten it"))
    if "<" in description or ">" in description:
        notes.problem(meta.problem(loc, "the description holds < or >", "write it without angle brackets"))
    if not _SAYS_WHEN.search(description):
        remedy = "add a sentence that begins 'Use when'"
        notes.warning(meta.problem(loc, "the description does not say when to use it", remedy))


def check_length(notes: Notes, text: str, file: str) -> None:
    """A prompt that says something, and no more than is read with care."""
    words, lines = len(text.split()), sum(1 for line in text.splitlines() if line.strip())
    if not words:
        notes.problem(Problem("the prompt is empty", "write what the model is to do", file))
    if words >= TOO_MANY_WORDS:
        remedy = f"keep it under {TOO_MANY_WORDS}; move details into files of their own"
        notes.problem(Problem(f"{words} words are too many", remedy, file))
    elif words >= MANY_WORDS:
        notes.warning(Problem(f"{words} words are many", f"keep it under {MANY_WORDS}", file))
    if lines >= MANY_LINES:
        notes.warning(
            Problem(f"{lines} lines that are not blank are many", f"keep it under {MANY_LINES}", file)
        )
