"""Runs one command and stays until everything it started has ended; writes times and CPU seconds as JSON.

Usage: `python -P run_tree.py REPORT TIMEOUT_S COMMAND…`. Processes that the command leaves behind become
children of this one, so the kernel's sum over all children is exact: no process is too short-lived to count.
Linux only.
"""

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_KILL_AGAIN_S = 1


def main() -> None:
    """Run the command; after the time limit kill all of it."""
    report, timeout_s, *argv = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot adopt what the command leaves behind")
    signal.signal(signal.SIGALRM, _kill_all)
    signal.signal(signal.SIGTERM, _kill_all)
    started = time.monotonic()
    command = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    signal.setitimer(signal.ITIMER_REAL, float(timeout_s))
    try:
        ended, code = _wait_for_all(command.pid)
    except KeyboardInterrupt:
        _kill_all()
        raise
    signal.setitimer(signal.ITIMER_REAL, 0)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    facts = {
        "started": started,
        "ended": ended,
        "quiet": time.monotonic(),
        "exit_code": code,
        "cpu_s": spent.ru_utime + spent.ru_stime,
    }
    Path(report).write_text(json.dumps(facts))


def _wait_for_all(pid: int) -> tuple[float, int]:
    """Wait until no child is left; when and how the command itself ended."""
    ended, code = 0.0, -1
    while True:
        try:
            done, status = os.wait()
        except ChildProcessError:
            return ended, code
        if done == pid:
            ended, code = time.monotonic(), os.waitstatus_to_exitcode(status)


def _kill_all(*_: object) -> None:
    """Kill every process below this one, and look again: some may be forking."""
    for process in psutil.Process().children(recursive=True):
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    signal.setitimer(signal.ITIMER_REAL, _KILL_AGAIN_S)


if __name__ == "__main__":
    main()
