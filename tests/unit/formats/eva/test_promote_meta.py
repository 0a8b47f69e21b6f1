"""Single values of a meta.yml are changed, and every other byte stays."""

import stat
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.eva.promote import edit_file, edit_values

NEW = {"status": "tested", "updated": "2026-11-17"}


def edit(text: str) -> str:
    return edit_values(text.encode(), NEW, file="meta.yml").decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("status: draft\nupdated: 2026-01-01\n", "status: tested\nupdated: 2026-11-17\n"),
        ("status:   draft  # so far\nupdated: x", "status:   tested  # so far\nupdated: 2026-11-17"),
        ("'status': 'draft'\nupdated: \"x\" #c\n", "'status': 'tested'\nupdated: \"2026-11-17\" #c\n"),
        ("updated: x\r\n\r\nstatus: draft\r\n", "updated: 2026-11-17\r\n\r\nstatus: tested\r\n"),
        ("\ufeffstatus: draft\nupdated: x\n", "\ufeffstatus: tested\nupdated: 2026-11-17\n"),
        ("status:\nupdated: x\n", "status: tested\nupdated: 2026-11-17\n"),
        ("status: draft\nupdated:   \n", "status: tested\nupdated:   2026-11-17\n"),
        (
            "a: {status: draft}\nstatus: draft\nupdated: x\n",
            "a: {status: draft}\nstatus: tested\nupdated: 2026-11-17\n",
        ),
        (
            "# status: draft\nstatus: draft\nupdated: x\n",
            "# status: draft\nstatus: tested\nupdated: 2026-11-17\n",
        ),
    ],
)
def test_only_the_values_change(before: str, after: str) -> None:
    assert edit(before) == after


@pytest.mark.parametrize(
    ("end", "before"), [("\n", "status: draft"), ("\n", "status: draft\n"), ("\r\n", "a: b\r\nstatus: draft")]
)
def test_a_key_that_is_missing_is_added_at_the_end(end: str, before: str) -> None:
    wanted = before.strip().replace("draft", "tested")
    assert edit(before) == f"{wanted}{end}updated: 2026-11-17{end}"


@pytest.mark.parametrize(
    "text",
    [
        "{status: draft, updated: x}\n",
        "status: |\n  draft\nupdated: x\n",
        "status: >-\n  draft\nupdated: x\n",
        "status:\n  draft\nupdated: x\n",
        "status: 'dra''ft'\nupdated: x\n",
        "? status\n: draft\nupdated: x\n",
        "status: {a: 1,\n  b: 2}\nupdated: x\n",
    ],
)
def test_what_cannot_be_changed_in_place_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot be changed in place"):
        edit(text)


def test_the_file_keeps_its_permissions_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "meta.yml"
    path.write_text("status: draft\nupdated: x\n")
    path.chmod(0o640)
    edit_file(path, NEW)
    assert path.read_text() == "status: tested\nupdated: 2026-11-17\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it cannot be changed: No such file"):
        edit_file(tmp_path / "meta.yml", NEW)


def test_a_disk_without_room_leaves_the_file_as_it_was(small_disk: Path) -> None:
    path = small_disk / "meta.yml"
    path.write_text(f"status: draft\nupdated: x\nnotes: {'n' * 600_000}\n")
    before = path.read_bytes()
    with pytest.raises(InputError, match="it cannot be changed: No space left"):
        edit_file(path, NEW)
    assert path.read_bytes() == before
    assert list(small_disk.iterdir()) == [path]
