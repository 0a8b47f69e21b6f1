"""Runs a program in the sandbox: one process for the program, and inside it one for each call."""

import contextlib
import os
import platform
import re
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from evalq.errors import UngradableAnswer
from evalq.grading.sandbox.executors import NO_EXECUTOR, ExecutorProgram, find_executor
from evalq.grading.sandbox.isolation import confine, filter_program, find_bwrap
from evalq.grading.sandbox.program import (
    MAX_REPLY_BYTES,
    NONCE_CHARS,
    Isolation,
    Program,
    ProgramRun,
    read_ready,
    read_results,
    request_bytes,
    unavailable,
)

_START_S = 15.0
_START_TRIES = 3
_PAUSE_S = 0.2
_MARGIN_S = 3.0
_EXIT_S = 2.0

_CHUNK = 65536
_COMPLAINT_BYTES = 4000

# Neither range is given to people, services or containers (systemd's UIDS-GIDS.md); the small one is for
# containers in which only the first 65,536 users exist.
_UID_RANGES = (range(1_900_000_000, 1_900_000_000 + 2**24), range(60_706, 61_184))
_EVERY_USER = "0 0 4294967295"

OLDEST = (3, 11)
"""As old as evalq's own Python may be: what models write today does not run on much older ones."""

_SYSTEM = Path("/usr/bin/python3")
_SYSTEM_COPIES = Path("/var/lib/evalq")


@dataclass(frozen=True)
class Interpreter:
    """An executable, and its folder if it is outside the system's own: path inside → path outside.

    The two differ for a copy: an interpreter may look for its libraries by the path it was built for.
    """

    executable: Path
    shown: Mapping[Path, Path] = field(default_factory=dict)


def run(
    program: Program,
    *,
    isolation: Isolation,
    environ: Mapping[str, str] = os.environ,
    python: Interpreter | None = None,
) -> ProgramRun:
    """Make the program's calls and return the result of each, whatever the code does.

    Raises UngradableAnswer when the sandbox does not start or breaks, which is not the code's fault, and
    Refused when there is no bubblewrap, or nothing to run its code with, on the PATH of `environ`. Nothing of
    `environ` is passed inside.
    """
    reason = ""
    executor = find_executor(program.executor, environ)
    for attempt in range(_START_TRIES):
        time.sleep(_PAUSE_S * attempt)
        outcome = _attempt(program, isolation, environ, python or interpreter(), executor)
        if isinstance(outcome, ProgramRun):
            return outcome
        reason = outcome
    raise UngradableAnswer(f"the sandbox did not start: {reason}")


def sandbox_argv(
    isolation: Isolation,
    environ: Mapping[str, str],
    python: Interpreter,
    filter_fd: int | None,
    executor: ExecutorProgram = NO_EXECUTOR,
) -> list[str]:
    """The command line that runs programs of this isolation."""
    command = [str(python.executable), "-I", "-S", "-B", "-c", _runner_text()]
    if isolation == "weak":
        return command
    bwrap = find_bwrap(environ.get("PATH"))
    if bwrap is None:
        raise unavailable("bubblewrap is not installed")
    return confine(bwrap, command, shown={**python.shown, **executor.shown}, filter_fd=filter_fd)


def _attempt(
    program: Program,
    isolation: Isolation,
    environ: Mapping[str, str],
    python: Interpreter,
    executor: ExecutorProgram,
) -> ProgramRun | str:
    """The run, or why it did not start; no code has run then, so it can be tried again."""
    nonce = secrets.token_hex(NONCE_CHARS // 2)
    uid = sandbox_uid(secrets.randbelow)
    started = time.monotonic()
    deadline = started + _START_S + len(program.calls) * (program.timeout_per_case_s + _MARGIN_S)
    with _filter_pipe(isolation) as filter_fd:
        argv = sandbox_argv(isolation, environ, python, filter_fd, executor)
        request = request_bytes(
            program,
            isolation=isolation,
            processes=_process_limit(program.limits.processes, isolation, uid),
            is_filtered=filter_fd is not None,
            command=executor.command,
        )
        try:
            with _start(argv, uid, filter_fd) as process:
                heard = communicate(
                    process, request + nonce.encode(), deadline=deadline, reply_bytes=MAX_REPLY_BYTES
                )
        except (OSError, subprocess.SubprocessError) as exc:
            return f"{argv[0]}: {exc}"
    wall_ms = round((time.monotonic() - started) * 1000)
    ready = read_ready(heard.reply)
    if ready is None:
        return heard.complaint or "no reply"
    version, body = ready
    return ProgramRun(read_results(body, nonce, program), isolation, version, wall_ms)


@contextlib.contextmanager
def _start(argv: list[str], uid: int | None, filter_fd: int | None) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the sandbox's process with an empty environment, and make sure it ends."""
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
    """The limit on processes; outside a namespace the kernel counts all processes of an ordinary user."""
    if isolation == "strong" or uid is not None:
        return most
    return most + _own_tasks()


def _own_tasks() -> int:
    """How many processes and threads this user has; 0 where /proc does not list them."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                count += sum(1 for _ in (folder / "task").iterdir())
    return count


@dataclass(frozen=True)
class Heard:
    """The output on stdout, and the main line of the output on stderr."""

    reply: bytes
    complaint: str


def communicate(
    process: "subprocess.Popen[bytes]", request: bytes, *, deadline: float, reply_bytes: int
) -> Heard:
    """Send the request and read the reply, up to the deadline and a number of bytes."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    reply, complaint, pending = bytearray(), bytearray(), memoryview(request)
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ, reply)
        selector.register(process.stderr, selectors.EVENT_READ, complaint)
        while len(reply) <= reply_bytes and time.monotonic() < deadline:
            for key, _ in selector.select(max(deadline - time.monotonic(), 0)):
                if key.data is None:
                    pending = _send(key.fd, pending)
                    is_over = not pending
                else:
                    is_over = not _receive(key.fd, key.data)
                if is_over:
                    selector.unregister(key.fileobj)
            if process.stdout not in selector.get_map():
                # A process that exits by itself reaps its children; a killed one leaves them to init.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_EXIT_S)
                break
    return Heard(bytes(reply), _main_line(complaint))


