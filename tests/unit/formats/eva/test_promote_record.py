"""The records beside a prompt: one line a run, whole, and readable whatever happened to the others."""

import json
import os
from multiprocessing import get_context
from pathlib import Path

import pytest

from evalq.errors import InputError, Problem
from evalq.formats.eva.promote import append_row, read_rows, refuse_unwritable


def test_a_row_is_one_line_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / ".eval.jsonl"
    append_row(path, {"a": 1})
    append_row(path, {"b": "ö\n"})
    assert path.read_text("utf-8") == '{"a": 1}\n{"b": "ö\\n"}\n'


def test_a_torn_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / ".eval.jsonl"
    path.write_text('{"a": 1}\n{"torn": ')
    append_row(path, {"b": 2})
    assert path.read_text().splitlines()[-1] == '{"b": 2}'
    first, torn, last = read_rows(path)
    assert (first, last) == ({"a": 1}, {"b": 2})
    assert isinstance(torn, Problem)
    assert torn.line == 2


def append_many(path: Path) -> None:
    for number in range(50):
        append_row(path, {"number": number, "text": "x" * 1000})


def test_rows_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / ".eval.jsonl"
    processes = [get_context("fork").Process(target=append_many, args=(path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 200


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_no_plain_file_is_refused_before_and_after(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".eval.jsonl"
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(InputError, match="could not be recorded"):
        refuse_unwritable(path)
    if kind != "pipe":
        with pytest.raises(InputError, match="was not recorded"):
            append_row(path, {})
    assert not (tmp_path / "elsewhere").exists()


def test_a_record_that_can_be_written_or_made_is_let_pass(tmp_path: Path) -> None:
    refuse_unwritable(tmp_path / ".eval.jsonl")
    (tmp_path / ".eval.jsonl").write_text("")
    refuse_unwritable(tmp_path / ".eval.jsonl")


def test_without_a_record_there_are_no_rows(tmp_path: Path) -> None:
    assert read_rows(tmp_path / ".usage.jsonl") == []


def test_a_line_that_is_no_object_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "r").write_text('[1]\n\n{"a": 1}\n')
    odd, row = read_rows(tmp_path / "r")
    assert isinstance(odd, Problem)
    assert row == {"a": 1}
