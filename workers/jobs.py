"""The jobs of the fleet: run a case, publish more, conclude a run, recover what was lost, deliver alerts."""

import logging
from collections.abc import Sequence

from evalq.bakeoff import conclude as conclusion
from evalq.bakeoff import publish, recover
from evalq.calling.failpoints import failpoint
from evalq.drift import decide as drift
from evalq.drift.alerts import are_due, deliver
from evalq.errors import CapReached, ProviderFault, PutBack, Refused, Unreachable
from evalq.grading.grade import decide_outcome
from evalq.records import SANDBOX_QUEUE, Grade, Outcome
from evalq.store import bakeoffs, calls, jobs, outcomes
from evalq.store.database import require_schema
from evalq.store.jobs import Job
from workers.app import app
from workers.case import CaseRun
from workers.connections import Connections, connections
from workers.isolated import run_isolated
from workers.schedule import open_due_checks

log = logging.getLogger(__name__)

_DATABASE_AWAY_S = 2.0

_ALIKE = 5
_FIRST_OUTCOMES = 50
_HOPELESS = {
    "call_permanent": "calls fail alike; fix the judge (model, base_url, params), then `evalq resume`",
    "call_ambiguous": "calls fail alike; see what the server logs, then `evalq resume`",
    "call_transient": "calls fail alike; see whether the server runs, then `evalq resume`",
    "truncated": "answers are cut off; raise max_tokens (reasoning counts towards it), then `evalq resume`",
}
"""Errors that every further case would meet too, and what to do about them."""


@app.task(name="run_case")  # type: ignore[untyped-decorator]
def run_case(job_id: int) -> None:
    """One judge answers one case, and the answer is graded."""
    failpoint("before_claim")
    try:
        here = connections()
        here.spool.replay()
        job = jobs.claim(here.db, job_id, lease_s=here.settings.fleet.lease_s)
        if job is None:
            return
        with here.heartbeat.holding(job):
            _bring_to_end(here, job)
        _ask_for_more(here, job)
        _conclude_if_last(here, job)
    except Unreachable as exc:
        log.warning("job=%s: %s; it will be run again", job_id, exc)


def _bring_to_end(here: Connections, job: Job) -> None:
    """Run the job, a suspect one in a process of its own; put it back when the database is away."""
    try:
        if job.is_suspect:
            run_isolated(here.db, job)
        else:
            work(here, job)
    except Unreachable:
        _put_back(here, job)
        raise


def work(here: Connections, job: Job) -> None:
    """Bring a claimed job to its end, whatever happens; raises only Unreachable, for the database."""
    db, case_run = here.db, CaseRun(here, job)
    try:
        failpoint("after_claim", job.case.id)
        calls.close_lost(db, job)
        completion = job.completion or case_run.answer()
        grades = case_run.grade(completion)
        failpoint("before_outcome", job.case.id)
        if case_run.leaves_code(completion):
            _hand_over(here, job, grades)
        else:
            _finish(here, job, decide_outcome(case_run.to_grade(completion), grades), grades)
    except PutBack as exc:
        jobs.release(db, job, wait_s=exc.wait_s)
    except CapReached as exc:
        bakeoffs.cap(db, job.bakeoff_id, str(exc))
        jobs.release(db, job, wait_s=0)
    except Refused as exc:
        log.error("run_id=%s: paused: %s", job.run_id, exc)
        bakeoffs.pause(db, job.bakeoff_id, str(exc))
        jobs.release(db, job, wait_s=0)
    except ProviderFault as fault:
        _end_faulted(here, job, fault)
    except Unreachable:
        raise
    except Exception as exc:
        log.exception("run_id=%s job=%s: our own error", job.run_id, job.id)
        _end_broken(here, job, exc)


def _hand_over(here: Connections, job: Job, grades: Sequence[Grade]) -> None:
    """Leave the code to a worker without keys, which gives the last grades."""
    if jobs.hand_over(here.db, job, grades):
        publish.pump(here.db, here.broker, SANDBOX_QUEUE)


def _end_faulted(here: Connections, job: Job, fault: ProviderFault) -> None:
    """End the job as errored; a fault that every call of the judge would meet pauses the judge instead."""
    if fault.kind != "fatal":
        _finish(here, job, Outcome("errored", f"call_{fault.kind}", fault.message), [])
        return
    jobs.release(here.db, job, wait_s=0)
    _pause(here, job, fault.message)


def _finish(here: Connections, job: Job, outcome: Outcome, grades: Sequence[Grade]) -> None:
    """Write a job's end; the judge is paused when all its first jobs ended in the same error."""
    if not jobs.finish(here.db, job, outcome, grades) or outcome.error_kind not in _HOPELESS:
        return
    n, alike = outcomes.count_alike(here.db, job.run_id, outcome, limit=_FIRST_OUTCOMES)
    if _ALIKE <= n == alike < _FIRST_OUTCOMES and "content policy" not in (outcome.message or ""):
        _pause(here, job, f"{alike} of {n} {_HOPELESS[outcome.error_kind]}: {outcome.message}")


def _pause(here: Connections, job: Job, reason: str) -> None:
    """Pause the judge; the others go on."""
    if bakeoffs.pause_run(here.db, job.run_id, reason):
        log.warning("run_id=%s: paused: %s", job.run_id, reason)
        conclusion.conclude_paused(here.db, job.bakeoff_id)


def _end_broken(here: Connections, job: Job, exc: Exception) -> None:
    """End the job as errored by our own bug, unless the schema changed under us: then it is put back."""
    require_schema(here.db)
    jobs.finish(here.db, job, Outcome("errored", "internal", f"{type(exc).__name__}: {exc}"), [])


def _put_back(here: Connections, job: Job) -> None:
    """Release the job after storing its paid answer: now, or when the heartbeat finds the database again."""
    try:
        here.spool.replay()
        jobs.release(here.db, job, wait_s=_DATABASE_AWAY_S)
    except Unreachable:
        here.heartbeat.release_later(job)


def _ask_for_more(here: Connections, job: Job) -> None:
    """Have the next window published when the job in the middle of this one is done."""
    if job.refill:
        here.broker.send("pump", job.gate)


def _conclude_if_last(here: Connections, job: Job) -> None:
    """A requeued job may finish after its chord's callback ran, so conclude here if it was the last."""
    if job.attempt > 1 and not jobs.has_open_jobs(here.db, job.run_id):
        here.broker.send("conclude", job.run_id)


@app.task(name="pump", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def pump(gate: str) -> None:
    """The next window of a gate's jobs is published."""
    publish.pump(connections().db, connections().broker, gate)


@app.task(name="conclude", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def conclude(run_id: int) -> None:
    """A run whose jobs have all ended gets its row; the last one concludes the bake-off."""
    conclusion.conclude(connections().db, run_id)


@app.task(name="reap", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def reap() -> None:
    """Lost jobs come back from Postgres, due alerts are delivered, due drift checks are opened."""
    here = connections()
    recover.reap(here.db, here.broker, lost_after_s=here.settings.fleet.lost_after_s)
    drift.advance(here.db, here.broker)
    if are_due(here.db, here.settings.alerts):
        here.broker.send("deliver_alerts")
    open_due_checks(here)  # last: a schedule that fails must not hold up the rest


@app.task(name="deliver_alerts", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def deliver_alerts() -> None:
    """Alerts go out to their channels; what does not arrive is tried again later."""
    here = connections()
    deliver(here.db, here.settings.alerts, here.environment_with_keys())
