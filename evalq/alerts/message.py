"""An alert as it leaves, and the word for one that did not arrive."""

from dataclasses import dataclass
from typing import Any

DEADLINE_S = 10.0
"""So long one try may take, whatever the channel."""


@dataclass(frozen=True)
class Message:
    """The text for people and the document for programs."""

    text: str
    document: dict[str, Any]


class Undelivered(Exception):
    """It did not arrive; the message names neither address nor secret."""
