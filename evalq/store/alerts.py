"""Alerts in Postgres: raised once per event, delivered to each channel at least once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalq.store.database import Connection, Database

SCHEMA = "evalq.alert/1"


@dataclass(frozen=True)
class AlertDelivery:
    """An alert claimed for one channel."""

    alert_id: int
    channel: str
    attempts: int
    key: str
    text: str
    document: dict[str, Any]
    raised_at: datetime


@dataclass(frozen=True)
class AlertRow:
    """An alert, and the state of its delivery to each channel as JSON."""

    id: int
    key: str
    text: str
    document: dict[str, Any]
    raised_at: datetime
    deliveries: Sequence[dict[str, Any]]


def raise_alert(db: Database | Connection, *, key: str, text: str, document: dict[str, Any]) -> bool:
    """Keep an alert for delivery; False when the event that `key` names was raised before.

    The process that delivers it decides where it goes: only that one knows the channels and their secrets.
    """
    full = {"schema": SCHEMA, "key": key, **document}
    return db.row("add_alert", key=key, text=text, document=json.dumps(full, default=str)) is not None


def assign_deliveries(db: Database, channels: Sequence[str]) -> None:
    """Assign the alerts of the last day to every channel that does not have them."""
    db.run("open_deliveries", channels=list(channels))


def has_due_deliveries(db: Database, channels: Sequence[str]) -> bool:
    """Whether a delivery to one of the channels can be tried now."""
    row = db.row("due_deliveries", channels=list(channels))
    return row is not None and row["n"] > 0


def claim_delivery(db: Database, channels: Sequence[str]) -> AlertDelivery | None:
    """Take the next due delivery; no other process tries it before its next turn."""
    row = db.row("claim_delivery", channels=list(channels))
    return AlertDelivery(**row) if row else None


def end_delivery(db: Database, delivery: AlertDelivery, *, error: str | None) -> None:
    """Note that a delivery arrived (error None), or why not; after a day it is given up."""
    db.run("end_delivery", alert_id=delivery.alert_id, channel=delivery.channel, error=error)


def newest_alerts(db: Database, *, limit: int) -> list[AlertRow]:
    """The newest alerts with their deliveries."""
    return [AlertRow(**row) for row in db.rows("alert_rows", limit=limit)]