def _send(descriptor: int, pending: memoryview) -> memoryview:
    """Send some; return what is left, which is nothing if the reader is gone."""
    try:
        return pending[os.write(descriptor, pending[:_CHUNK]) :]
    except BrokenPipeError:
        return pending[:0]


def _receive(descriptor: int, received: bytearray) -> bool:
    """Append what there is to read; False at the end."""
    chunk = os.read(descriptor, _CHUNK)
    received += chunk
    return bool(chunk)


def _main_line(complaint: bytes | bytearray) -> str:
    """The first line, or the last of a traceback, which names the exception."""
    lines = bytes(complaint[:_COMPLAINT_BYTES]).decode("utf-8", "replace").strip().splitlines()
    if not lines:
        return ""
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def sandbox_uid(draw: Callable[[int], int]) -> int | None:
    """The user (and group) to run as; None for the current one. `draw(n)` is a random number below n."""
    if os.geteuid() != 0:
        return None
    known = Path("/proc/self/uid_map")
    return choose_uid(known.read_text() if known.exists() else _EVERY_USER, draw)


def choose_uid(uid_map: str, draw: Callable[[int], int]) -> int | None:
    """A random user among those that exist according to /proc/self/uid_map.

    None if it has none of our ranges: then root is root of a single-user namespace, and an ordinary user
    outside it.
    """
    known = []
    for line in uid_map.splitlines():
        inside, _, count = (int(number) for number in line.split())
        known.append(range(inside, inside + count))
    for ours in _UID_RANGES:
        if any(ours.start in users and ours[-1] in users for users in known):
            return ours[draw(len(ours))]
    return None


@cache
def interpreter() -> Interpreter:
    """The system's Python if it is complete and new enough, else the one that runs this."""
    return system_interpreter(_SYSTEM) or running_interpreter()


def system_interpreter(python: Path) -> Interpreter | None:
    """The Python behind /usr/bin/python3; None if it is too old or lacks its library."""
    executable = python.resolve()
    version = re.fullmatch(r"python(\d+)\.(\d+)", executable.name)
    if version is None or (int(version[1]), int(version[2])) < OLDEST or not executable.is_file():
        return None
    for folder in ("lib", "lib64"):
        if (executable.parents[1] / folder / executable.name / "json").is_dir():
            return Interpreter(executable)
    return None


def running_interpreter() -> Interpreter:
    """The Python that runs this, not its virtual environment; as a readable copy if only root can read it."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable = prefix / "bin" / name
    if prefix.is_relative_to("/usr"):
        return Interpreter(executable)
    if os.geteuid() == 0 and not _is_open(prefix):
        return Interpreter(executable, {prefix: _copy_once(prefix, name)})
    return Interpreter(executable, {prefix: prefix})


def _is_open(folder: Path) -> bool:
    """True for a folder that every user can walk to and read."""
    return all(path.stat().st_mode & 0o005 == 0o005 for path in (folder, *folder.parents))


def _copy_once(prefix: Path, name: str) -> Path:
    """A copy of the interpreter and its library that all can read and only root can write."""
    source = (prefix / "bin" / name).stat()
    target = _SYSTEM_COPIES / f"{name}-{source.st_ino}-{int(source.st_mtime)}"
    if target.exists():
        return target
    try:
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            draft = Path(folder) / "draft"
            _copy(prefix, name, draft)
            draft.rename(target)
    except OSError as exc:
        if target.exists():  # another process was faster
            return target
        raise unavailable(f"{prefix} is for root alone and cannot be copied to {target}: {exc}") from exc
    return target


def _copy(prefix: Path, name: str, draft: Path) -> None:
    left_out = shutil.ignore_patterns("site-packages", "test", "idlelib", "ensurepip", "config-*", "*.a")
    shutil.copytree(prefix / "lib" / name, draft / "lib" / name, ignore=left_out)
    for library in (prefix / "lib").glob("libpython*"):
        shutil.copy2(library, draft / "lib" / library.name)
    (draft / "bin").mkdir()
    shutil.copy2(prefix / "bin" / name, draft / "bin" / name)
    for path in (draft, *draft.rglob("*")):
        is_runnable = path.is_dir() or path.parent.name == "bin"
        path.chmod(0o755 if is_runnable else 0o644)
