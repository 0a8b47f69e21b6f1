"""A project with one holdout, and final decisions on it."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff import holdout
from evalq.bakeoff.conclude import conclude
from evalq.bakeoff.plan import Plan
from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import file_sha256
from evalq.records import Verdict
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]
CASE = '{{"id": "case-{0:04}", "inputs": {{"country": "{0}"}}, "expected": {{"answer": "capital {0}"}}}}\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one holdout of three cases."""
    folder = tmp_path / "project" / "evalsets" / "capitals"
    folder.mkdir(parents=True)
    (folder / "holdout-3.jsonl").write_text("".join(CASE.format(i) for i in range(3)), "utf-8")
    return tmp_path / "project"


@pytest.fixture
def file(root: Path) -> Path:
    return root / "evalsets" / "capitals" / "holdout-runs.log"


@pytest.fixture
def held_out(plan: Callable[..., Plan], root: Path) -> Callable[..., Plan]:
    """A plan on the holdout as its file is now."""

    def make(name: str = "holdout-3") -> Plan:
        made = plan(3)
        evalset = EvalSet(name=name, cases=made.evalset.cases)
        sha256 = file_sha256(root / "evalsets" / "capitals" / "holdout-3.jsonl")
        return replace(made, evalset=evalset, look="final-decision", set_sha256=sha256)

    return make


@pytest.fixture
def decide(
    db: Database,
    root: Path,
    held_out: Callable[..., Plan],
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[[int, Verdict], None],
) -> Callable[..., int]:
    """Runs a final decision to its end, as command line and workers do."""

    def run(*, run_type: str = "final-decision", is_ended: bool = True) -> int:
        plan = held_out()
        uid = holdout.admit(db, root, plan, run_type=run_type)
        bakeoff_id = db.in_transaction(
            lambda tx: bakeoffs.add(tx, plan, bakeoffs.Terms(Decimal(5), run_type, uid=uid))
        )
        if is_ended:
            for job_id in job_ids(bakeoff_id):
                end_job(job_id, "passed")
            for run_id in run_ids(bakeoff_id):
                assert conclude(db, run_id)
        return bakeoff_id

    return run
