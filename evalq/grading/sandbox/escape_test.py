"""Tries to escape from the sandbox, and checks from outside whether each attempt was contained."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalq.errors import UngradableAnswer
from evalq.grading.sandbox.program import CallResult, FunctionCall, Program, ProgramRun
from evalq.grading.sandbox.running import interpreter

_VARIABLE = "EVALQ_CANARY_API_KEY"

AT_ONCE = 4
_PATIENCE_S = 10.0
_LOOP_S = 0.5
_SLACK_MS = 2000
_SYSTEM_FOLDERS = (Path("/usr"), Path("/usr/bin"), Path("/etc"), Path("/dev"), Path("/"))
_MOST_PROCESSES = 16
_MOST_TMP_MB = 16
_MOST_HIDDEN_MB = 1024


@dataclass(frozen=True)
class Bait:
    """Real things within reach of any ordinary process, so that only the sandbox keeps them away."""

    secret: str
    folder: Path
    ports: tuple[int, int]
    name: str
    decoy: "subprocess.Popen[bytes]"
    listeners: tuple[socket.socket, ...]

    def describe(self, token: str) -> dict[str, Any]:
        """What the code inside gets to know; `token` is what to look for afterwards."""
        return {
            "file": str(self.folder / "secret"),
            "home": str(Path.home()),
            "folder": str(self.folder),
            "ports": list(self.ports),
            "abstract": self.name,
            "decoy": self.decoy.pid,
            "token": token,
        }

    def had_visitors(self) -> bool:
        """True if there was a connection since the last call."""
        visited = False
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    visited = True
        return visited

    def left_files(self, token: str) -> list[str]:
        """The folders that contain a file of this name."""
        found = []
        for folder in (self.folder, Path.home(), *_SYSTEM_FOLDERS):
            with contextlib.suppress(OSError):
                (folder / token).stat()
                found.append(str(folder))
        return found


def processes_with(token: str) -> list[int]:
    """The processes of this machine with the token on their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if token.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@contextlib.contextmanager
def lay_bait(ports: Sequence[int] = ()) -> Iterator[Bait]:
    """Bait while the context lasts; `ports` are loopback ports to try instead of our own listeners."""
    secret, name = secrets.token_hex(16), f"evalq-canary-{secrets.token_hex(8)}"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evalq-bait-")))
        folder.chmod(0o777)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        listeners = [_listen(stack, socket.AF_INET, ("127.0.0.1", 0)) for _ in range(2)]
        first, second = ports or [listener.getsockname()[1] for listener in listeners]
        listeners.append(_listen(stack, socket.AF_UNIX, "\0" + name))
        decoy = stack.enter_context(_start_decoy())
        stack.enter_context(_set_variable(secret))
        yield Bait(secret, folder, (first, second), name, decoy, tuple(listeners))


def _listen(stack: contextlib.ExitStack, family: int, address: Any) -> socket.socket:
    listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
    return listener


@contextlib.contextmanager
def _start_decoy() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that sleeps until it is killed."""
    argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def _set_variable(secret: str) -> Iterator[None]:
    """Put a key into our own environment, as workers have them."""
    os.environ[_VARIABLE] = secret
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)


@dataclass(frozen=True)
class Traces:
    """What an attempt left behind: its results, and the bait."""

    results: tuple[CallResult, ...]
    bait: Bait
    token: str

    @property
    def first(self) -> CallResult:
        """The result of the attempt itself."""
        return self.results[0]


@dataclass(frozen=True)
class Escape:
    """A way out: what is tried, by which function of escapes.py, and how to tell that it failed."""

    name: str
    tried: str
    function: str
    is_contained: Callable[[Traces], bool]
    timeout_s: float = _PATIENCE_S
    is_followed: bool = False
    """An honest call follows, which must work as if nothing had happened."""


@dataclass(frozen=True)
class EscapeResult:
    """Whether one attempt was contained, and how that shows."""

    escape: Escape
    contained: bool
    evidence: str
    wall_ms: int


Run = Callable[[Program], ProgramRun]
"""The sandbox under test."""


def try_escapes(run: Run, *, at_once: int = 1, ports: Sequence[int] = ()) -> list[EscapeResult]:
    """Try every escape, each `at_once` times at the same time; return the worst result of each."""
    with lay_bait(ports) as bait, ThreadPoolExecutor(at_once) as pool:
        found = []
        for escape in ESCAPES:
            tries = [pool.submit(try_escape, escape, bait, run) for _ in range(at_once)]
            results = [one.result() for one in tries]
            found.append(max(results, key=lambda result: (not result.contained, result.wall_ms)))
        return found


def check_ordinary_code(run: Run) -> str:
    """Why ordinary code (threads, processes, files, asyncio) fails in the sandbox; empty if it works."""
    program = Program(_attempts_text(), "work_as_usual", (FunctionCall(({},)),), _PATIENCE_S)
    try:
        [result] = run(program).results
    except UngradableAnswer as exc:
        return str(exc)
    if result.value == ["thread", "file", "process", "loop", 0]:
        return ""
    return f"ordinary code does not work in it: {_describe(result)}"


def try_escape(escape: Escape, bait: Bait, run: Run) -> EscapeResult:
    """Try one escape."""
    token = f"{bait.name}-{secrets.token_hex(8)}"
    known = bait.describe(token)
    calls: tuple[FunctionCall, ...] = (FunctionCall((known,)),)
    if escape.is_followed:
        calls = (FunctionCall((known, False)), FunctionCall((known, True)))
    started = time.monotonic()
    try:
        done = run(Program(_attempts_text(), escape.function, calls, escape.timeout_s))
    except UngradableAnswer as exc:
        return EscapeResult(escape, False, str(exc), _elapsed_ms(started))
    traces = Traces(done.results, bait, token)
    return EscapeResult(escape, escape.is_contained(traces), _describe(traces.first), _elapsed_ms(started))


def _elapsed_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


@cache
def _attempts_text() -> str:
    return Path(__file__).with_name("escapes.py").read_text("utf-8")


def _describe(result: CallResult) -> str:
    """How the attempt ended, in one line."""
    if result.end == "returned":
        return f"returned {str(result.value)[:100]}"
    name = f"{result.raised[0]}: " if result.raised else ""
    return f"{result.end.replace('_', ' ')}: {name}{result.message}".rstrip(": ")


def _ends_in(*ends: str) -> Callable[[Traces], bool]:
    return lambda traces: traces.first.end in ends


def _returns(*values: object) -> Callable[[Traces], bool]:
    """It returned one of these."""
    return lambda traces: traces.first.end == "returned" and traces.first.value in values


def _at_most(count: int) -> Callable[[Traces], bool]:
    """It returned a number no larger than this."""
    return lambda traces: isinstance(traces.first.value, int) and traces.first.value <= count


def _has_no_key(traces: Traces) -> bool:
    """It saw only variables of the sandbox's own environment."""
    names = traces.first.value
    return isinstance(names, dict) and set(names) <= {"PWD", "LC_CTYPE"}


