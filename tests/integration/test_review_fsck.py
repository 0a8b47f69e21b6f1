"""fsck knows what people said: grades and outcomes that do not follow from it are found and mended."""

from collections.abc import Callable
from typing import Any

import pytest
from review_scene import LIKERT, RANKING, ended, human, rate_next, task_of

from evalq.bakeoff.fsck import check, repair
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
TABLES = ("grades", "outcomes", "eval_runs", "eval_kappa", "review_items", "human_reviews", "human_labels")

STILL_WAITS = """
UPDATE grades SET passed = NULL, score = NULL, pending = TRUE; UPDATE outcomes SET verdict = 'pending_review';
UPDATE eval_runs SET n_pass = 0, n_fail = 0, n_pending = 2
"""
TURNED_ROUND = "UPDATE grades SET passed = NOT passed"
OUTCOME_ALONE = "UPDATE outcomes SET verdict = 'failed' WHERE verdict = 'passed'"


@pytest.fixture
def contents(sql: Sql) -> Callable[[], list[list[tuple[Any, ...]]]]:
    """Everything that follows from reviews, but for the dates."""
    rows = "SELECT to_jsonb(t) - 'finished_at' FROM {} t ORDER BY 1"
    return lambda: [sql(rows.format(table)) for table in TABLES]


@pytest.mark.parametrize("scale", [{"type": "binary"}, LIKERT, RANKING], ids=lambda scale: str(scale["type"]))
def test_reviewed_bake_offs_have_no_findings(db: Database, scale: dict[str, Any]) -> None:
    said = {"binary": "pass", "likert": 4, "ranking": "B A"}[scale["type"]]
    bakeoff_id = ended(db, task_of(human(rating_scale=scale)), 2, ("sim-a", "sim-b"))
    rate_next(db, bakeoff_id, said)
    assert check(db) == []
    assert check(db, bakeoff_id) == []


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (STILL_WAITS, "pending though its 1 reviews say"),
        (TURNED_ROUND, "though its 1 reviews say"),
        (OUTCOME_ALONE, "failed though its grades say passed"),
    ],
)
def test_what_does_not_follow_from_the_reviews_is_found_and_mended(
    db: Database, sql: Sql, contents: Callable[[], Any], statement: str, words: str
) -> None:
    bakeoff_id = ended(db, task_of(human()))
    rate_next(db, bakeoff_id, "pass")
    rate_next(db, bakeoff_id, "fail")
    before = contents()
    sql(statement)
    found = check(db)
    assert [f for f in found if f.check == "reviews" and words in f.found and f.is_repairable]
    assert repair(db, found) == []
    assert contents() == before


def test_a_job_that_is_run_again_is_left_alone(db: Database, sql: Sql) -> None:
    rate_next(db, ended(db, task_of(human()), 1), "pass")
    sql("DELETE FROM grades; DELETE FROM outcomes; UPDATE jobs SET state = 'ready'")
    assert "reviews" not in {finding.check for finding in check(db)}
