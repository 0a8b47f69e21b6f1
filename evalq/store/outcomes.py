"""The outcomes, calls and scores a bake-off's numbers are made of."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from evalq.records import CallTotals, Evidence, OutcomeRow, Savings
from evalq.results import Agreement
from evalq.store.database import Connection, Database, Row


def evidence(db: Database | Connection, bakeoff_id: int, *, run_id: int | None = None) -> Evidence:
    """The outcomes, calls and scores of a bake-off, or of one of its runs."""
    saved = db.row("cache_savings", bakeoff_id=bakeoff_id)
    return Evidence(
        tuple(OutcomeRow(**row) for row in db.rows("verdicts", bakeoff_id=bakeoff_id, run_id=run_id)),
        _calls(db, bakeoff_id),
        {
            (row["run_id"], row["grader"]): tuple(row["scores"])
            for row in db.rows("grade_scores", bakeoff_id=bakeoff_id)
        },
        Savings(**saved) if saved else Savings(),
        {
            row["grader"]: tuple(row["details"])
            for row in db.rows("grade_opinions", bakeoff_id=bakeoff_id, run_id=run_id)
        },
    )


def _calls(db: Database | Connection, bakeoff_id: int) -> dict[tuple[int, str], CallTotals]:
    rows = db.rows("call_costs", bakeoff_id=bakeoff_id)
    return {(row.pop("run_id"), row.pop("purpose")): CallTotals(**row) for row in rows}


def keep_kappas(tx: Connection, pairs: Sequence[Agreement], run_ids: Mapping[str, int]) -> None:
    """Write the agreement of every pair over what was kept of it, whichever of the two was named first."""
    for pair in pairs:
        tx.run(
            "add_kappa",
            a=run_ids[pair.a],
            b=run_ids[pair.b],
            kappa=_number(pair),
            n=pair.n,
            ac1=pair.ac1,
            degenerate=pair.degenerate,
        )


def _number(pair: Agreement) -> float:
    """A constant rater has no κ; the column wants a number, and `degenerate` says it is none."""
    if pair.kappa is not None:
        return pair.kappa
    return 1.0 if pair.ac1 is not None and pair.ac1 >= 1.0 else 0.0


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


def keep_labels(tx: Connection, votes: Sequence[tuple[int, str, bool]]) -> None:
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
