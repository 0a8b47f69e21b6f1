"""The verdict cache in Postgres: what grader models said, kept so that the same question is paid once."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from evalq.records import Savings
from evalq.store.database import Connection, Database
from evalq.store.jobs import Job


@dataclass(frozen=True)
class GraderCache:
    """The cached verdicts of one grader model, and what their reuse saved."""

    grader_model: str
    verdicts: int
    cost_usd: Decimal
    oldest: datetime
    newest: datetime
    uses: int
    saved_usd: Decimal


@dataclass(frozen=True)
class Prunable:
    """How many cached verdicts a pruning removes, and what they cost."""

    n: int
    cost_usd: Decimal


def use_verdict(db: Database, key: str, job: Job) -> str | None:
    """The reply cached under a key, noted as used by the job; None when there is none."""
    row = db.row("cached_verdict", key=key, job_id=job.id, bakeoff_id=job.bakeoff_id)
    return row["verdict"] if row else None


def keep_verdict(db: Database, key: str, reply: str, *, grader_model: str, cost_usd: Decimal) -> None:
    """Cache a reply; the first one under a key stays."""
    db.run("keep_verdict", key=key, verdict=reply, grader_model=grader_model, cost_usd=cost_usd)


def peek_verdict(db: Database, key: str) -> str | None:
    """The reply cached under a key, without counting it as used."""
    row = db.row("peek_verdict", key=key)
    return row["verdict"] if row else None


def savings(db: Database | Connection, bakeoff_id: int) -> Savings:
    """What the cache saved a bake-off."""
    row = db.row("cache_savings", bakeoff_id=bakeoff_id)
    return Savings(**row) if row else Savings()


def by_grader(db: Database) -> list[GraderCache]:
    """The cache grader by grader, the largest share first."""
    return [GraderCache(**row) for row in db.rows("cache_rows")]


def count_prunable(db: Database, *, before: datetime | None, grader_model: str | None) -> Prunable:
    """What `prune` would remove."""
    row = db.row("count_prunable", before=before, grader_model=grader_model)
    assert row is not None
    return Prunable(**row)


def prune(db: Database, *, before: datetime | None, grader_model: str | None) -> None:
    """Remove verdicts older than `before`, those of one grader model, or (both None) all."""
    db.run("prune_verdicts", before=before, grader_model=grader_model)
