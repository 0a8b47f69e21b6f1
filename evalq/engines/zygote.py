"""Starts worker processes: forked from this process, which has imported all they need, or afresh."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Protocol, Self

from evalq.engines import die_with_parent

WORKER_NAME = "evalq-worker"
"""Of a forked worker in `ps -o comm` and `top`; its command line is still that of the supervisor."""

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGQUIT)


class Process(Protocol):
    """A child process, as `subprocess.Popen` shows it."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        ...


StartWorker = Callable[[Sequence[str], Mapping[str, str], int, int], Process]
"""Takes argv, the whole environment, the log's descriptor, and the end of the pipe the worker watches."""


def spawn_worker(argv: Sequence[str], env: Mapping[str, str], log: int, leash: int) -> Process:
    """Start a worker afresh, in a session of its own, out of reach of the terminal's Ctrl-C."""
    return subprocess.Popen(
        argv,
        env={**env, "EVALQ_PARENT_PIPE_FD": str(leash)},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(leash,),
        start_new_session=True,
    )


def fork_worker(argv: Sequence[str], env: Mapping[str, str], log: int, leash: int) -> Process:
    """Start the same worker as a copy of this process; afresh where threads make copying unsafe.

    The copy keeps what is in memory, so it is not for a worker that must not know the keys.
    """
    if threading.active_count() > 1:
        return spawn_worker(argv, env, log, leash)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _become_worker(argv, {**env, "EVALQ_PARENT_PIPE_FD": str(leash)}, log, leash)
    return _Forked(pid)


class _Forked:
    """A forked child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        if self._code is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


def _become_worker(argv: Sequence[str], env: Mapping[str, str], log: int, leash: int) -> NoReturn:
    """Run what argv names after the script `die_with_parent.py`, and end; nothing of the parent's runs on."""
    with _EndOfProcess():
        _let_go_of_parent(log, leash)
        os.environ.clear()
        os.environ.update(env)
        _, _, _, module, *arguments = argv
        # A worker that has grown restarts itself by its command line.
        sys.orig_argv[:] = argv
        sys.argv[:] = [module, *arguments]
        threading.Thread(
            target=die_with_parent.watch, args=(leash,), daemon=True, name="parent-watch"
        ).start()
        import_module(module).main()
    raise AssertionError("the process has ended")


def _let_go_of_parent(log: int, leash: int) -> None:
    """Leave the parent's session, signal handlers, locks and files; keep the log and the pipe to watch."""
    os.setsid()
    with contextlib.suppress(OSError):  # only Linux has it
        Path("/proc/self/comm").write_text(WORKER_NAME)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for standard in (1, 2):
        os.dup2(log, standard)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Other objects still have the numbers of these descriptors. They belong to the parent's frames, which
    # are never left here, so none of them closes a number that is used again.
    os.closerange(3, leash)
    os.closerange(leash + 1, os.sysconf("SC_OPEN_MAX"))
    os.set_inheritable(leash, True)


class _EndOfProcess:
    """Ends the process after the block, as the interpreter would, without unwinding the parent's frames."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = 0
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            traceback.print_exception(error)
            code = 1
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
