"""The canaries: escapes that are really tried, and whether each was contained, as seen from outside."""

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


@dataclass(frozen=True)
class Bait:
    """All of it real and in reach of any ordinary process, so that only the sandbox keeps it away."""

    secret: str
    folder: Path
    ports: tuple[int, int]
    name: str
    decoy: "subprocess.Popen[bytes]"
    listeners: tuple[socket.socket, ...]

    def described(self, token: str) -> dict[str, Any]:
        """What the code inside is told; `token` is what to look for afterwards."""
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
        """True if anyone connected since the last time."""
        visited = False
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    visited = True
        return visited

    def left_files(self, token: str) -> list[str]:
        """The folders in which a file of this name lies now."""
        found = []
        for folder in (self.folder, Path.home(), *map(Path, ("/usr", "/usr/bin", "/etc", "/dev", "/"))):
            with contextlib.suppress(OSError):
                (folder / token).stat()
                found.append(str(folder))
        return found


def processes_with(token: str) -> list[int]:
    """The processes of this machine that carry the token on their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if token.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@contextlib.contextmanager
def laid_bait(ports: Sequence[int] = ()) -> Iterator[Bait]:
    """Bait for a while; `ports` on loopback to try instead of listeners of our own."""
    secret, name = secrets.token_hex(16), f"evalq-canary-{secrets.token_hex(8)}"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evalq-bait-")))
        folder.chmod(0o777)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        listeners = [_listening(stack, socket.AF_INET, ("127.0.0.1", 0)) for _ in range(2)]
        first, second = ports or [listener.getsockname()[1] for listener in listeners]
        listeners.append(_listening(stack, socket.AF_UNIX, "\0" + name))
        decoy = stack.enter_context(_decoy())
        stack.enter_context(_variable(secret))
        yield Bait(secret, folder, (first, second), name, decoy, tuple(listeners))


def _listening(stack: contextlib.ExitStack, family: int, address: Any) -> socket.socket:
    listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
    return listener


@contextlib.contextmanager
def _decoy() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that sleeps until it is killed."""
    argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def _variable(secret: str) -> Iterator[None]:
    """A key in our own environment, as a worker has them."""
    os.environ[_VARIABLE] = secret
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)


AT_ONCE = 4
_PATIENCE_S = 10.0
_LOOP_S = 0.5
_SLACK_MS = 2000
_MOST_PROCESSES = 16
_MOST_TMP_MB = 16
_MOST_HIDDEN_MB = 1024


@dataclass(frozen=True)
class Traces:
    """What an attempt left: its results, and the bait as it is afterwards."""

    results: tuple[CallResult, ...]
    bait: Bait
    token: str

    @property
    def first(self) -> CallResult:
        """The result of the attempt itself."""
        return self.results[0]


@dataclass(frozen=True)
class Escape:
    """A way out: what is tried, by which function of escapes.py, and how one sees that it led nowhere."""

    name: str
    tried: str
    function: str
    is_contained: Callable[[Traces], bool]
    timeout_s: float = _PATIENCE_S
    is_followed: bool = False
    """An honest call comes after it: that must work as if nothing had happened."""


@dataclass(frozen=True)
class EscapeResult:
    """What became of one attempt."""

    escape: Escape
    contained: bool
    evidence: str
    wall_ms: int


Run = Callable[[Program], ProgramRun]
"""The sandbox under test."""


def try_escapes(run: Run, *, at_once: int = 1, ports: Sequence[int] = ()) -> list[EscapeResult]:
    """Try every escape, each `at_once` times at the same time; the worst finding of each."""
    with laid_bait(ports) as bait, ThreadPoolExecutor(at_once) as pool:
        found = []
        for escape in ESCAPES:
            tries = [pool.submit(try_escape, escape, bait, run) for _ in range(at_once)]
            findings = [one.result() for one in tries]
            found.append(max(findings, key=lambda finding: (not finding.contained, finding.wall_ms)))
        return found


def check_ordinary_code(run: Run) -> str:
    """Why ordinary code (threads, processes, files, asyncio) fails in the sandbox; empty if it works."""
    try:
        (result,) = run(
            Program(_attempts_text(), "work_as_usual", (FunctionCall(({},)),), _PATIENCE_S)
        ).results
    except UngradableAnswer as exc:
        return str(exc)
    if result.value == ["thread", "file", "process", "loop", 0]:
        return ""
    return f"ordinary code does not work in it: {_words(result)}"


def try_escape(escape: Escape, bait: Bait, run: Run) -> EscapeResult:
    """Try one escape."""
    token = f"{bait.name}-{secrets.token_hex(8)}"
    told = bait.described(token)
    calls = (
        (FunctionCall((told, False)), FunctionCall((told, True)))
        if escape.is_followed
        else (FunctionCall((told,)),)
    )
    started = time.monotonic()
    try:
        done = run(Program(_attempts_text(), escape.function, calls, escape.timeout_s))
    except UngradableAnswer as exc:
        return EscapeResult(escape, False, str(exc), _since(started))
    traces = Traces(done.results, bait, token)
    return EscapeResult(escape, escape.is_contained(traces), _words(traces.first), _since(started))


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


