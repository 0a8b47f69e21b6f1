"""Runs a suspect job in a process of its own: it was in hand when a worker died, and may be the cause."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import evalq.engines.die_with_parent
from evalq.errors import Unreachable
from evalq.store import jobs
from evalq.store.database import Database
from evalq.store.jobs import Job

log = logging.getLogger(__name__)

# A process takes a second to start and a hundred megabytes: a whole fleet's lost jobs must not start at once.
_few_at_once = threading.Semaphore(2)

_DATABASE_AWAY = 75
"""The child's exit code when it cannot reach the database, which is not the job's fault."""


def run_isolated(db: Database, job: Job) -> None:
    """Run a suspect job in a child process; if the child dies, count a loss, and the other jobs live."""
    with _few_at_once:
        code = _run_child(job)
    if code == _DATABASE_AWAY:
        raise Unreachable("the database was away from the job's own process")
    if code != 0:
        log.warning("run_id=%s case_id=%s: its process ended with code %s", job.run_id, job.case.id, code)
        jobs.lose(db, job)


def _run_child(job: Job) -> int:
    script = evalq.engines.die_with_parent.__file__
    # The kernel closes the pipe however this process ends; the child then ends too.
    child_end, our_end = os.pipe()
    try:
        return subprocess.run(
            [sys.executable, "-P", script, __name__, str(job.id), str(job.fence)],
            env={**os.environ, "EVALQ_PARENT_PIPE_FD": str(child_end)},
            stdin=subprocess.DEVNULL,
            pass_fds=(child_end,),
            start_new_session=True,
            check=False,
        ).returncode
    finally:
        os.close(child_end)
        os.close(our_end)


def main() -> None:
    """Be the child: work on the job that the parent holds, as the first to be killed when memory runs out."""
    with contextlib.suppress(OSError):  # without that file, the kernel chooses by itself
        Path("/proc/self/oom_score_adj").write_text("1000")
    from workers.connections import connections
    from workers.jobs import work

    try:
        here = connections()
        job = jobs.read_held(here.db, int(sys.argv[1]), int(sys.argv[2]))
        if job is not None:
            work(here, job)
    except Unreachable:
        sys.exit(_DATABASE_AWAY)


if __name__ == "__main__":
    main()
