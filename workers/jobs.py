"""The jobs of the fleet: run a case, publish more, conclude a run, recover what was lost, deliver alerts."""

import asyncio
import logging
from collections.abc import Sequence

from evalq.bakeoff import conclude as conclusion
from evalq.bakeoff import publish, recover
from evalq.calling.failpoints import failpoint
from evalq.drift.alerts import are_due, deliver
from evalq.errors import CapReached, ProviderFault, PutBack, Refused, Unreachable
from evalq.grading.grade import decide_outcome
from evalq.records import SANDBOX_QUEUE, Grade, Outcome
from evalq.store import bakeoffs, calls, jobs, outcomes
from evalq.store.database import require_schema
from evalq.store.jobs import Job
from workers.app import app
from workers.case import CaseRun
from workers.connections import Connections, connections, connections_of_loop
from workers.fleet_watch import watch_runs
from workers.isolated import run_isolated
from workers.job_events import (
    HANDED_OVER,
    ISOLATED,
    NOT_CLAIMED,
    PUT_BACK,
    STOPPED,
    JobEnd,
    describe_outcome,
)
from workers.schedule import open_due_checks

log = logging.getLogger(__name__)

_DATABASE_AWAY_S = 2.0

_ALIKE = 5
_FIRST_OUTCOMES = 50
_HOPELESS = {
    "call_permanent": "calls fail alike; mend the server, then `evalq resume`; another judge needs a new run",
    "call_ambiguous": "calls fail alike; see what the server logs, then `evalq resume`",
    "call_transient": "calls fail alike; see whether the server runs, then `evalq resume`",
    "truncated": "answers are cut off; raise max_tokens (reasoning counts towards it) and start anew",
}
"""Errors that every further case would meet too, and what to do about them.

A bake-off keeps the judges and the task it was recorded with: a change of these needs another one.
"""


@app.task(name="run_case", Request="workers.job_events:JobRequest")  # type: ignore[untyped-decorator]
async def run_case(job_id: int) -> JobEnd:
    """One judge answers one case, and the answer is graded; how it ended is for Flower alone."""
    failpoint("before_claim")
    try:
        here = await connections_of_loop()
        if here.spool.holds_answers():
            await asyncio.to_thread(here.spool.replay)
        job = await here.batches.claim(job_id)
        if job is None:
            return NOT_CLAIMED
        with here.heartbeat.holding(job):
            end = await _bring_to_end(here, job)
        if job.refill or job.attempt > 1:
            await asyncio.to_thread(_follow_up, here, job)
    except Unreachable as exc:
        log.warning("job=%s: %s; it will be run again", job_id, exc)
        return PUT_BACK
    return end


async def _bring_to_end(here: Connections, job: Job) -> JobEnd:
    """Run the job, a suspect one in a process of its own; put it back when the database is away."""
    try:
        if job.is_suspect:
            await run_isolated(here.db, job, few_at_once=here.isolated)
            return ISOLATED
        return await work(here, job)
    except Unreachable:
        await asyncio.to_thread(_put_back, here, job)
        raise


async def work(here: Connections, job: Job) -> JobEnd:
    """Bring a claimed job to its end, whatever happens; raises only Unreachable, for the database."""
    try:
        failpoint("after_claim", job.case.id)
        await _close_lost_calls(here, job)
        case_run = CaseRun(here, job, await here.task(job.task_sha))
        completion = job.completion or await case_run.answer()
        grades = await case_run.grade(completion)
        failpoint("before_outcome", job.case.id)
        if case_run.leaves_code(completion):
            await asyncio.to_thread(_hand_over, here, job, grades)
            return HANDED_OVER
        return await _finish(here, job, decide_outcome(case_run.to_grade(completion), grades), grades)
    except PutBack as exc:
        await here.batches.release(job, wait_s=exc.wait_s)
        return PUT_BACK
    except CapReached as exc:
        await asyncio.to_thread(bakeoffs.cap, here.db, job.bakeoff_id, str(exc))
        await here.batches.release(job, wait_s=0)
        return STOPPED
    except Refused as exc:
        log.error("run_id=%s: paused: %s", job.run_id, exc)
        await asyncio.to_thread(bakeoffs.pause, here.db, job.bakeoff_id, str(exc))
        await here.batches.release(job, wait_s=0)
        return STOPPED
    except ProviderFault as fault:
        return await _end_faulted(here, job, fault)
    except Unreachable:
        raise
    except Exception as exc:
        log.exception("run_id=%s job=%s: our own error", job.run_id, job.id)
        return await asyncio.to_thread(_end_broken, here, job, exc)


