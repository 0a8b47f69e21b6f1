"""Runs a Python module in this process, and ends it with the command that holds the other end of a pipe.

A script, not a module to import: `python -P die_with_parent.py MODULE ARGUMENTS…`, with the
descriptor of the pipe in EVALQ_PARENT_PIPE_FD. The pipe closes however the command ends, SIGKILL included.
PR_SET_PDEATHSIG works on Linux only, fires when the *thread* that started the child ends, and needs a
preexec_fn, which is unsafe beside threads.
"""

import os
import runpy
import signal
import sys
import threading
import time
from pathlib import Path

_GRACE_S = 20


def watch(descriptor: int) -> None:
    """Wait for the end of the pipe, then end this process: first by SIGTERM, later by SIGKILL."""
    os.read(descriptor, 1)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    time.sleep(_GRACE_S)
    # The whole group, with all it started: the fleet gave it a session of its own.
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    """Watch the pipe, if there is one, and become the module."""
    if pipe := os.environ.get("EVALQ_PARENT_PIPE_FD", ""):  # kept: a worker that restarts needs it again
        threading.Thread(target=watch, args=(int(pipe),), daemon=True, name="parent-watch").start()
    # The working folder is not on the path: a msgpack.py in it would be run with the keys.
    folder = str(Path(__file__).resolve().parents[2])
    if folder not in sys.path:
        sys.path.append(folder)
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
