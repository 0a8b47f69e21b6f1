"""The holdout log in Postgres and in its file: one chain, whoever writes; nothing is continued on a lie."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from holdout_change import change

from evalq.bakeoff import holdout
from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.holdout import log as ledger
from evalq.bakeoff.holdout.guard import audit
from evalq.bakeoff.holdout.log import read_logs
from evalq.bakeoff.holdout.looks import freeze
from evalq.bakeoff.plan import Plan
from evalq.errors import InputError, Refused
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]


def said(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_many_at_once_write_one_chain_without_gaps(
    db: Database, root: Path, file: Path, held_out: Callable[..., Plan], at_once: Callable[..., list[Any]]
) -> None:
    plan = held_out()
    looks = at_once(lambda: holdout.open_look(db, root, plan, purpose="final-decision"), 12)
    assert sorted(int(look.head.split(":")[0]) for look in looks) == list(range(1, 13))
    assert ledger.find_breaks(db, "capitals") == []
    assert file.read_bytes() == b"".join(ledger.read_lines(db, "capitals"))
    assert audit(db, root, "capitals").findings == ()


def test_the_intent_is_there_before_the_bake_off_and_the_result_with_its_conclusion(
    db: Database, file: Path, root: Path, decide: Callable[..., int], held_out: Callable[..., Plan]
) -> None:
    bakeoff_id = decide()
    intent, result = (link.fields for link in read_logs(db)[0].links)
    assert (intent["kind"], intent["run_type"], intent["judges"]) == ("intent", "final-decision", ["sim-a"])
    assert intent["set_sha256"] == held_out().set_sha256
    assert intent["bakeoff_uid"] == result["bakeoff_uid"] == str(bakeoffs.get(db, bakeoff_id).uid)
    assert (result["kind"], result["bakeoff_id"], result["state"]) == ("result", bakeoff_id, "concluded")
    assert result["runs"] == [{"judge": "sim-a", "n": 3, "n_pass": 3, "accuracy": 1.0}]
    assert Decimal(result["spent_usd"]) == Decimal("0.000102")
    assert [entry["kind"] for entry in said(file)] == ["intent"]
    assert holdout.complete_files(db, root) == []
    assert [entry["kind"] for entry in said(file)] == ["intent", "result"]


def test_a_result_says_where_the_log_stood_when_it_was_written(
    db: Database, decide: Callable[..., int]
) -> None:
    first = decide()
    head = holdout.head(db, "capitals")
    decide()
    assert result_of(db, first).holdout_head == head
    assert holdout.head(db, "capitals") != head


def test_a_second_look_is_counted_and_a_drift_check_is_none(db: Database, decide: Callable[..., int]) -> None:
    decide()
    decide(run_type="drift_check")
    second = result_of(db, decide())
    assert second.holdout_look == 2
    assert second.warnings[0].startswith("this is look 2 at holdout-3")
    document = read_logs(db)[0].document()
    assert document["sets"] == {"holdout-3": {"looks": 2, "drift_checks": 1}}


def test_closing_a_look_again_writes_nothing_new(
    db: Database, root: Path, held_out: Callable[..., Plan], decide: Callable[..., int]
) -> None:
    bakeoff_id = decide()
    row, head = bakeoffs.get(db, bakeoff_id), holdout.head(db, "capitals")
    look = holdout.Look(row.uid, "capitals", "final-decision", head or "")
    holdout.close_look(db, look, result_of(db, bakeoff_id))
    assert holdout.head(db, "capitals") == head
    other = result_of(db, bakeoff_id)
    holdout.close_look(db, look, replace(other, spent_usd=Decimal(1)))
    assert holdout.head(db, "capitals") != head


def test_a_result_without_intent_is_none(db: Database, record: Callable[..., int]) -> None:
    bakeoff_id = record()
    look = holdout.Look(bakeoffs.get(db, bakeoff_id).uid, "capitals", "final-decision", "")
    holdout.close_look(db, look, result_of(db, bakeoff_id))
    assert holdout.head(db, "capitals") is None


def test_nobody_gets_past_the_guard_by_starting_a_bake_off_directly(
    db: Database, root: Path, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    with pytest.raises(Refused, match="a smoke is not a reason to look at it"):
        decide(run_type="smoke")
    assert sql("SELECT count(*) FROM bakeoffs") == [(0,)]
    assert not file.exists()


def test_a_log_that_cannot_be_believed_says_so_where_it_is_read(
    db: Database, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    assert read_logs(db)[0].document()["intact"] is True
    sql("UPDATE holdout_log SET line = replace(line, 'sim-a', 'sim-b') WHERE seq = 1")
    (log,) = read_logs(db)
    assert log.document()["intact"] is False
    assert [line for line in log.remarks() if "BROKEN at line 1: it was changed" in line]


def test_an_intent_without_result_shows_what_became_of_it(
    db: Database, root: Path, decide: Callable[..., int], held_out: Callable[..., Plan]
) -> None:
    decide(is_ended=False)
    holdout.open_look(db, root, held_out(), purpose="final-decision")
    (log,) = read_logs(db, "capitals")
    assert [row[-1] for row in log.rows()] == [
        "NO RESULT: bake-off is running",
        "NO RESULT: no bake-off was recorded",
    ]
    assert [entry["open"] for entry in log.document()["entries"]] == [True, True]


def test_a_file_that_is_behind_gets_the_missing_lines(
    db: Database, root: Path, file: Path, decide: Callable[..., int]
) -> None:
    for _ in range(2):
        decide()
    holdout.complete_files(db, root)
    whole = file.read_bytes()
    for kept in (whole[:10], whole[: whole.index(b"\n") + 1], b""):
        file.write_bytes(kept)
        assert holdout.complete_files(db, root) == []
        assert file.read_bytes() == whole


def test_a_database_that_is_younger_than_the_file_takes_its_lines_over(
    db: Database, root: Path, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    holdout.complete_files(db, root)
    sql("DELETE FROM holdout_log")
    assert result_of(db, decide()).holdout_look == 2
    assert [entry["seq"] for entry in said(file)] == [1, 2, 3]
    assert ledger.find_breaks(db, "capitals") == []


def test_a_file_that_contradicts_refuses_the_look_and_names_the_line(
    db: Database, root: Path, file: Path, decide: Callable[..., int]
) -> None:
    decide()
    decide()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[1].replace(b"sim-a", b"sim-b"), *lines[2:]]))
    before = holdout.head(db, "capitals")
    with pytest.raises(Refused, match=r"holdout-runs\.log:2: was changed"):
        decide()
    assert holdout.head(db, "capitals") == before
    assert holdout.complete_files(db, root) != []


def test_a_file_with_other_lines_than_the_database_refuses_the_look(
    db: Database, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    file_of_another = file.read_bytes()
    sql("DELETE FROM holdout_log")
    file.unlink()
    decide()
    file.write_bytes(file_of_another)
    with pytest.raises(Refused, match=r"holdout-runs\.log:1: is not the line that the database holds"):
        decide()


def test_a_broken_chain_in_the_database_is_not_continued(
    db: Database, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    decide()
    sql("DELETE FROM holdout_log WHERE seq = 2")
    file.unlink()
    with pytest.raises(Refused, match="is broken at line 2 in the database"):
        decide()


@pytest.fixture
def unwritable(file: Path) -> Path:
    """A log that nobody can write to, not even root."""
    file.mkdir()
    return file


def test_a_log_that_cannot_be_written_refuses_the_look_before_any_row(
    db: Database, unwritable: Path, decide: Callable[..., int], sql: Sql
) -> None:
    with pytest.raises(Refused, match=r"holdout-runs\.log cannot be written \(Is a directory\)"):
        decide()
    assert sql("SELECT (SELECT count(*) FROM bakeoffs), (SELECT count(*) FROM holdout_log)") == [(0, 0)]


def test_a_drift_check_goes_on_without_a_file(
    db: Database, unwritable: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide(run_type="drift_check")
    assert sql("SELECT count(*) FROM holdout_log") == [(2,)]


def test_a_full_disk_refuses_the_look_and_leaves_the_file_as_it_was(
    db: Database, small_disk: Path, held_out: Callable[..., Plan]
) -> None:
    plan, log = held_out(), small_disk / "evalsets" / "capitals" / "holdout-runs.log"
    holdout.open_look(db, small_disk, plan, purpose="final-decision")
    fill(small_disk / "ballast")
    # A few lines still fit in the page already taken.
    assert "cannot be written (No space left on device)" in refusal_after_a_while(db, small_disk, plan)
    assert log.read_bytes() == b"".join(ledger.read_lines(db, "capitals"))
    (small_disk / "ballast").unlink()
    holdout.open_look(db, small_disk, plan, purpose="final-decision")
    assert audit(db, small_disk, "capitals").n_file_lines == len(ledger.read_lines(db, "capitals"))


def refusal_after_a_while(db: Database, root: Path, plan: Plan) -> str:
    for _ in range(20):
        try:
            holdout.open_look(db, root, plan, purpose="final-decision")
        except Refused as refusal:
            return str(refusal)
    return "never refused"


def fill(path: Path) -> None:
    """Leave a disk with no room."""
    with path.open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(b"x" * 4096)


def test_a_look_without_a_project_is_in_the_database_alone(
    db: Database, root: Path, file: Path, held_out: Callable[..., Plan]
) -> None:
    holdout.open_look(db, None, held_out(), purpose="drift_check")
    assert not file.exists()
    assert holdout.complete_files(db, root) == []
    assert [entry["run_type"] for entry in said(file)] == ["drift_check"]


def test_a_project_that_has_nothing_of_a_task_gets_no_file_of_it(
    db: Database, tmp_path: Path, held_out: Callable[..., Plan]
) -> None:
    holdout.open_look(db, None, held_out(), purpose="drift_check")
    assert holdout.complete_files(db, tmp_path / "elsewhere") == []
    assert not (tmp_path / "elsewhere").exists()


def test_a_set_that_changed_since_it_was_looked_at_is_refused(
    db: Database, root: Path, decide: Callable[..., int]
) -> None:
    decide()
    change(root)
    with pytest.raises(
        Refused, match=r"is not what it was.*line 1 of the log \(intent of .*--again --reason WHY"
    ):
        decide()


def test_a_set_is_frozen_once_and_again_only_for_a_reason(
    db: Database, root: Path, decide: Callable[..., int]
) -> None:
    first = freeze(db, root, name="holdout-3", task="capitals")
    assert first.is_new
    assert not freeze(db, root, name="holdout-3", task="capitals").is_new
    change(root)
    with pytest.raises(Refused, match="is not what it was"):
        freeze(db, root, name="holdout-3", task="capitals")
    again = freeze(db, root, name="holdout-3", task="capitals", reason="a typo in case 2")
    assert again.set_sha256 != first.set_sha256
    decide()
    assert "again: a typo in case 2" in list(read_logs(db)[0].rows())[1][-1]


def test_only_a_holdout_can_be_frozen(db: Database, root: Path) -> None:
    folder = root / "evalsets" / "capitals"
    (folder / "holdout-3.jsonl").rename(folder / "dev-3.jsonl")
    with pytest.raises(InputError, match="rename it to holdout-dev-3"):
        freeze(db, root, name="dev-3", task="capitals")


def test_the_task_of_a_set_is_found_by_its_folder_or_by_its_name(db: Database, root: Path) -> None:
    path = root / "evalsets" / "capitals" / "holdout-3.jsonl"
    assert freeze(db, root, name=str(path), task=None).task == "capitals"
    with pytest.raises(InputError, match="no tasks have a set 'holdout-3'"):
        freeze(db, root, name="holdout-3", task=None)
    (root / "tasks").mkdir()
    (root / "tasks" / "capitals.yaml").touch()
    assert freeze(db, root, name="holdout-3", task=None).task == "capitals"
