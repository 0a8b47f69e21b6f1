"""What Flower shows of a job's end: errored ones as failures, put-back ones as retries; no job raises."""

from dataclasses import dataclass
from typing import Any, Literal

from celery.worker.request import Request

from evalq.records import Outcome


@dataclass(frozen=True)
class JobEnd:
    """How a job ended, in words of ours: never a text of a provider, a model or a user."""

    event: Literal["task-succeeded", "task-failed", "task-retried"]
    text: str


PUT_BACK = JobEnd("task-retried", "put back; it will be run again")
HANDED_OVER = JobEnd("task-retried", "answered; the sandbox grades it")
STOPPED = JobEnd("task-retried", "put back; its bake-off or judge is stopped")
ISOLATED = JobEnd("task-succeeded", "ended in a process of its own")
NOT_CLAIMED = JobEnd("task-succeeded", "nothing to do: it has ended, or its bake-off is stopped")


def describe_outcome(outcome: Outcome) -> JobEnd:
    """The end of a job that has an outcome."""
    if outcome.verdict == "errored":
        return JobEnd("task-failed", f"errored: {outcome.error_kind}")
    return JobEnd("task-succeeded", outcome.verdict)


class JobRequest(Request):  # type: ignore[misc]
    """Celery's request of a job whose result is a JobEnd; its events differ, not its chord."""

    __slots__ = ()

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - Celery's own name
        """Send the event of the job's end in place of Celery's success."""
        end = fields.get("result")
        if not isinstance(end, JobEnd):
            super().send_event(type, **fields)
        elif end.event == "task-succeeded":
            super().send_event(end.event, **{**fields, "result": end.text})
        else:
            super().send_event(end.event, exception=end.text, traceback="", runtime=fields.get("runtime"))
