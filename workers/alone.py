"""A job that was in hand when a worker died is run in a process of its own: it may be what killed it."""

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import evalq.embedded.leash
from evalq.store import jobs
from evalq.store.database import Database
from evalq.store.jobs import Job

log = logging.getLogger(__name__)

# A process takes a second to start and a hundred megabytes: a whole fleet's lost jobs must not start at once.
_few = threading.Semaphore(2)


def run_alone(db: Database, job: Job) -> None:
    """Have a suspect job run by a child; if it dies of it, that is counted and the others live."""
    with _few:
        code = _run_child(job)
    if code != 0:
        log.warning("run_id=%s case_id=%s: its process ended with code %s", job.run_id, job.case.id, code)
        jobs.lose(db, job)


def _run_child(job: Job) -> int:
    leash, hand = os.pipe()  # closed by the kernel however this process ends; the child then ends too
    argv = [
        sys.executable,
        "-P",
        str(Path(evalq.embedded.leash.__file__)),
        __name__,
        str(job.id),
        str(job.fence),
    ]
    try:
        return subprocess.run(
            argv,
            env={**os.environ, "EVALQ_LEASH_FD": str(leash)},
            stdin=subprocess.DEVNULL,
            pass_fds=(leash,),
            start_new_session=True,
            check=False,
        ).returncode
    finally:
        os.close(leash)
        os.close(hand)


def main() -> None:
    """Be the child: work on the job that the parent holds."""
    from workers.connections import connections
    from workers.jobs import work

    job = jobs.held(connections().db, int(sys.argv[1]), int(sys.argv[2]))
    if job is not None:
        work(job)


if __name__ == "__main__":
    main()
