"""Runs a suspect job in a process of its own: it was in hand when a worker died, and may be the cause."""

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
from pathlib import Path

import evalq.engines.die_with_parent
from evalq.errors import Unreachable
from evalq.store import jobs
from evalq.store.database import Database
from evalq.store.jobs import Job

log = logging.getLogger(__name__)

AT_ONCE = 2
"""A process takes a second to start and a hundred megabytes: a fleet's lost jobs must wait."""

_DATABASE_AWAY = 75
"""The child's exit code when it cannot reach the database, which is not the job's fault."""


async def run_isolated(db: Database, job: Job, *, few_at_once: asyncio.Semaphore) -> None:
    """Run a suspect job in a child process; if the child dies, count a loss, and the other jobs live."""
    async with few_at_once:
        code = await _run_child(job)
    if code == _DATABASE_AWAY:
        raise Unreachable("the database was away from the job's own process")
    if code != 0:
        log.warning("run_id=%s case_id=%s: its process ended with code %s", job.run_id, job.case.id, code)
        await asyncio.to_thread(jobs.lose, db, job)


async def _run_child(job: Job) -> int:
    """The exit code of the child; it takes no thread, since those are few and the job may take minutes."""
    script = evalq.engines.die_with_parent.__file__
    # The pipe closes when this job is cancelled and however this process ends; the child then ends too.
    child_end, our_end = os.pipe()
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", script, __name__, str(job.id), str(job.fence)),
            env={**os.environ, "EVALQ_PARENT_PIPE_FD": str(child_end)},
            stdin=subprocess.DEVNULL,
            pass_fds=(child_end,),
            start_new_session=True,
        )
        return await child.wait()
    finally:
        os.close(child_end)
        os.close(our_end)


def main() -> None:
    """Be the child: work on the job that the parent holds, as the first to be killed when memory runs out."""
    with contextlib.suppress(OSError):  # without that file, the kernel chooses by itself
        Path("/proc/self/oom_score_adj").write_text("1000")
    try:
        asyncio.run(_work(int(sys.argv[1]), int(sys.argv[2])))
    except Unreachable:
        sys.exit(_DATABASE_AWAY)


async def _work(job_id: int, fence: int) -> None:
    from workers.connections import connections_of_loop
    from workers.jobs import work

    here = await connections_of_loop()
    try:
        job = await asyncio.to_thread(jobs.read_held, here.db, job_id, fence)
        if job is not None:
            await work(here, job)
    finally:
        await here.close()


if __name__ == "__main__":
    main()
