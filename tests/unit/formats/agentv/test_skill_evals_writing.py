from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.agentv.skill_evals import write_together


def test_files_are_written_and_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    write_together(folder, {"a.json": "old"})
    texts = {"a.json": "é\n", "b.json": "2"}
    assert write_together(folder, texts, force=True) == [folder / "a.json", folder / "b.json"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "a.json": "é\n".encode(),
        "b.json": b"2",
    }


def test_a_folder_in_the_way_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "b.json").mkdir()
    with pytest.raises(InputError, match=r"b\.json: is a folder"):
        write_together(tmp_path, {"a.json": "1", "b.json": "2"})
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_a_name_too_long_leaves_no_half(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: File name too long; choose"):
        write_together(tmp_path, {"a.json": "1", "b" * 300: "2"})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_what_was_there(small_disk: Path) -> None:
    (small_disk / "a.json").write_text("old")
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_together(small_disk, {"a.json": "new", "b.json": "x" * 2_000_000}, force=True)
    assert {path.name: path.read_text() for path in small_disk.iterdir()} == {"a.json": "old"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written: "):
        write_together(tmp_path / "file", {"a.json": "1"})
