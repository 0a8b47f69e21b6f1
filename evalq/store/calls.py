"""Calls in Postgres: reserved under the cap, settled with the answer, journalled either way."""

import json
from decimal import Decimal

from evalq.definitions.judge import JudgeConfig
from evalq.errors import CapReached, ProviderFault, PutBack
from evalq.records import Completion, Purpose
from evalq.store.database import Database
from evalq.store.jobs import Job, storable


def reserve(
    db: Database, job: Job, judge: JudgeConfig, *, purpose: Purpose, attempt: int, usd: Decimal
) -> int | None:
    """Set a call's worst case aside and open its journal row; None while other calls hold the room.

    Raises CapReached when it would not fit even alone, PutBack when the bake-off was stopped.
    """
    row = db.row(
        "reserve",
        bakeoff_id=job.bakeoff_id,
        job_id=job.id,
        purpose=purpose,
        judge=judge.name,
        provider=judge.provider,
        attempt=attempt,
        usd=usd,
    )
    if row is None:
        _require_room(db, job, usd)
        return None
    return int(row["id"])


def _require_room(db: Database, job: Job, usd: Decimal) -> None:
    row = db.row("budget", bakeoff_id=job.bakeoff_id)
    assert row is not None
    if row["state"] != "running":
        raise PutBack(f"bake-off {job.bakeoff_id} is {row['state']}")
    if row["spent_usd"] + usd > row["cap_usd"]:
        spent = f"${row['spent_usd']:.4f} of ${row['cap_usd']:.2f} is spent"
        raise CapReached(f"the next call may cost ${usd:.4f}, {spent}")


def settle(db: Database, call_id: int, completion: Completion) -> None:
    """Replace a reservation by the price; a judge's answer is stored in the same statement."""
    usage = completion.usage
    db.run(
        "settle",
        call_id=call_id,
        state="settled",
        cost_usd=completion.cost_usd,
        usage=json.dumps(dict(usage.raw)),
        request_id=completion.request_id,
        latency_ms=completion.latency_ms,
        fault_kind=None,
        fault_message=None,
        completion_state=completion.state,
        answer=storable(completion.text),
        model=completion.model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
    )


def settle_fault(db: Database, call_id: int, fault: ProviderFault) -> None:
    """Close a failed call: free unless it is ambiguous, then its reservation counts as spent."""
    db.run(
        "settle",
        call_id=call_id,
        state="unknown" if fault.kind == "ambiguous" else "settled",
        cost_usd=None if fault.kind == "ambiguous" else Decimal(0),
        usage=None,
        request_id=fault.request_id,
        latency_ms=None,
        fault_kind=fault.kind,
        fault_message=storable(fault.message),
        completion_state=None,
        answer=None,
        model=None,
        input_tokens=None,
        output_tokens=None,
    )
