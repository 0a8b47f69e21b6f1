"""docs/architecture.md names what is there: every room, and no file that does not exist."""

import re
from pathlib import Path

import pytest

from benchmarks.house import module_map

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:evalq|workers)/[a-z_/.]+)`", PAGE))))
def test_a_file_named_on_the_page_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_room_has_a_row() -> None:
    rooms = {path.name for path in (ROOT / "evalq").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert [room for room in sorted(rooms) if f"| `evalq/{room}/` |" not in PAGE] == []


def test_the_map_has_one_line_for_every_module() -> None:
    lines = module_map()
    assert len(lines) == len(set(lines)) > 200
    assert "- `workers/jobs.py`: " in "\n".join(lines)
