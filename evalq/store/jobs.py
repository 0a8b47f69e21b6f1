"""Jobs in Postgres: claimed under a lease, kept alive, put back or finished behind a fence."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from evalq.definitions.evalset import EvalCase
from evalq.errors import InputError
from evalq.records import Completion, Grade, Outcome, ToolCall, Usage
from evalq.store.database import Connection, Database, Row, known_version

log = logging.getLogger(__name__)

MAX_LOSSES = 3
"""A job that killed so many workers would kill the next one too."""


@dataclass(frozen=True)
class Job:
    """A claimed job: what to ask whom, and the fence that guards its writes."""

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
            fields = {".".join(map(str, error["loc"])) for error in exc.errors()}
            # Only the places: the values are the user's, and this message reaches a log.
            raise InputError(
                f"this worker cannot read the case ({', '.join(sorted(fields))}); upgrade it"
            ) from None

    @property
    def is_suspect(self) -> bool:
        """Whether it may be what killed its worker: lost twice, or once while code ran on its behalf."""
        is_our_code = self.completion is not None or self.provider == "python"
        return self.losses >= 2 or (self.losses == 1 and is_our_code)


@dataclass(frozen=True)
class QueuedJob:
    """A job row just marked as queued: what its message needs."""

    id: int
    run_id: int
    judge: str
    provider: str
    stage: str
    n_jobs: int
    uid: UUID
    place: int


def claim(db: Database, job_id: int, *, lease_s: float) -> Job | None:
    """Lease a job; None when there is nothing to do: done, held by another, or its bake-off stopped."""
    row = db.row("claim_job", job_id=job_id, lease_s=lease_s, schema_version=known_version())
    return _job(row) if row else None


def held(db: Database, job_id: int, fence: int) -> Job | None:
    """A job leased for this process by another; None when the lease was lost meanwhile."""
    row = db.row("held_job", job_id=job_id, fence=fence)
    return _job(row) if row else None


def _job(row: Row) -> Job:
    return Job(
        **{name: row[name] for name in _JOB_COLUMNS},
        completion=kept_completion(row) if row["kept_state"] else None,
    )


_JOB_COLUMNS = (
    *("id", "run_id", "bakeoff_id", "sample", "gate", "stage", "fence", "attempt", "losses", "refill"),
    *("judge", "provider", "judge_sha", "task_sha", "grader_shas", "seed", "ambiguous_repeats", "case_body"),
)


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
    """Heartbeat: keep the leases of the jobs (id, fence) in hand."""
    ids, fences = [job_id for job_id, _ in held], [fence for _, fence in held]
    db.run("extend_leases", job_ids=ids, fences=fences, lease_s=lease_s)


def release(db: Database, job: Job, *, wait_s: float) -> None:
    """Put a job back, not to be tried before `wait_s`."""
    db.row("release_job", job_id=job.id, fence=job.fence, wait_s=wait_s)


def release_held(db: Database, held: Sequence[tuple[int, int]]) -> None:
    """Put back the jobs (id, fence) of a worker that must leave."""
    ids, fences = [job_id for job_id, _ in held], [fence for _, fence in held]
    db.run("release_held", job_ids=ids, fences=fences)


def lose(db: Database, job: Job) -> None:
    """Put back a job whose process died, and count that; the last time it ends as errored instead."""
    with db.transaction() as tx:
        if tx.row("lose_job", job_id=job.id, fence=job.fence):
            tx.run("close_lost_calls", job_ids=[job.id])
        _end_poisoned(tx)


def return_expired(db: Database) -> int:
    """Put back the jobs whose worker is gone; how many. Calls it had in flight count as spent.

    One at a time does it: the others have nothing to add.
    """
    with db.transaction() as tx:
        lock = tx.row("try_lock_reap")
        expired = tx.rows("reap_leases") if lock and lock["got"] else []
        if expired:
            tx.run("close_lost_calls", job_ids=[row["id"] for row in expired])
            _end_poisoned(tx)
    return len(expired)


def _end_poisoned(tx: Connection) -> None:
    """End the jobs that have killed their worker too often: they must not take the fleet down with them."""
    for row in tx.rows("end_poisoned", limit=MAX_LOSSES):
        log.warning("run_id=%s case_id=%s: its worker died too often", row["run_id"], row["case_id"])


def finish(db: Database, job: Job, outcome: Outcome, grades: Sequence[Grade]) -> bool:
    """Write a job's end; False when the lease was lost and nothing was written."""
    row = db.row(
        "finish_job",
        job_id=job.id,
        fence=job.fence,
        verdict=outcome.verdict,
        error_kind=outcome.error_kind,
        message=storable(outcome.message),
        grades=_marks(grades),
    )
    return row is not None


def hand_over(db: Database, job: Job, grades: Sequence[Grade]) -> bool:
    """Leave a job to a worker without keys, with its grades so far; False when the lease was lost."""
    return db.row("hand_over_job", job_id=job.id, fence=job.fence, grades=_marks(grades)) is not None


def grades_so_far(db: Database, job: Job) -> list[Grade]:
    """The grades other workers have given to a job's answer."""
    return [Grade(**row) for row in db.rows("job_grades", job_id=job.id)]


def is_last(db: Database, job: Job) -> bool:
    """Whether no job of its run is open any more."""
    row = db.row("open_jobs", run_id=job.run_id)
    return row is not None and row["n"] == 0


def _marks(grades: Sequence[Grade]) -> str:
    """Grades as the statements that keep them take them."""
    marks = [{**storable_json(asdict(grade)), "ordinal": place} for place, grade in enumerate(grades)]
    return json.dumps(marks)


def storable(text: str | None) -> str | None:
    """Text as Postgres can hold it: without NUL characters and lone surrogates."""
    if text is None:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def storable_json(value: Any) -> Any:
    """The same of every text in a JSON value."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(inner) for key, inner in value.items()}
    return [storable_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def queue_window(tx: Connection, gate: str) -> list[QueuedJob]:
    """Mark the next ready jobs of a gate as queued, up to its window."""
    tx.row("lock_gate", gate=gate)
    return [QueuedJob(**row) for row in tx.rows("queue_window", gate=gate)]


def gates_with_ready_jobs(db: Database) -> list[str]:
    """The gates that have jobs to publish now."""
    return [row["gate"] for row in db.rows("gates_with_ready_jobs")]


def leased_count(db: Database, bakeoff_id: int) -> int:
    """How many jobs of a bake-off are in workers' hands."""
    row = db.row("leased_jobs", bakeoff_id=bakeoff_id)
    return int(row["n"]) if row else 0
