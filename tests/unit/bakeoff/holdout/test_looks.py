"""Nothing is written into a holdout, however it is addressed."""

from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff.holdout import chain
from evalq.bakeoff.holdout.chain import LogEntry
from evalq.bakeoff.holdout.guard import refuse_reading, refuse_writing
from evalq.bakeoff.holdout.looks import freeze
from evalq.definitions.files import file_sha256
from evalq.errors import InputError, Refused

CASES = "cases: [{id: a, inputs: {q: x}}]\n"


def refused(path: Path, root: Path) -> bool:
    try:
        refuse_writing(path, task="t", root=root)
    except Refused:
        return True
    return False


def make(root: Path, name: str, text: str = CASES) -> Path:
    path = root / "evalsets" / "t" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", ["holdout-9.yaml", "Holdout-9.yaml", "holdout-x.jsonl"])
def test_a_holdout_by_its_name_is_refused_whether_it_is_there_or_not(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / name, tmp_path)
    assert refused(make(tmp_path, name), tmp_path)


def test_a_holdout_behind_a_link_or_by_the_name_inside_is_refused(tmp_path: Path) -> None:
    holdout = make(tmp_path, "holdout-9.yaml")
    link = holdout.with_name("dev.yaml")
    link.symlink_to(holdout)
    assert refused(link, tmp_path)
    assert refused(make(tmp_path, "mine.yaml", "name: holdout-9\n" + CASES), tmp_path)


def test_a_set_the_log_speaks_of_is_refused_under_any_name(tmp_path: Path) -> None:
    path = make(tmp_path, "dev.yaml")
    entry = LogEntry("freeze", "2026-01-01T00:00:00+00:00", "t", "holdout-9", file_sha256(path), "c")
    log = path.with_name("holdout-runs.log")
    log.write_bytes(chain.line_of(chain.next_link(entry.fields(), None)))
    assert refused(path, tmp_path)
    assert not refused(make(tmp_path, "other.yaml", CASES + "\n"), tmp_path)


def test_any_other_set_may_be_written(tmp_path: Path) -> None:
    assert not refused(make(tmp_path, "dev.yaml"), tmp_path)
    assert not refused(make(tmp_path, "broken.yaml", "cases: ["), tmp_path)
    assert not refused(tmp_path / "new.yaml", tmp_path)


def test_no_case_of_a_holdout_is_an_example(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="none of its cases is shown to a model"):
        refuse_reading(make(tmp_path, "holdout-9.yaml"), task="t", root=tmp_path)
    refuse_reading(make(tmp_path, "dev.yaml"), task="t", root=tmp_path)


def test_a_set_with_drafts_in_it_is_not_frozen(tmp_path: Path) -> None:
    make(tmp_path, "holdout-9.yaml", "cases: [{id: a, inputs: {q: x}, draft: true}]\n")
    no_database: Any = None
    with pytest.raises(InputError, match="1 of its cases are drafts"):
        freeze(no_database, tmp_path, name="holdout-9", task="t")
