"""Runs a program in the sandbox: one process for the program, inside it one for each call."""

import contextlib
import os
import platform
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from evalq.errors import UngradableAnswer
from evalq.sandbox.account import sandbox_uid
from evalq.sandbox.bubblewrap import confined, find_bwrap
from evalq.sandbox.conversation import converse
from evalq.sandbox.exchange import MAX_REPLY_BYTES, NONCE_CHARS, read_ready, read_results, request_bytes
from evalq.sandbox.interpreter import Interpreter, interpreter
from evalq.sandbox.program import Isolation, Program, ProgramRun
from evalq.sandbox.refusal import unavailable
from evalq.sandbox.seccomp import filter_program

_START_S = 15.0
_START_TRIES = 3
_PAUSE_S = 0.2
_MARGIN_S = 3.0


def run(
    program: Program,
    *,
    isolation: Isolation,
    environ: Mapping[str, str] = os.environ,
    python: Interpreter | None = None,
) -> ProgramRun:
    """Make the program's calls and say what came of each; whatever the code does is a result.

    Raises UngradableAnswer when the sandbox could not be set up, or broke: our fault, and no word
    about the code. Refused: there is no bubblewrap on the PATH of `environ`; nothing of that goes inside.
    """
    reason = ""
    for attempt in range(_START_TRIES):
        time.sleep(_PAUSE_S * attempt)
        outcome = _attempt(program, isolation, environ, python or interpreter())
        if isinstance(outcome, ProgramRun):
            return outcome
        reason = outcome
    raise UngradableAnswer(f"the sandbox did not start: {reason}")


def sandbox_argv(
    isolation: Isolation, environ: Mapping[str, str], python: Interpreter, filter_fd: int | None
) -> list[str]:
    """The command line that runs programs of this isolation."""
    command = [str(python.executable), "-I", "-S", "-B", "-c", _runner_text()]
    if isolation == "weak":
        return command
    bwrap = find_bwrap(environ.get("PATH"))
    if bwrap is None:
        raise unavailable("bubblewrap is not installed")
    return confined(bwrap, command, shown=python.shown, filter_fd=filter_fd)


def _attempt(
    program: Program, isolation: Isolation, environ: Mapping[str, str], python: Interpreter
) -> ProgramRun | str:
    """The run; or why it did not start: nothing of the code has run then, and another try costs nothing."""
    nonce = secrets.token_hex(NONCE_CHARS // 2)
    uid = sandbox_uid(secrets.randbelow)
    started = time.monotonic()
    deadline = started + _START_S + len(program.calls) * (program.timeout_per_case_s + _MARGIN_S)
    with _filter_pipe(isolation) as filter_fd:
        argv = sandbox_argv(isolation, environ, python, filter_fd)
        request = request_bytes(
            program,
            isolation=isolation,
            processes=_process_limit(program.limits.processes, isolation, uid),
            is_filtered=filter_fd is not None,
        )
        try:
            with _started(argv, uid, filter_fd) as process:
                heard = converse(
                    process, request + nonce.encode(), deadline=deadline, reply_bytes=MAX_REPLY_BYTES
                )
        except (OSError, subprocess.SubprocessError) as exc:
            return f"{argv[0]}: {exc}"
    wall_ms = round((time.monotonic() - started) * 1000)
    ready = read_ready(heard.reply)
    if ready is None:
        return heard.complaint or "no word from it"
    version, body = ready
    return ProgramRun(read_results(body, nonce, program), isolation, version, wall_ms)


@contextlib.contextmanager
def _started(argv: list[str], uid: int | None, filter_fd: int | None) -> Iterator["subprocess.Popen[bytes]"]:
    """The sandbox's process with an empty environment, and its certain end."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env={},
        pass_fds=() if filter_fd is None else (filter_fd,),
        start_new_session=True,
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _filter_pipe(isolation: Isolation) -> Iterator[int | None]:
    """A descriptor from which bubblewrap reads the seccomp filter, which fits into a pipe."""
    program = filter_program(platform.machine()) if isolation == "strong" else None
    if program is None:
        yield None
        return
    reader, writer = os.pipe()
    try:
        os.write(writer, program)
        os.close(writer)
        yield reader
    finally:
        os.close(reader)


@cache
def _runner_text() -> str:
    return Path(__file__).with_name("inside.py").read_text("utf-8")


def _process_limit(most: int, isolation: Isolation, uid: int | None) -> int:
    """The limit on processes; for an ordinary user outside a namespace it counts all that user runs."""
    return most if isolation == "strong" or uid is not None else most + _own_tasks()


def _own_tasks() -> int:
    """How many processes and threads this user has; 0 where the system does not tell."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                count += sum(1 for _ in (folder / "task").iterdir())
    return count
