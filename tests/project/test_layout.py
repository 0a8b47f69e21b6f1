"""The unit tests of a module are in its room, in `test_MODULE.py` or `test_MODULE_BEHAVIOUR.py`."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"
FILES = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_unit_test_is_named_for_a_module_of_its_room(file: Path) -> None:
    room = ROOT / file.parent if file.parts[0] == "workers" else ROOT / "evalq" / file.parent
    assert room.is_dir(), f"there is no room {room.relative_to(ROOT)}"
    # What is tested through the room's `__init__` bears the room's own name.
    modules = [room.name, *(path.stem for path in room.iterdir())]
    subject = file.stem.removeprefix("test_")
    assert any(subject == name or subject.startswith(f"{name}_") for name in modules), (
        f"no module of {room.relative_to(ROOT)} is tested by {file.name}"
    )
