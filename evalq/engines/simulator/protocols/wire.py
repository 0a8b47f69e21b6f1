"""The interface of the simulator's wire protocols, and what they share."""

import math
import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any, Protocol

from evalq.engines.simulator.exchange import ModelReply, ModelRequest
from evalq.engines.simulator.profile import Fault, LimitStatus


class Wire(Protocol):
    """One provider's protocol. Bodies are JSON text; headers are whole lines, each with its end."""

    name: str

    def read(self, path: str, document: Mapping[str, Any]) -> ModelRequest:
        """What is asked; KeyError, TypeError, ValueError or AttributeError for an invalid request."""
        ...

    def success(self, asked: ModelRequest, reply: ModelReply, seq: int) -> str:
        """The body of an answer."""
        ...

    def failure(self, fault: Fault, model: str, seq: int) -> tuple[int, str]:
        """Status and body of an error."""
        ...

    def headers(self, standing: LimitStatus, seq: int) -> str:
        """Request id and rate limits."""
        ...

    def retry_headers(self, fault: Fault) -> str:
        """When to come back, where the protocol says it in a header."""
        ...


def retry_after(fault: Fault) -> str:
    """The header a 429 says it with, in the form that was chosen."""
    match fault.retry_form:
        case "seconds":
            return f"retry-after: {fault.retry_s:g}\r\n"
        case "date":
            # A date has whole seconds only: rounded up, so that it is not too early.
            return f"retry-after: {formatdate(math.ceil(time.time() + fault.retry_s), usegmt=True)}\r\n"
        case "ms":
            return f"retry-after-ms: {fault.retry_s * 1000:.0f}\r\n"
    return ""


def error_row(table: Mapping[str, Any], kind: str) -> Any:
    """A protocol's row for a kind of fault; the one for an inner error where it has none of its own."""
    return table.get(kind) or table["500"]
