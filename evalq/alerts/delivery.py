"""Delivering alerts: every channel once, what fails again with growing waits, for a day."""

import logging
from collections.abc import Mapping, Sequence

from evalq.alerts.channels import Means, send
from evalq.alerts.message import Message, Undelivered
from evalq.definitions.channel import Channel, named
from evalq.store.database import Database, Row

log = logging.getLogger(__name__)

_AT_ONCE = 50
"""Deliveries of one call: whoever delivers has other work too."""


def are_due(db: Database, channels: Sequence[Channel]) -> bool:
    """Whether there is something to deliver; alerts raised since are assigned to their channels first."""
    names = list(named(channels))
    if not names:
        return False
    db.run("open_deliveries", channels=names)
    row = db.row("due_deliveries", channels=names)
    return row is not None and row["n"] > 0


def deliver(db: Database, channels: Sequence[Channel], environ: Mapping[str, str]) -> int:
    """Try whatever is due, each once; how many arrived. Several may do so at the same time.

    At least once: whoever dies between sending and noting it leaves it to be sent again.
    """
    if not are_due(db, channels):
        return 0
    by_name, means, arrived = named(channels), Means(environ), 0
    for _ in range(_AT_ONCE):
        row = db.row("claim_delivery", channels=list(by_name))
        if row is None:
            break
        arrived += _deliver_one(db, row, by_name[row["channel"]], means)
    return arrived


def _deliver_one(db: Database, row: Row, channel: Channel, means: Means) -> bool:
    document = {"id": row["alert_id"], "raised_at": row["raised_at"].isoformat(), **row["document"]}
    error = try_to_send(channel, Message(row["text"], document), means)
    if error:
        log.warning("alert %s to %s, try %s: %s", row["alert_id"], row["channel"], row["attempts"], error)
    db.run("end_delivery", alert_id=row["alert_id"], channel=row["channel"], error=error)
    return error is None


def try_to_send(channel: Channel, message: Message, means: Means) -> str | None:
    """Send once; what went wrong, None when it arrived."""
    try:
        send(channel, message, means)
    except Undelivered as exc:
        return str(exc)
    return None
