"""Baselines in Postgres and in the suite's folder, and how regressions are counted against them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalq.formats.suite.baselines import (
    baseline_rows,
    keep_baselines,
    load_baselines,
    record_comparisons,
)
from evalq.formats.suite.collect import run_of_bakeoff
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes
from evalq.formats.suite.read import Suite, read_suite
from evalq.formats.suite.run import raise_suite_alert
from evalq.store import baselines as stored
from evalq.store.baselines import Baseline
from evalq.store.database import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REGRESSIONS = [
    {
        "id": "api/users",
        "baseline": {"output": "inline"},
        "current": {"input": "y"},
        "metadata": {"criticality": "critical", "last_passed": "2026-01-01T00:00:00Z", "failure_count": 3},
    },
    {"id": "plain", "current": {"input": "y"}, "comparison": {"type": "exact"}},
]


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    path = tmp_path / "s" / "eval-suite.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps({"eval_suite": {"name": "S", "evals": REGRESSIONS}}), "utf-8")
    return read_suite(path)


def captured(eval_id: str, output: Any, *, at: datetime = NOW, judge: str = "good") -> Baseline:
    return Baseline("S", eval_id, judge, "v2", output, at, {"model": "m"}, criticality="critical")


def outcomes(verdict: str) -> list[JudgeOutcomes]:
    one = EvalOutcome("api/users", "U", "regression", samples=(Attempt(verdict),), answered_by="good")
    # The tested system's evals are in the account of every judge: they count once.
    return [JudgeOutcomes("good", "m", (one,)), JudgeOutcomes("other", "m", (one,))]


def test_an_output_is_kept_with_the_order_of_its_fields(db: Database, suite: Suite) -> None:
    files = keep_baselines(suite, db, [captured("api/users", {"b": 1, "a": [2]}), captured("plain", "text")])
    found = load_baselines(suite, db)
    assert json.dumps(found.of(suite.evals[0], "good")) == '{"b": 1, "a": [2]}'
    assert found.of(suite.evals[1], "good") == "text"
    assert found.of(suite.evals[0], "other") == "inline"
    assert [path.name.partition("-")[0] for path in files] == ["api_users", "plain.json"]


def test_a_captured_output_takes_the_place_of_an_older_one(db: Database, suite: Suite) -> None:
    keep_baselines(suite, db, [captured("plain", "old")])
    keep_baselines(suite, db, [captured("plain", "new", at=NOW + timedelta(days=1))])
    (one,) = stored.of_suite(db, "S")
    assert (one.output, one.version, one.environment) == ("new", "v2", {"model": "m"})


def test_the_files_of_the_folder_serve_where_the_database_is_new(db: Database, suite: Suite) -> None:
    (path,) = keep_baselines(suite, db, [captured("plain", "one"), captured("plain", "two", judge="b")])
    document = json.loads(path.read_text("utf-8"))
    assert [(one["judge"], one["output"]) for one in document["captures"]] == [("b", "two"), ("good", "one")]
    assert path.parent == suite.folder / "baselines"
    assert load_baselines(suite, None).of(suite.evals[1], "b") == "two"


def test_the_newer_of_file_and_database_counts(db: Database, suite: Suite) -> None:
    (path,) = keep_baselines(suite, db, [captured("plain", "one")])
    later = path.read_text("utf-8").replace("2026-03-01", "2026-03-02").replace('"one"', '"later"')
    path.write_text(later, "utf-8")
    assert load_baselines(suite, db).of(suite.evals[1], "good") == "later"


def test_passes_and_failures_add_to_the_counts_of_the_file(db: Database, suite: Suite) -> None:
    record_comparisons(db, suite, suite.evals, outcomes("failed"))
    (one,) = stored.of_suite(db, "S")
    assert (one.failure_count, one.output, one.criticality) == (4, None, "critical")
    assert one.last_passed == datetime(2026, 1, 1, tzinfo=UTC)
    record_comparisons(db, suite, suite.evals, outcomes("passed"))
    record_comparisons(db, suite, suite.evals, outcomes("errored"))
    (one,) = stored.of_suite(db, "S")
    assert one.failure_count == 4
    assert one.last_passed is not None
    assert one.last_passed > datetime(2026, 2, 1, tzinfo=UTC)


def test_counts_survive_a_new_capture(db: Database, suite: Suite) -> None:
    record_comparisons(db, suite, suite.evals, outcomes("failed"))
    keep_baselines(suite, db, [captured("api/users", "x")])
    (one,) = stored.of_suite(db, "S")
    assert (one.failure_count, one.output) == (4, "x")


def test_rows_show_what_is_captured_inline_or_missing(db: Database, suite: Suite) -> None:
    assert [
        (row.eval_id, row.source, row.failure_count)
        for row in baseline_rows(suite, load_baselines(suite, db))
    ] == [
        ("api/users", "inline", 3),
        ("plain", "none", 0),
    ]
    keep_baselines(suite, db, [captured("plain", "x")])
    row = baseline_rows(suite, load_baselines(suite, db))[1]
    assert (row.source, row.judge, row.version, row.output) == ("captured", "good", "v2", "x")
    assert row.captured_at == "2026-03-01T12:00:00+00:00"


def test_a_stored_bake_off_reads_as_a_suite_run(
    db: Database,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    end_job: Callable[..., None],
) -> None:
    bakeoff_id = record(3)
    for job_id, verdict in zip(job_ids(bakeoff_id), ("passed", "failed", "errored"), strict=True):
        end_job(job_id, verdict)
    (found,) = run_of_bakeoff(db, bakeoff_id, ()).judges
    assert sorted(one.status for one in found.evals) == ["failed", "passed", "skipped"]


def test_an_alert_about_a_run_is_raised_once(db: Database) -> None:
    report = {
        "metadata": {"suite_name": "S", "run_id": "eval-1", "bakeoffs": [1]},
        "summary": {"total_evals": 2, "passed": 1, "failed": 1, "skipped": 0, "pass_rate": 0.5},
        "failures": [{"eval_id": "a", "reason": "no"}],
    }
    assert raise_suite_alert(db, {"eval_report": report}) == "suite failed: S: 1/2 passed, pass rate 0.50"
    assert raise_suite_alert(db, {"eval_report": report}) is None
