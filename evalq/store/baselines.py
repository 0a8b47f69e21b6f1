"""Baselines in Postgres: outputs that evals are compared with, and how the evals have done since."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from evalq.store.database import Connection, Database


@dataclass(frozen=True)
class Baseline:
    """What one judge, or system, is to answer to one eval. `output` is None when only its file has one."""

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
class Comparison:
    """An eval held against its baseline; what its file says of earlier runs counts the first time."""

    suite: str
    eval_id: str
    judge: str
    passed: bool
    criticality: str | None = None
    last_passed: str | None = None
    failure_count: int = 0


def of_suite(db: Database, suite: str) -> list[Baseline]:
    """Every baseline of a suite."""
    rows = db.rows("baselines", suite=suite)
    return [
        Baseline(suite, **{**row, "output": None if row["output"] is None else json.loads(row["output"])})
        for row in rows
    ]


def keep(tx: Connection, one: Baseline) -> None:
    """Compare with this output from now on."""
    tx.run(
        "keep_baseline",
        suite=one.suite,
        eval_id=one.eval_id,
        judge=one.judge,
        version=one.version,
        output=json.dumps(one.output, ensure_ascii=False),
        captured_at=one.captured_at,
        environment=json.dumps(one.environment, ensure_ascii=False),
        bakeoff_id=one.bakeoff_id,
        criticality=one.criticality,
    )


def note(tx: Connection, one: Comparison) -> None:
    """Count how a comparison went."""
    tx.run("note_comparison", **vars(one))


SCHEMA = "evalq.alert/1"


def raise_alert(tx: Connection, *, key: str, text: str, document: dict[str, Any]) -> bool:
    """Keep an alert for delivery; False when the event that `key` names was raised before.

    Where it goes is decided by whoever delivers: only that process knows the channels and their secrets.
    """
    full = {"schema": SCHEMA, "key": key, **document}
    return tx.row("add_alert", key=key, text=text, document=json.dumps(full, default=str)) is not None