async def _close_lost_calls(here: Connections, job: Job) -> None:
    """Close the calls that earlier holders of the job left in flight: they count as spent."""
    if job.attempt > 1:
        await asyncio.to_thread(calls.close_lost, here.db, job)


def _hand_over(here: Connections, job: Job, grades: Sequence[Grade]) -> None:
    """Leave the code to a worker without keys, which gives the last grades."""
    if jobs.hand_over(here.db, job, grades):
        publish.pump(here.db, here.broker, SANDBOX_QUEUE)


async def _end_faulted(here: Connections, job: Job, fault: ProviderFault) -> JobEnd:
    """End the job as errored; a fault that every call of the judge would meet pauses the judge instead."""
    if fault.kind != "fatal":
        return await _finish(here, job, Outcome("errored", f"call_{fault.kind}", fault.message), [])
    await here.batches.release(job, wait_s=0)
    await asyncio.to_thread(_pause, here, job, fault.message)
    return STOPPED


async def _finish(here: Connections, job: Job, outcome: Outcome, grades: Sequence[Grade]) -> JobEnd:
    """Write a job's end; the judge is paused when all its first jobs ended in the same error."""
    is_written = await here.batches.finish(job, outcome, grades)
    if is_written and outcome.error_kind in _HOPELESS:
        await asyncio.to_thread(_pause_if_hopeless, here, job, outcome, _HOPELESS[outcome.error_kind])
    return describe_outcome(outcome)


def _pause_if_hopeless(here: Connections, job: Job, outcome: Outcome, remedy: str) -> None:
    n, alike = outcomes.count_alike(here.db, job.run_id, outcome, limit=_FIRST_OUTCOMES)
    if _ALIKE <= n == alike < _FIRST_OUTCOMES and "content policy" not in (outcome.message or ""):
        _pause(here, job, f"{alike} of {n} {remedy}: {outcome.message}")


def _pause(here: Connections, job: Job, reason: str) -> None:
    """Pause the judge; the others go on."""
    if bakeoffs.pause_run(here.db, job.run_id, reason):
        log.warning("run_id=%s: paused: %s", job.run_id, reason)
        conclusion.conclude_paused(here.db, job.bakeoff_id)


def _end_broken(here: Connections, job: Job, exc: Exception) -> JobEnd:
    """End the job as errored by our own bug, unless the schema changed under us: then it is put back."""
    require_schema(here.db)
    outcome = Outcome("errored", "internal", f"{type(exc).__name__}: {exc}")
    jobs.finish(here.db, job, outcome, [])
    return describe_outcome(outcome)


def _put_back(here: Connections, job: Job) -> None:
    """Release the job after storing its paid answer: now, or when the heartbeat finds the database again."""
    try:
        here.spool.replay()
        jobs.release(here.db, job, wait_s=_DATABASE_AWAY_S)
    except Unreachable:
        here.heartbeat.release_later(job)


def _follow_up(here: Connections, job: Job) -> None:
    """Have the next window published by the job in the middle of this one; conclude a run by its last job.

    A job that was put back may end after its chord's callback ran, which then found the run incomplete.
    """
    if job.refill:
        here.broker.send("pump", job.gate)
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


# Every few seconds, for ever: Flower would show little else.
@app.task(name="reap", throws=(Unreachable,), send_events=False)  # type: ignore[untyped-decorator]
def reap() -> None:
    """Lost jobs come back from Postgres, alerts are raised and delivered, due drift checks are opened."""
    from evalq.drift import decide as drift  # with the statistics: fleets that check no drift start faster

    here = connections()
    recover.reap(here.db, here.broker, lost_after_s=here.settings.fleet.lost_after_s)
    watch_runs(here.db)
    drift.advance(here.db, here.broker)
    if are_due(here.db, here.settings.alerts):
        here.broker.send("deliver_alerts")
    open_due_checks(here)  # last: a schedule that fails must not hold up the rest


@app.task(name="deliver_alerts", throws=(Unreachable,))  # type: ignore[untyped-decorator]
def deliver_alerts() -> None:
    """Alerts go out to their channels; what does not arrive is tried again later."""
    here = connections()
    deliver(here.db, here.settings.alerts, here.environment_with_keys())
