"""A program for the sandbox: its calls and limits, the messages to and from the runner, and the results."""

import binascii
import json
import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evalq.errors import Refused, UngradableAnswer
from evalq.records import Executor

NONCE_CHARS = 32
MAX_VALUES_BYTES = 8_000_000
"""All values of one program together, in base64."""

MAX_REPLY_BYTES = 2 * MAX_VALUES_BYTES
_MB, _KB = 2**20, 2**10
_COMPLAINT_CHARS = 300

LOADED = b"loaded\n"
"""What comes before the output of a shell function, once its code is loaded."""

UNSAFE_VARIABLE = "EVALQ_ALLOW_UNSAFE_CODE"

Isolation = Literal["strong", "weak"]
"""strong: namespaces of its own for everything · weak: a process with limits, by explicit setting only."""

End = Literal[
    "returned",
    "raised",
    "unloadable",
    "unreadable",
    "timed_out",
    "out_of_memory",
    "too_much_output",
    "died",
]
"""How a call ended.

returned: a value came back · raised: the function did · unloadable: the code does not compile, fails at its
top level or lacks the function · unreadable: the value is not one that JSON has, or is too large ·
timed_out · out_of_memory · too_much_output: on stdout and stderr · died: the process ended without a reply.
"""


@dataclass(frozen=True)
class Limits:
    """What a call may use. Memory, files and open files count per process."""

    memory_mb: int = 512
    processes: int = 16
    file_mb: int = 16
    open_files: int = 64
    output_kb: int = 64
    value_kb: int = 256


@dataclass(frozen=True)
class FunctionCall:
    """The arguments of one call: values that JSON has."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """Code that defines `function`, and the calls to make; each call loads the code again.

    Without a function, shell code is a script that is run with the arguments of each call.
    """

    source: str
    function: str
    calls: tuple[FunctionCall, ...]
    timeout_per_case_s: float = 5.0
    limits: Limits = Limits()
    executor: Executor = "python"


@dataclass(frozen=True)
class CallResult:
    """The result of one call. `output` is the beginning of what it wrote to stdout and stderr together.

    `raised` has the exception's type and its bases, nearest first, when the end is raised, out_of_memory or
    unloadable.
    """

    end: End
    value: Any = None
    raised: tuple[str, ...] = ()
    message: str = ""
    output: str = ""
    wall_ms: int = 0


@dataclass(frozen=True)
class ProgramRun:
    """The results in the order of the calls, and how they were obtained."""

    results: tuple[CallResult, ...]
    isolation: Isolation
    python: str = ""
    wall_ms: int = 0


def request_bytes(
    program: Program,
    *,
    isolation: Isolation,
    processes: int,
    is_filtered: bool,
    command: Sequence[str] = (),
) -> bytes:
    """The program as a message to the runner inside.

    `processes` is the limit that applies where it runs; `is_filtered` means that a seccomp filter is active;
    `command` runs code that is not Python.
    """
    limits = program.limits
    request = {
        "executor": program.executor,
        "command": list(command),
        "source": program.source,
        "function": program.function,
        "calls": [[list(call.args), dict(call.kwargs)] for call in program.calls],
        "timeout_s": program.timeout_per_case_s,
        "owns_processes": isolation == "strong",
        "is_filtered": is_filtered,
        "output_bytes": limits.output_kb * _KB,
        "value_bytes": limits.value_kb * _KB,
        "reply_bytes": MAX_VALUES_BYTES,
        "limits": {
            "RLIMIT_AS": limits.memory_mb * _MB,
            "RLIMIT_FSIZE": limits.file_mb * _MB,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_NPROC": processes,
            "RLIMIT_CORE": 0,
        },
        "call_limits": {"RLIMIT_CPU": math.ceil(program.timeout_per_case_s) + 1},
    }
    text = json.dumps(request).encode()
    return b"%010d" % len(text) + text


def read_ready(reply: bytes) -> tuple[str, bytes] | None:
    """The version of the Python inside, and the rest of the reply; None if it never started."""
    head, found, rest = reply.partition(b"\n")
    if not found or not head.startswith(b"ready "):
        return None
    return head[6:].decode("ascii", "replace"), rest


def read_results(body: bytes, nonce: str, program: Program) -> tuple[CallResult, ...]:
    """One result per call; raise UngradableAnswer for anything that the runner did not write."""
    head, _, text = body.partition(b"\n")
    if head != nonce.encode():
        raise UngradableAnswer("the sandbox ended without a result")
    try:
        seen = json.loads(text)
        results = tuple(_read_result(one, program) for one in seen)
    except (ValueError, TypeError, KeyError, RecursionError) as exc:
        raise UngradableAnswer("the sandbox's result is not in the agreed form") from exc
    if len(results) != len(program.calls):
        raise UngradableAnswer("the sandbox's result has another number of calls")
    return results


def _read_result(seen: dict[str, Any], program: Program) -> CallResult:
    output = binascii.a2b_base64(seen["output"]).decode("utf-8", "replace")
    if seen["stopped"]:
        found = _stopped_result(seen["stopped"], program)
    else:
        said, status = binascii.a2b_base64(seen["said"]), seen["status"]
        if program.executor == "shell":
            found = _read_printed(said, status, output)
        else:
            found = _read_reply(said) or _died_result(status)
    return replace(found, output=output, wall_ms=int(seen["ms"]))


def _stopped_result(reason: str, program: Program) -> CallResult:
    """The result of a call that the runner had to stop."""
    limits = program.limits
    reasons: dict[str, tuple[End, str]] = {
        "late": ("timed_out", f"no result within {program.timeout_per_case_s:g} s"),
        "output": ("too_much_output", f"more than {limits.output_kb} KB of output"),
        "value": ("unreadable", f"the value is larger than {limits.value_kb} KB"),
    }
    end, message = reasons[reason]
    return CallResult(end, message=message)


def _read_reply(document: bytes) -> CallResult | None:
    """The reply of the call's process; None for an empty or malformed one, which the code may have forged."""
    try:
        [(kind, content)] = json.loads(document).items()
        return _result_of(kind, content)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return None