def _sees_no_secret(traces: Traces) -> bool:
    return traces.first.end == "returned" and traces.bait.secret not in str(traces.first.value)


def _saw_no_home(traces: Traces) -> bool:
    """It saw neither the file nor any name in the home but the folder of the running Python."""
    found, home = traces.first.value, Path.home()
    shown = {path.relative_to(home).parts[0] for path in interpreter().shown if path.is_relative_to(home)}
    return isinstance(found, dict) and "file" not in found and set(found.get("home", "").split()) <= shown


def _reached_none(traces: Traces) -> bool:
    value = traces.first.value
    return isinstance(value, str) and value != "connected" and not traces.bait.had_visitors()


def _was_stopped_in_time(traces: Traces) -> bool:
    return traces.first.end == "timed_out" and traces.first.wall_ms < _LOOP_S * 1000 + _SLACK_MS


def _left_no_process(traces: Traces) -> bool:
    return traces.first.value == "left" and not processes_with(traces.token)


def _left_no_file(traces: Traces) -> bool:
    """None outside: it may have written to a /tmp of its own."""
    return traces.first.end == "returned" and not traces.bait.left_files(traces.token)


def _killed_nothing(traces: Traces) -> bool:
    first, honest = traces.results
    return (first.value, honest.value) == ("killed", "alive") and traces.bait.decoy.poll() is None


def _forged_nothing(traces: Traces) -> bool:
    return traces.first.end != "returned" and traces.results[1].value == "honest"


ESCAPES: tuple[Escape, ...] = (
    Escape("environment keys", "read the environment of the worker", "read_environment", _has_no_key),
    Escape("other environments", "read /proc/*/environ", "read_other_environments", _sees_no_secret),
    Escape("home file", "read a file anyone may read, list the home", "read_home", _saw_no_home),
    Escape("tcp to valkey", "connect to a port on 127.0.0.1", "connect_first", _reached_none),
    Escape("tcp to postgres", "connect to another port on 127.0.0.1", "connect_second", _reached_none),
    Escape("abstract socket", "connect to a unix socket without a file", "connect_abstract", _reached_none),
    Escape("fork bomb", "start 300 processes that stay", "fork_bomb", _at_most(_MOST_PROCESSES)),
    Escape("10 GB", "fill ten gigabytes of memory", "allocate", _ends_in("out_of_memory")),
    Escape("hidden memory", "fill 2 GB in files without a name", "hide_memory", _at_most(_MOST_HIDDEN_MB)),
    Escape("endless loop", "never end", "loop", _was_stopped_in_time, _LOOP_S),
    Escape("deaf loop", "never end and ignore every signal", "loop_deaf", _was_stopped_in_time, _LOOP_S),
    Escape("1 GB of output", "write a gigabyte on stdout", "write_output", _ends_in("too_much_output")),
    Escape("surviving daemon", "leave a process behind", "leave_daemon", _left_no_process),
    Escape("host write", "write to a folder open to all, and to the system's", "write_host", _left_no_file),
    Escape("filling tmp", "write 128 MB to /tmp", "fill_tmp", _at_most(_MOST_TMP_MB)),
    Escape(
        "kill of the parent",
        "kill it, one outside, all, by every signal",
        "kill_parent",
        _killed_nothing,
        is_followed=True,
    ),
    Escape("nested namespace", "become root of a user namespace", "nest_namespace", _returns([])),
    Escape("parent's memory", "read it, by file and by ptrace", "read_parent_memory", _returns([])),
    Escape(
        "forged result",
        "write the result on every descriptor",
        "forge_result",
        _forged_nothing,
        is_followed=True,
    ),
)
