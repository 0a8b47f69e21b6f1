"""What a skill says of itself: the description in its SKILL.md, looked for near the file that names it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalq.definitions.validation import is_name
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError
from evalq.importers.attachments import folders_above, repository_of
from evalq.importers.paths import read_inside

SKILL_FILE = "SKILL.md"
FOLDERS = ("skills", ".claude/skills", ".agents/skills")

_FENCE = "---"


def described_skill(name: str, folder: Path) -> str:
    """The description of the skill of this name, "" when none is found up to the repository's root."""
    if not is_name(name):
        return ""
    root = repository_of(folder)
    for place in (place for parent in folders_above(folder) for place in _places(name, parent)):
        front = _front(place, root)
        is_its = place.parent.name == name or _said(front, "name") == name
        if is_its and (description := _said(front, "description")):
            return description
    return ""


def _places(name: str, parent: Path) -> Iterator[Path]:
    """The skill's own folder, if we are in it, and where skills are kept."""
    yield parent / SKILL_FILE
    yield from (parent / folder / name / SKILL_FILE for folder in FOLDERS)


def _front(path: Path, root: Path) -> str:
    if not path.is_file():
        return ""
    try:
        return _front_matter(read_inside(str(path.relative_to(root)), (root,)))
    except InputError:
        return ""


def _said(front: str, key: str) -> str:
    try:
        value: Any = load_yaml(front, SKILL_FILE).value
    except InputError:  # descriptions hold colons, and are seldom put in quotes for it
        return _by_hand(front, key)
    said = value.get(key) if isinstance(value, dict) else None
    return said.strip() if isinstance(said, str) else ""


def _by_hand(front: str, key: str) -> str:
    """What follows the key on its line, and on the lines indented below it."""
    found = re.search(rf"^{key}:[ \t]*(.*(?:\n[ \t]+.*)*)", front, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _front_matter(text: str) -> str:
    """What stands between the first two lines of dashes."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FENCE:
        return ""
    ends = [i for i, line in enumerate(lines[1:], start=1) if line.strip() == _FENCE]
    return "\n".join(lines[1 : ends[0]]) if ends else ""
