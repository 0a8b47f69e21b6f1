"""Launches a bake-off: records it, then publishes its first jobs; or goes on with one that stopped."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from evalq.bakeoff import holdout, publish
from evalq.bakeoff.commit import commit_sha
from evalq.bakeoff.control import named_runs
from evalq.bakeoff.estimate import refine_estimate
from evalq.bakeoff.known_programs import announce_programs
from evalq.bakeoff.plan import Plan, refuse_over_cap
from evalq.engines.session import Session
from evalq.store import bakeoffs, calls
from evalq.store.database import Connection
from evalq.store.definitions import runs_code


def start(session: Session, plan: Plan, *, cap_usd: Decimal, root: Path, run_type: str | None = None) -> int:
    """Record a bake-off and publish its first jobs; return its id."""
    return launch(
        session, plan, terms=bakeoffs.Terms(cap_usd, plan.look or run_type or plan.run_type), root=root
    )


def launch(
    session: Session,
    plan: Plan,
    *,
    terms: bakeoffs.Terms,
    root: Path,
    beside: Callable[[Connection, int], None] | None = None,
) -> int:
    """Log a look at a holdout, record the bake-off, then publish its first jobs; return its id.

    `beside` gets the id and writes in the same transaction that records the bake-off.
    """
    refuse_over_cap(refine_estimate(session.db, plan), terms.cap_usd)
    announce_programs((*plan.judges, *plan.graders.values()), session.settings.alerts, folder=Path.cwd())
    if plan.runs_code:
        session.prepare_sandbox(plan.executors)
    _set_daily_caps(session)
    terms = replace(
        terms,
        git_sha=commit_sha(root),
        ambiguous_repeats=session.settings.ambiguous_repeats,
        uid=holdout.admit(session.db, root, plan, run_type=terms.run_type),
    )

    def record(tx: Connection) -> int:
        bakeoff_id = bakeoffs.add(tx, plan, terms)
        if beside is not None:
            beside(tx, bakeoff_id)
        return bakeoff_id

    bakeoff_id = session.db.in_transaction(record)
    publish.open_chords(session.db, session.broker, bakeoff_id)
    publish.pump_first(session.db, session.broker)
    return bakeoff_id


def restart(session: Session, bakeoff_id: int, *, cap_usd: Decimal | None) -> bool:
    """Publish the jobs of a stopped bake-off that have not ended; return False when all have."""
    _set_daily_caps(session)
    _prepare_sandbox(session, bakeoff_id)
    is_open = bakeoffs.reopen(session.db, bakeoff_id, cap_usd=cap_usd)
    publish.pump_all(session.db, session.broker)
    return is_open


def retry_errors(session: Session, bakeoff_id: int, *, judges: Sequence[str], cap_usd: Decimal | None) -> int:
    """Run the errored jobs of these judges again, or of all judges; return the number of jobs."""
    run_ids = [run.id for run in named_runs(session, bakeoff_id, judges)]
    _set_daily_caps(session)
    n_jobs = bakeoffs.retry_errors(session.db, bakeoff_id, run_ids=run_ids, cap_usd=cap_usd)
    if n_jobs:
        _prepare_sandbox(session, bakeoff_id)
        publish.pump_all(session.db, session.broker)
    return n_jobs


def _prepare_sandbox(session: Session, bakeoff_id: int) -> None:
    """Check that code can run here if the bake-off has code graders."""
    if runs_code(session.db, bakeoff_id):
        session.prepare_sandbox()


def _set_daily_caps(session: Session) -> None:
    if session.settings.caps is not None:
        calls.set_daily_caps(session.db, session.settings.caps.scopes())
