"""A suspect job is run in a process of its own: it was in hand when a worker died, and may be the cause."""

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
_few = threading.Semaphore(2)
_AWAY = 75
"""The child's exit code when it could not reach the database: nothing that the job did."""


def run_alone(db: Database, job: Job) -> None:
    """Have a suspect job run by a child; if it dies of it, that is counted and the others live."""
    with _few:
        code = _run_child(job)
    if code == _AWAY:
        raise Unreachable("the database was away from the job's own process")
    if code != 0:
        log.warning("run_id=%s case_id=%s: its process ended with code %s", job.run_id, job.case.id, code)
        jobs.lose(db, job)


def _run_child(job: Job) -> int:
    leash, hand = os.pipe()  # closed by the kernel however this process ends; the child then ends too
    argv = [
        sys.executable,
        "-P",
        str(Path(evalq.engines.die_with_parent.__file__)),
        __name__,
        str(job.id),
        str(job.fence),
    ]
    try:
        return subprocess.run(
            argv,
            env={**os.environ, "EVALQ_PARENT_PIPE_FD": str(leash)},
            stdin=subprocess.DEVNULL,
            pass_fds=(leash,),
            start_new_session=True,
            check=False,
        ).returncode
    finally:
        os.close(leash)
        os.close(hand)


def main() -> None:
    """Be the child: work on the job that the parent holds; out of memory, be the one that is killed."""
    with contextlib.suppress(OSError):  # where there is no such file, the kernel chooses by itself
        Path("/proc/self/oom_score_adj").write_text("1000")
    from workers.connections import connections
    from workers.jobs import work

    try:
        job = jobs.held(connections().db, int(sys.argv[1]), int(sys.argv[2]))
        if job is not None:
            work(job)
    except Unreachable:
        sys.exit(_AWAY)


if __name__ == "__main__":
    main()
