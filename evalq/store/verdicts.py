"""The outcomes, calls and scores a bake-off's numbers are made of."""

from evalq.evidence import CallTotals, Evidence, OutcomeRow, Savings
from evalq.store.database import Connection, Database


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
