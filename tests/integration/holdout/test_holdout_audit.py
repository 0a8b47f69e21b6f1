"""The log of looks at holdout sets, audited: what was changed, where, in which copy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdout_change import change

from evalq.bakeoff import fsck, holdout
from evalq.bakeoff.holdout.chain import parse_anchor
from evalq.bakeoff.holdout.guard import audit, audited_tasks
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]


def test_an_audit_names_the_line_in_each_copy_and_the_changed_set(
    db: Database, root: Path, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    decide()
    holdout.complete_files(db, root)
    sql("UPDATE holdout_log SET line = replace(line, 'sim-a', 'sim-b') WHERE seq = 2")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[1], lines[0], lines[2]]))
    change(root)
    findings = [
        (one.where.split("/")[-1], one.line, one.kind) for one in audit(db, root, "capitals").findings
    ]
    assert findings == [
        ("database", 2, "edit"),
        ("holdout-runs.log", 1, "swap"),
        ("holdout-runs.log", 2, "swap"),
        ("holdout-runs.log", 1, "disagreement"),
        ("database", 3, "set"),
    ]


def test_an_end_cut_off_everywhere_is_found_against_an_anchor(
    db: Database, root: Path, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    anchor = parse_anchor(holdout.head(db, "capitals") or "")
    sql("DELETE FROM holdout_log WHERE seq = 2")
    assert audit(db, root, "capitals").findings == ()
    found = audit(db, root, "capitals", anchor=anchor).findings
    assert [(one.line, one.kind) for one in found] == [(2, "truncation"), (2, "truncation")]


def test_a_file_alone_can_be_audited_where_the_database_knows_nothing(
    db: Database, root: Path, file: Path, decide: Callable[..., int], sql: Sql
) -> None:
    decide()
    holdout.complete_files(db, root)
    head = holdout.head(db, "capitals")
    sql("DELETE FROM holdout_log")
    assert audited_tasks(db, root) == ["capitals"]
    audited = audit(db, root, "capitals")
    assert (audited.findings, audited.n_lines, audited.n_file_lines, audited.head) == ((), 0, 2, head)


def test_a_missing_file_and_a_missing_set_are_found(
    db: Database, root: Path, file: Path, decide: Callable[..., int]
) -> None:
    decide()
    file.unlink()
    (root / "evalsets" / "capitals" / "holdout-3.jsonl").unlink()
    found = audit(db, root, "capitals").findings
    assert [(one.line, one.kind) for one in found] == [(1, "truncation"), (1, "set")]
    assert audit(db, root, "another").head is None


def test_fsck_names_the_task_and_the_line_of_a_broken_chain_and_repairs_nothing(
    db: Database, decide: Callable[..., int], sql: Sql
) -> None:
    bakeoff_id = decide()
    assert fsck.check(db) == []
    sql("UPDATE holdout_log SET hash = repeat('0', 64) WHERE seq = 2")
    assert fsck.check(db, bakeoff_id) == []
    (finding,) = fsck.check(db)
    assert (finding.check, finding.subject) == ("holdout chain", "holdout log of capitals, line 2")
    assert fsck.repair(db, [finding]) == [finding]