@cache
def _attempts_text() -> str:
    return Path(__file__).with_name("escapes.py").read_text("utf-8")


def _words(result: CallResult) -> str:
    """How the attempt ended, in one line."""
    if result.end == "returned":
        return f"returned {str(result.value)[:100]}"
    name = f"{result.raised[0]}: " if result.raised else ""
    return f"{result.end.replace('_', ' ')}: {name}{result.message}".rstrip(": ")


def _ended(*ends: str) -> Callable[[Traces], bool]:
    return lambda traces: traces.first.end in ends


def _got(*values: object) -> Callable[[Traces], bool]:
    """It returned one of these, and nothing else."""
    return lambda traces: traces.first.end == "returned" and traces.first.value in values


def _at_most(count: int) -> Callable[[Traces], bool]:
    """It returned a number no larger than this."""
    return lambda traces: isinstance(traces.first.value, int) and traces.first.value <= count


def _has_no_key(traces: Traces) -> bool:
    """Nothing that looks like our environment came back, and what did is the sandbox's own."""
    names = traces.first.value
    return isinstance(names, dict) and set(names) <= {"PWD", "LC_CTYPE"}


def _sees_no_secret(traces: Traces) -> bool:
    return traces.first.end == "returned" and traces.bait.secret not in str(traces.first.value)


def _saw_no_home(traces: Traces) -> bool:
    """Neither the file nor any name but that of the running Python's folder, if that lies in the home."""
    found, home = traces.first.value, Path.home()
    shown = {path.relative_to(home).parts[0] for path in interpreter().shown if path.is_relative_to(home)}
    return isinstance(found, dict) and "file" not in found and set(found.get("home", "").split()) <= shown


def _reached_no_one(traces: Traces) -> bool:
    value = traces.first.value
    return isinstance(value, str) and value != "connected" and not traces.bait.had_visitors()


def _was_stopped_in_time(traces: Traces) -> bool:
    return traces.first.end == "timed_out" and traces.first.wall_ms < _LOOP_S * 1000 + _SLACK_MS


def _left_no_process(traces: Traces) -> bool:
    return traces.first.value == "left" and not processes_with(traces.token)


def _left_no_file(traces: Traces) -> bool:
    """None outside, that is: what it says it wrote may lie in a /tmp of its own."""
    return traces.first.end == "returned" and not traces.bait.left_files(traces.token)


def _killed_no_one(traces: Traces) -> bool:
    first, honest = traces.results
    return (first.value, honest.value) == ("killed", "alive") and traces.bait.decoy.poll() is None


def _forged_nothing(traces: Traces) -> bool:
    return traces.first.end != "returned" and traces.results[1].value == "honest"


ESCAPES: tuple[Escape, ...] = (
    Escape("environment keys", "read the environment of the worker", "read_environment", _has_no_key),
    Escape("other environments", "read /proc/*/environ", "read_other_environments", _sees_no_secret),
    Escape("home file", "read a file anyone may read, list the home", "read_home", _saw_no_home),
    Escape("tcp to valkey", "connect to a port on 127.0.0.1", "connect_first", _reached_no_one),
    Escape("tcp to postgres", "connect to another port on 127.0.0.1", "connect_second", _reached_no_one),
    Escape("abstract socket", "connect to a unix socket without a file", "connect_abstract", _reached_no_one),
    Escape("fork bomb", "start 300 processes that stay", "fork_bomb", _at_most(_MOST_PROCESSES)),
    Escape("10 GB", "fill ten gigabytes of memory", "allocate", _ended("out_of_memory")),
    Escape("hidden memory", "fill 2 GB in files without a name", "hide_memory", _at_most(_MOST_HIDDEN_MB)),
    Escape("endless loop", "never end", "loop", _was_stopped_in_time, _LOOP_S),
    Escape("deaf loop", "never end and ignore every signal", "loop_deaf", _was_stopped_in_time, _LOOP_S),
    Escape("1 GB of output", "write a gigabyte on stdout", "write_output", _ended("too_much_output")),
    Escape("surviving daemon", "leave a process behind", "leave_daemon", _left_no_process),
    Escape("host write", "write to a folder open to all, and to the system's", "write_host", _left_no_file),
    Escape("filling tmp", "write 128 MB to /tmp", "fill_tmp", _at_most(_MOST_TMP_MB)),
    Escape(
        "kill of the parent",
        "kill it, one outside, all, by every signal",
        "kill_parent",
        _killed_no_one,
        is_followed=True,
    ),
    Escape("nested namespace", "become root of a user namespace", "nest_namespace", _got([])),
    Escape("parent's memory", "read it, by file and by ptrace", "read_parent_memory", _got([])),
    Escape(
        "forged result",
        "write the result on every descriptor",
        "forge_result",
        _forged_nothing,
        is_followed=True,
    ),
)
