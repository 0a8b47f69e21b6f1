"""Drift checks of one judge, their jobs ended by hand: real rows, no provider."""

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from evalq.bakeoff.conclude import conclude
from evalq.bakeoff.plan import Plan
from evalq.drift.decide import advance, open_checks
from evalq.engines.broker import Broker
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]

FINISH = """
WITH done AS (
    UPDATE jobs SET state = 'done' WHERE bakeoff_id = %s AND state <> 'done'
    RETURNING id, run_id, bakeoff_id, case_id, sample
), told AS (
    SELECT done.*, CASE WHEN case_id = ANY(%s) THEN 'errored'
        WHEN (case_id, sample) IN (SELECT e ->> 0, (e ->> 1)::int FROM jsonb_array_elements(%s::jsonb) e)
        THEN 'passed' ELSE 'failed' END AS verdict
    FROM done
), answers AS (
    INSERT INTO completions (job_id, state, answer, model, input_tokens, output_tokens, usage, latency_ms,
                             cost_usd)
    SELECT id, CASE verdict WHEN 'errored' THEN 'empty' ELSE 'answered' END, '', %s, 1, 1, '{}', 100, 0.001
    FROM told
)
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, attempts)
SELECT id, run_id, bakeoff_id, case_id, sample, verdict, CASE verdict WHEN 'errored' THEN 'empty' END, 1
FROM told
"""
N = 30


class Series:
    """One judge's checks, their jobs ended by hand: real rows, no provider."""

    def __init__(self, db: Database, broker: Broker, sql: Sql, plan: Callable[..., Plan]) -> None:
        self.db, self.broker, self.sql, self.plan = db, broker, sql, plan
        self.rng = np.random.default_rng(20261117)

    def open(
        self,
        rule: str | None = "confirm",
        run_type: str = "drift_check",
        n: int = N,
        cap: object = 5,
        **how: Any,
    ) -> int:
        """A recorded bake-off with its checks."""
        with self.db.transaction() as tx:
            terms = bakeoffs.Terms(Decimal(str(cap)), run_type)
            bakeoff_id = bakeoffs.add(tx, self.plan(n, **how), terms)
            if rule:
                open_checks(tx, bakeoff_id, rule=rule)  # type: ignore[arg-type]
        return bakeoff_id

    def end(
        self, bakeoff_id: int, passes: int | Sequence[int], *, errored: int = 0, model: str = "sim-a"
    ) -> list[int]:
        """End its jobs: so many cases pass, by sample if there are several; return its runs."""
        by_sample = [passes] if isinstance(passes, int) else passes
        passing = [[i, s] for s, k in enumerate(by_sample, start=1) for i in range(k)]
        return self.end_as(bakeoff_id, passing, errored=errored, model=model)

    def end_as(
        self, bakeoff_id: int, passing: Sequence[Sequence[int]], *, errored: int = 0, model: str = "sim-a"
    ) -> list[int]:
        """The same with the (case, sample) that pass."""
        errors = [f"case-{N - 1 - i:04}" for i in range(errored)]
        named = json.dumps([[f"case-{case:04}", sample] for case, sample in passing])
        self.sql(FINISH, bakeoff_id, errors, named, model)
        runs = [
            row[0] for row in self.sql("SELECT id FROM runs WHERE bakeoff_id = %s ORDER BY id", bakeoff_id)
        ]
        for run_id in runs:
            conclude(self.db, run_id)
        return runs

    def check(self, passes: int, rule: str = "confirm", **how: Any) -> int:
        """A check from its opening to its first decision; its run."""
        (run_id,) = self.end(self.open(rule), passes, **how)
        self.advance()
        return run_id

    def warm(self, passes: int = 27, runs: int = 4) -> list[int]:
        return [self.check(passes) for _ in range(runs)]

    def advance(self) -> None:
        advance(self.db, self.broker)

    def verdict(self, run_id: int) -> tuple[str | None, bool]:
        (row,) = self.sql(
            "SELECT verdict, decided_at IS NOT NULL FROM drift_checks WHERE run_id = %s", run_id
        )
        return row  # type: ignore[return-value]

    def numbers(self, run_id: int) -> dict[str, Any]:
        ((numbers,),) = self.sql("SELECT numbers FROM drift_checks WHERE run_id = %s", run_id)
        return numbers  # type: ignore[no-any-return]

    def confirmation(self, run_id: int) -> int | None:
        """The bake-off that confirms a check."""
        rows = self.sql(
            "SELECT r.bakeoff_id FROM drift_checks c JOIN runs r ON r.id = c.confirm_run_id "
            "WHERE c.run_id = %s",
            run_id,
        )
        return rows[0][0] if rows else None

    def confirm(self, run_id: int, passes: Sequence[int], **how: Any) -> None:
        bakeoff_id = self.confirmation(run_id)
        assert bakeoff_id is not None
        self.end(bakeoff_id, passes, **how)
        self.advance()

    def alerts(self) -> list[dict[str, Any]]:
        return [row[0] for row in self.sql("SELECT document FROM alerts ORDER BY id")]
