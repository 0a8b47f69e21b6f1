"""The queues of the fleet, by name: one per provider for calls, one for running code, one for control."""

from evalq.providers import PROVIDERS

CONTROL_QUEUE = "control"
SANDBOX_QUEUE = "sandbox"
CALL_QUEUES = tuple(f"calls.{provider}" for provider in PROVIDERS)
QUEUES = (*CALL_QUEUES, CONTROL_QUEUE)
"""Of a worker with keys; the sandbox queue is for workers without."""


def job_queue(stage: str, provider: str) -> str:
    """The queue of a job: that of its judge's provider, or the sandbox's when there is code to run."""
    return SANDBOX_QUEUE if stage == "sandbox" else f"calls.{provider}"
