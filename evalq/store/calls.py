"""Calls in Postgres: reserved under the cap, settled with the answer, journalled either way."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from evalq.definitions.judge import JudgeConfig
from evalq.errors import CapReached, ProviderFault, PutBack
from evalq.records import Completion, Purpose
from evalq.store.database import Connection, Database, Row, known_version, transactional
from evalq.store.jobs import Job, storable, storable_json

Settlement = dict[str, Any]
"""The end of a call: the fields of the settling statement, in values that JSON can hold."""

_SETTLEMENT_FIELDS = {
    "state",
    "cost_usd",
    "usage",
    "request_id",
    "latency_ms",
    "fault_kind",
    "fault_message",
    "completion_state",
    "answer",
    "model",
    "input_tokens",
    "output_tokens",
}
"""Without `tool_calls`, which settlements that an earlier version left in the spool do not have."""

_CAPS = {"bake-off": "the cap of the bake-off", "day": "the cap of the day"}


@dataclass(frozen=True)
class Call:
    """One attempt at one question, before it is made; `margin_usd` must stay free beside it."""

    judge: JudgeConfig
    purpose: Purpose
    key: str
    attempt: int
    usd: Decimal
    margin_usd: Decimal = Decimal(0)


@dataclass(frozen=True)
class Tries:
    """The calls that earlier holders of a job made for one question; `throttled` ones were not processed."""

    made: int = 0
    ambiguous: int = 0
    throttled: int = 0


@dataclass(frozen=True)
class JournalCall:
    """One attempt at a call, as the journal has it."""

    id: int
    run: str
    case_id: str
    sample: int
    purpose: Purpose
    judge: str
    provider: str
    model: str
    key: str
    attempt: int
    state: str
    reserved_usd: Decimal
    cost_usd: Decimal | None
    usage: dict[str, Any] | None
    request_id: str | None
    fault_kind: str | None
    fault_message: str | None
    latency_ms: int | None
    reserved_at: datetime
    sent_at: datetime | None
    settled_at: datetime | None


@dataclass(frozen=True)
class DayCost:
    """The calls of one judge for one purpose on one day (UTC)."""

    day: date
    provider: str
    judge: str
    purpose: Purpose
    calls: int
    unknown: int
    cost_usd: Decimal
    in_flight_usd: Decimal


@transactional
def set_daily_caps(tx: Connection, caps: Mapping[str, Decimal]) -> None:
    """Replace the daily caps of the whole fleet: scope `day` or `provider:NAME`."""
    tx.run("drop_spending_caps", scopes=list(caps))
    for scope, cap_usd in caps.items():
        tx.run("set_spending_cap", scope=scope, cap_usd=cap_usd)


def reserve(db: Database, job: Job, call: Call) -> int | None:
    """Set a call's worst case aside under every cap and journal it; None while other calls hold the room.

    Raises CapReached when it would not fit even alone, PutBack when the bake-off was stopped.
    """
    encoded = f"[{encode_reservation(job, call)}]"
    row = db.row("reserve_calls", calls=encoded, schema_version=known_version())
    return read_reservation(job, call, row)


def encode_reservation(job: Job, call: Call) -> str:
    """A call to reserve, as the statement takes it."""
    reservation = {
        "bakeoff_id": job.bakeoff_id,
        "job_id": job.id,
        "purpose": call.purpose,
        "judge": call.judge.name,
        "provider": call.judge.provider,
        "model": call.judge.model,
        "key": call.key,
        "attempt": call.attempt,
        "usd": str(call.usd),
        "margin": str(call.margin_usd),
    }
    return json.dumps(reservation)


def read_reservation(job: Job, call: Call, row: Row | None) -> int | None:
    """The call's id in the row that reserving returned; None while other calls hold the room."""
    if row is None:
        raise PutBack(f"nothing is paid for job {job.id}: it is gone, or the database is newer")
    _raise_refusal(job, row["refusal"], call)
    return row["call_id"]  # type: ignore[no-any-return]