def _read_printed(said: bytes, status: int, output: str) -> CallResult:
    """The result of a shell function: what it printed without newlines at the end, or its exit code."""
    complaint = output.strip().rpartition("\n")[2][:_COMPLAINT_CHARS]
    if status < 0:
        return _died_result(status)
    if not said.startswith(LOADED):
        message = complaint or f"the code ended with exit code {status} before it could be called"
        return CallResult("unloadable", raised=("LoadError",), message=message)
    if status > 0:
        message = f"exit code {status}: {complaint}".removesuffix(": ")
        return CallResult("raised", raised=("ExitCode",), message=message)
    return CallResult("returned", said[len(LOADED) :].decode("utf-8", "replace").rstrip("\n"))


def _result_of(kind: str, content: Any) -> CallResult | None:
    if kind == "value":
        return CallResult("returned", content)
    ends: dict[str, End] = {"raised": "raised", "unloadable": "unloadable", "unreadable": "unreadable"}
    names = tuple(str(name) for name in content["names"])
    where = f" (line {int(content['line'])})" if content["line"] is not None else ""
    end = "out_of_memory" if names[0] == "MemoryError" else ends[kind]
    return CallResult(end, raised=names, message=f"{content['message']}{where}")


def _died_result(status: int) -> CallResult:
    """The result of a process that ended without a reply, by itself or by a signal."""
    if status >= 0:
        return CallResult("died", message=f"the process ended itself with exit code {status}")
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return CallResult("died", message=f"the process was ended by {name}")


def unavailable(reason: str) -> Refused:
    """The refusal to run code without a sandbox, with the remedies."""
    return Refused(
        f"SANDBOX_UNAVAILABLE: {reason}; install bubblewrap 0.8 or newer (`apt-get install bubblewrap`) and "
        "try `evalq doctor --sandbox`, or set `sandbox: unsafe` in evalq.yaml together with "
        f"{UNSAFE_VARIABLE}=1 to run model-written code without one"
    )
