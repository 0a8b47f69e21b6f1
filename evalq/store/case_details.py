"""One case of a bake-off in full: its text, the attempts at it, its past in other bake-offs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from evalq.records import Savings
from evalq.store.database import Database


@dataclass(frozen=True)
class StoredCase:
    """A case with its place in the evalset."""

    case_id: str
    ordinal: int
    stratum: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class PastVerdict:
    """How one judge did on a case in another bake-off; `is_changed`: the case had another content there."""

    bakeoff_id: int
    run_type: str
    created_at: datetime
    judge: str
    is_changed: bool
    n_pass: int
    n_fail: int
    n_error: int


@dataclass(frozen=True)
class CallAttempt:
    """One call of the journal."""

    job_id: int
    purpose: str
    judge: str
    attempt: int
    state: str
    cost_usd: Decimal | None
    latency_ms: int | None
    fault_kind: str | None
    fault_message: str | None
    reserved_at: datetime
    cached_tokens: int | None


@dataclass(frozen=True)
class FirstError:
    """A judge's errors in a bake-off: how many, and the first one."""

    judge: str
    n: int
    case_id: str
    error_kind: str | None
    message: str | None


def previews(db: Database, bakeoff_id: int, case_ids: Sequence[str]) -> dict[str, str]:
    """The beginning of the inputs of some cases."""
    rows = db.rows("case_previews", bakeoff_id=bakeoff_id, case_ids=list(case_ids))
    return {row["case_id"]: row["preview"] or "" for row in rows}


def find_case(db: Database, bakeoff_id: int, case_id: str) -> StoredCase | None:
    """A case of a bake-off's evalset."""
    row = db.row("case_of_bakeoff", bakeoff_id=bakeoff_id, case_id=case_id)
    return StoredCase(**{**row, "body": json.loads(row["body"])}) if row else None


def history(db: Database, bakeoff_id: int, case_id: str, *, limit: int) -> list[PastVerdict]:
    """The case's verdicts in the latest other bake-offs of the task, newest first."""
    rows = db.rows("case_history", bakeoff_id=bakeoff_id, case_id=case_id, limit=limit)
    return [PastVerdict(**row) for row in rows]


def attempts(db: Database, job_ids: Sequence[int]) -> Mapping[int, list[CallAttempt]]:
    """The calls made for some jobs, by job."""
    found: defaultdict[int, list[CallAttempt]] = defaultdict(list)
    for row in db.rows("call_attempts", job_ids=list(job_ids)):
        found[row["job_id"]].append(CallAttempt(**row))
    return found


def cached_verdicts_of(db: Database, job_ids: Sequence[int]) -> dict[int, Savings]:
    """The stored verdicts that stood in for calls, by job."""
    rows = db.rows("cached_verdicts_of", job_ids=list(job_ids))
    return {row["job_id"]: Savings(row["n"], row["saved_usd"]) for row in rows}


def first_errors(db: Database, bakeoff_id: int) -> dict[str, FirstError]:
    """The errors of a bake-off's judges, by judge."""
    return {row["judge"]: FirstError(**row) for row in db.rows("first_errors", bakeoff_id=bakeoff_id)}
