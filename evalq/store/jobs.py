"""Jobs in Postgres: claimed under a lease, kept alive, put back or finished behind a fence."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from evalq.definitions.evalset import EvalCase
from evalq.errors import InputError
from evalq.records import Completion, Grade, Outcome, ToolCall, Usage
from evalq.store.database import Connection, Database, Row, known_version, transactional

log = logging.getLogger(__name__)

MAX_LOSSES = 3
"""A job that killed this many workers would kill the next one too."""


@dataclass(frozen=True)
class Job:
    """A claimed job: the question, the judge, and the fence that guards its writes."""

    id: int
    run_id: int
    bakeoff_id: int
    sample: int
    gate: str
    stage: str
    fence: int
    attempt: int
    losses: int
    ambiguous_repeats: int
    refill: bool
    judge: str
    provider: str
    judge_sha: str
    task_sha: str
    grader_shas: Mapping[str, str]
    seed: int
    case_body: str
    completion: Completion | None

    @cached_property
    def case(self) -> EvalCase:
        """The case, parsed when the job is worked on: a case this worker cannot read fails that job alone."""
        try:
            return EvalCase.model_validate_json(self.case_body)
        except ValidationError as exc:
            places = {".".join(map(str, error["loc"])) for error in exc.errors()}
            # Only the places: the values are the user's, and this message reaches a log.
            raise InputError(
                f"this worker cannot read the case ({', '.join(sorted(places))}); upgrade it"
            ) from None

    @property
    def is_suspect(self) -> bool:
        """Whether it may have killed its worker: lost twice, or once while code ran on its behalf."""
        is_our_code = self.completion is not None or self.provider == "python"
        return self.losses >= 2 or (self.losses == 1 and is_our_code)


_JOB_COLUMNS = [field.name for field in fields(Job) if field.name != "completion"]


@dataclass(frozen=True)
class QueuedJob:
    """A job just marked as queued, with what its message needs."""

    id: int
    run_id: int
    bakeoff_id: int
    case_id: str
    sample: int
    judge: str
    provider: str
    stage: str
    n_jobs: int
    uid: UUID
    place: int


@dataclass(frozen=True)
class StaleQueue:
    """A queue with old messages; only the queues of calls have a provider."""

    stage: str
    provider: str


def gates_with_ready_jobs(db: Database) -> list[str]:
    """The gates that have jobs to publish now."""
    return [row["gate"] for row in db.rows("gates_with_ready_jobs")]


@transactional
def queue_window(tx: Connection, gate: str, *, most: int | None = None) -> list[QueuedJob]:
    """Mark the next ready jobs of a gate as queued, up to its window or to `most` if that is less."""
    lock_gate(tx, gate)
    return [QueuedJob(**row) for row in tx.rows("queue_window", gate=gate, most=most)]


def lock_gate(tx: Connection, gate: str) -> None:
    """Allow one pump of a gate at a time, until the transaction ends."""
    tx.row("lock_gate", gate=gate)


def claim(db: Database, job_id: int, *, lease_s: float) -> Job | None:
    """Lease a job; None when it is done or held by another worker, or its bake-off is stopped."""
    row = db.row("claim_jobs", job_ids=[job_id], lease_s=lease_s, schema_version=known_version())
    return read_job(row) if row else None


def read_held(db: Database, job_id: int, fence: int) -> Job | None:
    """A job that another process leased for this one; None when the lease was lost since."""
    row = db.row("held_job", job_id=job_id, fence=fence)
    return read_job(row) if row else None


def read_job(row: Row) -> Job:
    """The job in a row that claiming returned."""
    completion = kept_completion(row) if row["kept_state"] else None
    return Job(**{name: row[name] for name in _JOB_COLUMNS}, completion=completion)


def kept_completion(row: Row) -> Completion:
    """The stored answer in a row."""
    return Completion(
        state=row["kept_state"],
        text=row["answer"],
        usage=Usage(row["input_tokens"], row["output_tokens"], raw=row["usage"]),
        latency_ms=row["latency_ms"],
        cost_usd=row["cost_usd"],
        model=row["model"],
        request_id=row["request_id"],
        tool_calls=tuple(ToolCall(**call) for call in row["tool_calls"] or ()),
    )


def extend(db: Database, held: Sequence[tuple[int, int]], *, lease_s: float) -> None:
    """Heartbeat: extend the leases of the jobs (id, fence) that a worker holds."""
    job_ids = [job_id for job_id, _ in held]
    fences = [fence for _, fence in held]
    db.run("extend_leases", job_ids=job_ids, fences=fences, lease_s=lease_s)


def release(db: Database, job: Job, *, wait_s: float) -> None:
    """Put a job back; no worker tries it again for `wait_s`."""
    db.row("release_jobs", jobs=f"[{encode_release(job, wait_s)}]")


def encode_release(job: Job, wait_s: float) -> str:
    """A job to put back, as the statement takes it."""
    return json.dumps({"job_id": job.id, "fence": job.fence, "wait_s": wait_s})


def release_held(db: Database, held: Sequence[tuple[int, int]]) -> None:
    """Put back the jobs (id, fence) of a worker that shuts down."""
    job_ids = [job_id for job_id, _ in held]
    fences = [fence for _, fence in held]
    db.run("release_held", job_ids=job_ids, fences=fences)


def finish(db: Database, job: Job, outcome: Outcome, grades: Sequence[Grade]) -> bool:
    """Write a job's end; False when the lease was lost and nothing was written."""
    row = db.row("finish_jobs", jobs=f"[{encode_end(job, outcome, grades)}]")
    return row is not None


