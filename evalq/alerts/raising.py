"""Raising an alert: one row per event, in the transaction that found it."""

import json
from typing import Any

from evalq.store.database import Connection

SCHEMA = "evalq.alert/1"


def raise_alert(tx: Connection, *, key: str, text: str, document: dict[str, Any]) -> bool:
    """Keep an alert for delivery; False when the event that `key` names was raised before.

    Where it goes is decided by whoever delivers: only that process knows the channels and their secrets.
    """
    full = {"schema": SCHEMA, "key": key, **document}
    return tx.row("add_alert", key=key, text=text, document=json.dumps(full, default=str)) is not None
