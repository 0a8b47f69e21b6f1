"""Baselines of suites in Postgres: outputs that evals are compared with, and how the evals did since."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from evalq.store.database import Connection, Database, transactional


@dataclass(frozen=True)
class Baseline:
    """The output that one eval of one judge is compared with; None while only the eval's file has one."""

    suite: str
    eval_id: str
    judge: str
    version: str | None = None
    output: Any = None
    captured_at: datetime | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    bakeoff_id: int | None = None
    criticality: str | None = None
    last_passed: datetime | None = None
    failure_count: int = 0
    checked_at: datetime | None = None


@dataclass(frozen=True)
class BaselineCheck:
    """An eval compared with its baseline; the counts of its file start the history the first time."""

    suite: str
    eval_id: str
    judge: str
    passed: bool
    criticality: str | None = None
    last_passed: str | None = None
    failure_count: int = 0


def of_suite(db: Database, suite: str) -> list[Baseline]:
    """Every baseline of a suite."""
    baselines = []
    for row in db.rows("baselines", suite=suite):
        text = row.pop("output")
        output = None if text is None else json.loads(text)
        baselines.append(Baseline(suite, output=output, **row))
    return baselines


@transactional
def keep(tx: Connection, baselines: Sequence[Baseline]) -> None:
    """Compare evals with these outputs from now on."""
    for baseline in baselines:
        _keep_one(tx, baseline)


def _keep_one(tx: Connection, baseline: Baseline) -> None:
    tx.run(
        "keep_baseline",
        suite=baseline.suite,
        eval_id=baseline.eval_id,
        judge=baseline.judge,
        version=baseline.version,
        output=json.dumps(baseline.output, ensure_ascii=False),
        captured_at=baseline.captured_at,
        environment=json.dumps(baseline.environment, ensure_ascii=False),
        bakeoff_id=baseline.bakeoff_id,
        criticality=baseline.criticality,
    )


@transactional
def note_checks(tx: Connection, checks: Sequence[BaselineCheck]) -> None:
    """Count for each check whether the eval passed against its baseline."""
    for check in checks:
        tx.run("note_comparison", **vars(check))