def encode_end(job: Job, outcome: Outcome, grades: Sequence[Grade]) -> str:
    """The end of a job, as the statement takes it."""
    end = {
        "job_id": job.id,
        "fence": job.fence,
        "verdict": outcome.verdict,
        "error_kind": outcome.error_kind,
        "message": storable(outcome.message),
        "grades": _grade_rows(grades),
    }
    return json.dumps(end)


def hand_over(db: Database, job: Job, grades: Sequence[Grade]) -> bool:
    """Leave a job to a worker without keys, with its grades so far; False when the lease was lost."""
    row = db.row("hand_over_job", job_id=job.id, fence=job.fence, grades=json.dumps(_grade_rows(grades)))
    return row is not None


def _grade_rows(grades: Sequence[Grade]) -> list[dict[str, Any]]:
    """Grades as the statements that store them take them."""
    return [{**storable_json(vars(grade)), "ordinal": place} for place, grade in enumerate(grades)]


@transactional
def lose(tx: Connection, job: Job) -> None:
    """Put back a job whose process died, and count that; the last time it ends as errored instead."""
    if tx.row("lose_job", job_id=job.id, fence=job.fence):
        tx.run("close_lost_calls", job_ids=[job.id])
    _end_poisoned(tx)


@transactional
def return_expired(tx: Connection) -> int:
    """Put back the jobs whose lease has expired; return how many. Calls they had in flight count as spent.

    One process at a time: a second one would find nothing.
    """
    lock = tx.row("try_lock_reap")
    if lock is None or not lock["got"]:
        return 0
    expired = tx.rows("reap_leases")
    if expired:
        tx.run("close_lost_calls", job_ids=[row["id"] for row in expired])
        _end_poisoned(tx)
    return len(expired)


def _end_poisoned(tx: Connection) -> None:
    """End the jobs that killed their worker too often, before they take the fleet down."""
    for row in tx.rows("end_poisoned", limit=MAX_LOSSES):
        log.warning("run_id=%s case_id=%s: its worker died too often", row["run_id"], row["case_id"])


def stale_queues(db: Database, *, older_s: float) -> list[StaleQueue]:
    """The queues of jobs that were queued more than `older_s` ago."""
    return [StaleQueue(**row) for row in db.rows("stale_queues", older_s=older_s)]


def requeue_lost(db: Database, queue: StaleQueue, *, older_s: float) -> int:
    """Make the jobs of an empty queue ready that were queued more than `older_s` ago; return how many."""
    return len(db.rows("requeue_lost", stage=queue.stage, provider=queue.provider, older_s=older_s))


def has_open_jobs(db: Database | Connection, run_id: int) -> bool:
    """Whether a job of a run has not ended."""
    row = db.row("open_jobs", run_id=run_id)
    return row is None or row["n"] > 0


def count_leased(db: Database | Connection, bakeoff_id: int) -> int:
    """How many jobs of a bake-off workers hold."""
    row = db.row("leased_jobs", bakeoff_id=bakeoff_id)
    return int(row["n"]) if row else 0


def storable(text: str | None) -> str | None:
    """Text as Postgres can hold it: without NUL characters and lone surrogates."""
    if text is None:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def storable_json(value: Any) -> Any:
    """A JSON value with every text in it made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(inner) for inner in value]
    return value
