"""Human labels in Postgres, and the answers they are about."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from evalq.store.database import Connection, Database, Row


def label_rows(db: Database | Connection, bakeoff_id: int) -> list[Row]:
    """Every label of a bake-off's answers: job, labeller, verdict."""
    return db.rows("human_labels", bakeoff_id=bakeoff_id)


def answer_rows(db: Database | Connection, bakeoff_id: int) -> list[Row]:
    """Every job of a bake-off with the grader's verdict and the votes of people."""
    votes: defaultdict[int, list[bool]] = defaultdict(list)
    for row in label_rows(db, bakeoff_id):
        votes[row["job_id"]].append(row["passed"])
    rows = db.rows("labelled_answers", bakeoff_id=bakeoff_id)
    return [{**row, "votes": tuple(votes[row["job_id"]])} for row in rows]


def keep(tx: Connection, votes: Sequence[tuple[int, str, bool]]) -> None:
    """Store labels (job, labeller, verdict), each in place of what its labeller said before."""
    job_ids, labellers, passed = (list(column) for column in zip(*votes, strict=True))
    tx.run("keep_human_labels", job_ids=job_ids, labellers=labellers, passed=passed)


def texts(db: Database, job_ids: Sequence[int]) -> dict[int, tuple[Any, Any, str]]:
    """Inputs, expectation and answer of some jobs."""
    found: dict[int, tuple[Any, Any, str]] = {}
    for row in db.rows("answer_texts", job_ids=list(job_ids)):
        case = json.loads(row["body"])
        found[row["job_id"]] = (case["inputs"], case["expected"], row["answer"] or "")
    return found


def run_of(db: Database, run_id: int) -> tuple[int, str] | None:
    """The bake-off and the judge of a run; None when there is no such run."""
    row = db.row("run_place", run_id=run_id)
    return (row["bakeoff_id"], row["judge"]) if row else None