def _raise_refusal(job: Job, refusal: str | None, call: Call) -> None:
    if refusal == "stopped":
        raise PutBack(f"bake-off {job.bakeoff_id} was stopped")
    if refusal not in (None, "busy"):
        name = _CAPS.get(refusal, f"the cap of the day for {refusal}")
        raise CapReached(f"{name}: the next call may cost ${call.usd:.4f}")


def answered(completion: Completion) -> Settlement:
    """The settlement of a call that was answered, gradable or not."""
    usage = completion.usage
    record = dict(usage.raw)
    if completion.is_cost_assumed:
        record["cost_basis"] = "reservation"
    tool_calls = [{"name": call.name, "arguments": call.arguments} for call in completion.tool_calls]
    return {
        "state": "settled",
        "cost_usd": str(completion.cost_usd),
        "usage": json.dumps(record),
        "request_id": completion.request_id,
        "latency_ms": completion.latency_ms,
        "fault_kind": None,
        "fault_message": None,
        "completion_state": completion.state,
        "answer": storable(completion.text),
        "model": completion.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "tool_calls": json.dumps(storable_json(tool_calls)) if tool_calls else None,
    }


def failed(fault: ProviderFault) -> Settlement:
    """The settlement of a failed call: free, or its whole reservation if it may have been billed."""
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
    db.run("settle_calls", calls=f"[{encode_settlement(call_id, settlement)}]")


def encode_settlement(call_id: int, settlement: Settlement) -> str:
    """The end of a call, as the statement takes it; raises ValueError for one that lacks a field."""
    end = {**settlement, "call_id": call_id}
    missing = _SETTLEMENT_FIELDS - end.keys()
    if missing:
        raise ValueError(f"a settlement has no {', '.join(sorted(missing))}")
    return json.dumps(end)


def tries_before(db: Database, job: Job, key: str) -> Tries:
    """The calls made for a question by workers that held the job before."""
    if job.attempt == 1:
        return Tries()
    row = db.row("tries", job_id=job.id, key=key)
    assert row is not None
    return Tries(row["made"], row["ambiguous"], row["throttled"])


def paid_reply(db: Database, job: Job, key: str) -> Completion | None:
    """A grader model's reply to a question that an earlier holder of the job paid for; None without one."""
    if job.attempt == 1:
        return None
    row = db.row("paid_reply", job_id=job.id, key=key)
    if row is None:
        return None
    return Completion(row["reply_state"], row["reply"] or "", cost_usd=row["cost_usd"])


def close_lost(db: Database, job: Job) -> None:
    """Close the calls that earlier holders of a job left in flight."""
    if job.attempt > 1:
        db.run("close_lost_calls", job_ids=[job.id])


def close_in_flight(tx: Connection, job_ids: Sequence[int]) -> None:
    """Count the reservations of jobs' calls in flight as spent: they may be billed."""
    tx.run("close_lost_calls", job_ids=list(job_ids))


def count_in_flight(db: Database, bakeoff_id: int) -> int:
    """How many calls of a bake-off are in flight."""
    row = db.row("calls_in_flight", bakeoff_id=bakeoff_id)
    return int(row["n"]) if row else 0


def journal(
    db: Database, bakeoff_id: int, *, case_id: str | None, judge: str | None, limit: int
) -> list[JournalCall]:
    """The calls of a bake-off in order, of one case or judge if given."""
    rows = db.rows("calls", bakeoff_id=bakeoff_id, case_id=case_id, judge=judge, limit=limit)
    return [JournalCall(**row) for row in rows]


def answer_keys(db: Database, job_id: int) -> list[str]:
    """The keys of the questions that were put to a job's judge: hashes over the bytes of each prompt."""
    return [row["key"] for row in db.rows("answer_keys", job_id=job_id)]


def costs_since(db: Database, since: datetime) -> list[DayCost]:
    """Dollars by day, provider, judge and purpose, the newest day first."""
    return [DayCost(**row) for row in db.rows("costs", since=since)]


def rename_installation(db: Database) -> None:
    """Give this database another name: it is a copy."""
    db.run("rename_installation")


def installation(db: Database) -> str:
    """The uid of this database, which call ids belong to."""
    row = db.row("installation")
    assert row is not None
    return str(row["uid"])
