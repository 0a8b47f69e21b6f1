"""The queues of the fleet, by name: one per provider for calls, one for control."""

from evalq.providers import PROVIDERS

CONTROL_QUEUE = "control"
CALL_QUEUES = tuple(f"calls.{provider}" for provider in PROVIDERS)
QUEUES = (*CALL_QUEUES, CONTROL_QUEUE)


def call_queue(provider: str) -> str:
    """The queue of a provider's calls."""
    return f"calls.{provider}"
