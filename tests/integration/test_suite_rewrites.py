"""A suite's report is written again when its reviews arrive, and nothing else is touched."""

from pathlib import Path

import pytest
from review_scene import cases, ended, human, rate_next, task_of

from evalq.formats.suite.lineup import LineupEntry, describe_case, write_lineup
from evalq.formats.suite.report_files import SUFFIXES
from evalq.formats.suite.rewrite import rewrite_reports
from evalq.review import undo
from evalq.store import suite_runs
from evalq.store.database import Database
from evalq.store.suite_runs import NewSuiteRun

FACTS = {"version": "1", "include_details": True, "environment": {}, "warnings": []}


@pytest.fixture
def run(db: Database, tmp_path: Path) -> tuple[int, list[Path]]:
    """A suite run of one eval that waits for a person, with its report in every format."""
    bakeoff_id = ended(db, task_of(human()), 1)
    evals = tuple(describe_case(case) for case in cases(1))
    lineup = write_lineup([LineupEntry("sim-a", "sim-a", is_system=False, evals=evals)])
    run_id = suite_runs.add(db, NewSuiteRun("essays", "run", 1, lineup, FACTS))
    db.in_transaction(lambda tx: suite_runs.link(tx, run_id, bakeoff_id, attempt=0))
    paths = [tmp_path / f"run-1{suffix}" for suffix in SUFFIXES.values()]
    for path in paths:
        path.write_text(f"the report of {suite_runs.name_of(run_id)}")
    suite_runs.note_report_files(db, run_id, paths)
    return bakeoff_id, paths


def test_a_review_is_in_every_file_of_the_report_at_once(db: Database, run: tuple[int, list[Path]]) -> None:
    bakeoff_id, paths = run
    rate_next(db, bakeoff_id, "pass")
    passed = [path.read_text("utf-8") for path in paths]
    assert '"passed": 1' in passed[0]
    assert all("the report of" not in text for text in passed)
    undo(db, "ann")
    assert '"passed": 0' in paths[0].read_text("utf-8")
    assert {path.name for path in paths[0].parent.iterdir()} == {path.name for path in paths}


def test_what_is_not_the_report_any_more_stays(
    db: Database, run: tuple[int, list[Path]], tmp_path: Path
) -> None:
    bakeoff_id, (first, second, third) = run
    first.write_text("notes of mine")
    second.unlink()
    third.unlink()
    third.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("suite-1")
    assert rewrite_reports(db, [bakeoff_id]) == []
    assert first.read_text() == "notes of mine"
    assert (tmp_path / "elsewhere").read_text() == "suite-1"
