"""Baselines of the sequential rule: runs that somebody accepted as how a judge should be."""

from dataclasses import dataclass
from decimal import Decimal

from evalq.errors import InputError, Problem
from evalq.store.database import Database


@dataclass(frozen=True)
class Accepted:
    """A run that is a baseline from now on."""

    baseline_id: int
    run_id: int
    task: str
    eval_set: str
    judge: str
    n: int
    accuracy: Decimal | None


def accept(db: Database, run_id: int) -> Accepted:
    """Hold a judge against this run from now on; the evidence gathered so far is forgotten."""
    with db.transaction() as tx:
        run = tx.row("acceptable_run", run_id=run_id)
        if run is None:
            raise InputError(
                Problem(
                    f"there is no concluded run {run_id}", "`evalq drift status` and `evalq runs` list them"
                )
            )
        if run["excluded"]:
            raise InputError(
                Problem(f"run {run_id} says nothing of {run['judge']}: {run['excluded']}", "accept another")
            )
        row = tx.row("add_baseline", run_id=run_id)
    assert row is not None
    graded = run["n_pass"] + run["n_fail"]
    names = (run["task_name"], run["eval_set_name"], run["judge"])
    return Accepted(row["id"], run_id, *names, n=graded, accuracy=run["accuracy"])
