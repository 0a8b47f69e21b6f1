"""The jobs of the fleet: run a case, publish more, conclude a run, check drift, bring back what was lost."""

import logging
import os
from collections.abc import Sequence

from evalq.bakeoff import conclude as conclusion
from evalq.bakeoff import publish, recover
from evalq.calling.failpoints import failpoint
from evalq.drift import decide as drift
from evalq.drift.alerts import are_due, deliver
from evalq.errors import CapReached, ProviderFault, PutBack, Refused, Unreachable
from evalq.grading.grade import decide_outcome
from evalq.keys import environment_with_keys
from evalq.records import SANDBOX_QUEUE, Grade, Outcome
from evalq.store import bakeoffs, calls, jobs
from evalq.store.database import require_schema
from evalq.store.jobs import Job
from workers.app import FLEET, SETTINGS, app
from workers.case import CaseRun
from workers.connections import connections
from workers.isolated import run_alone
from workers.schedule import open_scheduled

log = logging.getLogger(__name__)

_AWAY_S = 2.0


@app.task(name="run_case")  # type: ignore[untyped-decorator]
def run_case(job_id: int) -> None:
    """One judge answers one case, and the answer is graded."""
    failpoint("before_claim")
    try:
        connections().spool.replay()
        job = jobs.claim(connections().db, job_id, lease_s=FLEET.lease_s)
        if job is not None:
            with connections().heartbeat.holding(job):
                _bring_to_end(job)
            _ask_for_more(job)
            _conclude_if_last(job)
    except Unreachable as exc:
        log.warning("job=%s: %s; it will be run again", job_id, exc)


def _bring_to_end(job: Job) -> None:
    """A suspect job in a process of its own; with the database away, the job is put back."""
    try:
        run_alone(connections().db, job) if job.is_suspect else work(job)
    except Unreachable:
        _put_back(job)
        raise


def work(job: Job) -> None:
    """Bring a claimed job to its end, whatever happens; only the database may be away, then Unreachable."""
    db, case_run = connections().db, CaseRun(connections(), job)
    failpoint("after_claim", job.case.id)
    try:
        calls.close_lost(db, job)
        completion = job.completion or case_run.answer()
        grades = case_run.grade(completion)
        failpoint("before_outcome", job.case.id)
        if case_run.leaves_code(completion):
            _hand_over(job, grades)
        else:
            jobs.finish(db, job, decide_outcome(case_run.subject(completion), grades), grades)
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
        _end_faulted(job, fault)
    except Unreachable:
        raise
    except Exception as exc:
        log.exception("run_id=%s job=%s: our own error", job.run_id, job.id)
        _end_broken(job, exc)


def _hand_over(job: Job, grades: Sequence[Grade]) -> None:
    """Code is run by a worker without keys: it gets the answer, and gives the last grades."""
    if jobs.hand_over(connections().db, job, grades):
        publish.pump(connections().db, connections().broker, SANDBOX_QUEUE)


def _end_faulted(job: Job, fault: ProviderFault) -> None:
    """A fault that no repeat mends ends the job; one that will meet every call pauses its judge."""
    db = connections().db
    if fault.kind != "fatal":
        jobs.finish(db, job, Outcome("errored", f"call_{fault.kind}", fault.message), [])
        return
    jobs.release(db, job, wait_s=0)
    if bakeoffs.pause_run(db, job.run_id, fault.message):
        log.warning("run_id=%s: paused: %s", job.run_id, fault.message)
        conclusion.conclude_paused(db, job.bakeoff_id)


def _put_back(job: Job) -> None:
    """Back at once if the database is, a paid answer first; else as soon as the heartbeat finds it again."""
    try:
        connections().spool.replay()
        jobs.release(connections().db, job, wait_s=_AWAY_S)
    except Unreachable:
        connections().heartbeat.give_up(job)


def _end_broken(job: Job, exc: Exception) -> None:
    """Our own error ends the job as errored; unless the schema was changed under us: not the job's fault."""
    db = connections().db
    require_schema(db)
    jobs.finish(db, job, Outcome("errored", "internal", f"{type(exc).__name__}: {exc}"), [])


def _conclude_if_last(job: Job) -> None:
    """A chord counts each of its members once: what came back to the queue may end after the callback."""
    if job.attempt > 1 and jobs.is_last(connections().db, job):
        connections().broker.send("conclude", job.run_id)


def _ask_for_more(job: Job) -> None:
    """The job in the middle of a window has the next one published, now that half of it is done."""
    if job.refill:
        connections().broker.send("pump", job.gate)


@app.task(name="pump", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def pump(gate: str) -> None:
    """The next window of a gate's jobs goes out."""
    publish.pump(connections().db, connections().broker, gate)


@app.task(name="conclude", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def conclude(run_id: int) -> None:
    """A run whose jobs have all ended gets its row; the last one concludes the bake-off."""
    conclusion.conclude(connections().db, run_id)


@app.task(name="reap", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def reap() -> None:
    """Whatever was lost on the way comes back from Postgres; so do drift checks and alerts that are due."""
    recover.reap(connections().db, connections().broker, lost_after_s=FLEET.lost_after_s)
    drift.advance(connections().db, connections().broker)
    for schedule in SETTINGS.drift:
        check_drift(schedule.name)
    if are_due(connections().db, SETTINGS.alerts):
        connections().broker.send("deliver_alerts")


@app.task(name="check_drift", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def check_drift(schedule_name: str) -> None:
    """The drift check a schedule is due for is opened, once however often this is asked."""
    open_scheduled(connections(), schedule_name)


@app.task(name="deliver_alerts", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def deliver_alerts() -> None:
    """Alerts go out to their channels; what does not arrive is tried again later."""
    deliver(connections().db, SETTINGS.alerts, environment_with_keys(os.environ))
