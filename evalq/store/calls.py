"""Calls in Postgres: reserved under the cap, settled with the answer, journalled either way."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalq.definitions.judge import JudgeConfig
from evalq.errors import CapReached, ProviderFault, PutBack
from evalq.records import Completion, Purpose
from evalq.store.database import Database
from evalq.store.jobs import Job, storable, storable_json


@dataclass(frozen=True)
class Call:
    """One attempt at one question, before it is made. `margin_usd` must stay free beside it."""

    judge: JudgeConfig
    purpose: Purpose
    key: str
    attempt: int
    usd: Decimal
    margin_usd: Decimal = Decimal(0)


def reserve(db: Database, job: Job, call: Call) -> int | None:
    """Set a call's worst case aside under every cap and journal it; None while others hold the room.

    Raises CapReached when it would not fit even alone, PutBack when the bake-off was stopped.
    """
    row = db.row(
        "reserve",
        bakeoff_id=job.bakeoff_id,
        job_id=job.id,
        purpose=call.purpose,
        judge=call.judge.name,
        provider=call.judge.provider,
        model=call.judge.model,
        key=call.key,
        attempt=call.attempt,
        usd=call.usd,
        margin=call.margin_usd,
    )
    assert row is not None
    _raise_refusal(job, row["refusal"], call)
    return row["call_id"]  # type: ignore[no-any-return]


def _raise_refusal(job: Job, refusal: str | None, call: Call) -> None:
    if refusal == "stopped":
        raise PutBack(f"bake-off {job.bakeoff_id} was stopped")
    if refusal not in (None, "busy"):
        name = _CAPS.get(refusal, f"the cap of the day for {refusal}")
        raise CapReached(f"{name}: the next call may cost ${call.usd:.4f}")


_CAPS = {"bake-off": "the cap of the bake-off", "day": "the cap of the day"}


@dataclass(frozen=True)
class Tries:
    """What earlier holders of a job did about one question."""

    made: int = 0
    ambiguous: int = 0


def tries_before(db: Database, job: Job, key: str) -> Tries:
    """The calls made for a question by workers that had the job before."""
    if job.attempt == 1:
        return Tries()
    row = db.row("tries", job_id=job.id, key=key)
    assert row is not None
    return Tries(row["made"], row["ambiguous"])


def paid_reply(db: Database, job: Job, key: str) -> Completion | None:
    """What a grader model said to this question before the worker was lost: it need not be asked again."""
    row = db.row("paid_reply", job_id=job.id, key=key) if job.attempt > 1 else None
    return Completion(row["reply_state"], row["reply"] or "", cost_usd=row["cost_usd"]) if row else None


def close_lost(db: Database, job: Job) -> None:
    """Calls that a lost worker left in flight may have been billed: their reservation counts as spent."""
    if job.attempt > 1:
        db.run("close_lost_calls", job_ids=[job.id])


Settlement = dict[str, Any]
"""What became of a call, as the settling statement takes it and as JSON can hold it."""


def answered(completion: Completion) -> Settlement:
    """The settlement of a call that was answered, whatever the answer is worth."""
    usage = completion.usage
    return {
        "state": "settled",
        "cost_usd": str(completion.cost_usd),
        "usage": json.dumps(dict(usage.raw)),
        "request_id": completion.request_id,
        "latency_ms": completion.latency_ms,
        "fault_kind": None,
        "fault_message": None,
        "completion_state": completion.state,
        "answer": storable(completion.text),
        "model": completion.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "tool_calls": _tool_calls(completion),
    }


def _tool_calls(completion: Completion) -> str | None:
    asked = [{"name": call.name, "arguments": call.arguments} for call in completion.tool_calls]
    return json.dumps(storable_json(asked)) if asked else None


def failed(fault: ProviderFault) -> Settlement:
    """The settlement of a failed call: free unless it is ambiguous, then its reservation counts as spent."""
    is_ambiguous = fault.kind == "ambiguous"
    return {
        "state": "unknown" if is_ambiguous else "settled",
        "cost_usd": None if is_ambiguous else "0",
        "usage": None,
        "request_id": fault.request_id,
        "latency_ms": None,
        "fault_kind": fault.kind,
        "fault_message": storable(fault.message),
        "completion_state": None,
        "answer": None,
        "model": None,
        "input_tokens": None,
        "output_tokens": None,
        "tool_calls": None,
    }


def settle(db: Database, call_id: int, settlement: Settlement) -> None:
    """Replace a reservation by the price, once; a judge's answer is stored in the same statement."""
    # What an earlier version left in the spool knows nothing of tools.
    db.run("settle", call_id=call_id, **{"tool_calls": None, **settlement})


def installation(db: Database) -> str:
    """The name of the database, which call numbers belong to."""
    row = db.row("installation")
    assert row is not None
    return str(row["uid"])


def in_flight(db: Database, bakeoff_id: int) -> int:
    """How many calls of a bake-off are under way."""
    row = db.row("calls_in_flight", bakeoff_id=bakeoff_id)
    return int(row["n"]) if row else 0
