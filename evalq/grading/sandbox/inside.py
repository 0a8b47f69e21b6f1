"""Runs inside the sandbox: makes each call in a process of its own, and hands on what that says unread.

A script, not a module to import: its text is given to `python -c`. It is the first process of its pid
namespace, so nothing inside can kill or stop it. On stdin: the length of a request, the request, a nonce. The
nonce is read when every process that ran the code under test is dead, so no such process ever held it. The
limits are set before "ready" is said: what fails until then is our own fault.
"""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import resource
import select
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing would cost more than the whole rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_TICK_MS = 20
_SAID = 3
_MESSAGE_CHARS = 500
_HEAD_BYTES = 2000
_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
_FIND = "/usr/bin/find"
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp", "UV_THREADPOOL_SIZE": "1"}  # noqa: S108


def main() -> None:
    """Read the request, make the calls, and answer behind the nonce."""
    # The first process of a namespace gets only the signals it has a handler for; Python brings one for this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request = json.loads(_read(0, int(_read(0, 10))))
    _limit(request["limits"], is_strict=request["owns_processes"])
    if not request["is_filtered"]:
        _hide_memory(is_strict=request["owns_processes"])
    _write(1, b"ready %d.%d.%d\n" % sys.version_info[:3])
    room = request["reply_bytes"]
    seen = []
    for call in request["calls"]:
        one = _observe(request, call, min(room, request["value_bytes"]))
        room -= len(one["said"])
        seen.append(one)
    nonce = _read(0, 32)
    _write(1, nonce + b"\n" + json.dumps(seen).encode())


def _observe(request: dict[str, Any], call: Any, value_bytes: int) -> dict[str, Any]:
    """Make one call in a child: what it said, why it was stopped if it was, how it ended."""
    said, said_end = os.pipe()
    output, output_end = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _answer(request, call, said_end, output_end)
    os.close(said_end)
    os.close(output_end)
    room = {said: value_bytes, output: request["output_bytes"]}
    is_line = request["executor"] != "shell"  # which may print any number of them
    stopped, heard = _listen(child, said, room, started + request["timeout_s"], is_line)
    status = _end_all(child, request["owns_processes"])
    _sweep(request["owns_processes"])
    heard[output] += _rest(output, request["output_bytes"] - len(heard[output]))
    os.close(said)
    os.close(output)
    return {
        "stopped": stopped,
        "status": os.waitstatus_to_exitcode(status),
        "ms": round((time.monotonic() - started) * 1000),
        "said": _ascii(heard[said][:value_bytes]),
        "output": _ascii(heard[output][:_HEAD_BYTES]),
    }


def _listen(
    child: int, said: int, room: dict[int, int], deadline: float, is_line: bool
) -> tuple[str | None, dict[int, bytes]]:
    """Hear both pipes until the child has said its line, is gone, is late, or says too much."""
    heard = dict.fromkeys(room, b"")
    poller = select.poll()
    for pipe in room:
        poller.register(pipe, select.POLLIN)
    is_over = False
    while not is_over:
        left_ms = (deadline - time.monotonic()) * 1000
        if left_ms <= 0:
            return "late", heard
        ready = poller.poll(min(left_ms, _TICK_MS))
        is_over = not ready and _is_gone(child)  # whom it started may still hold the pipes
        for pipe, _ in ready:
            chunk = os.read(pipe, 65536)
            heard[pipe] += chunk
            if len(heard[pipe]) > room[pipe]:
                return "value" if pipe == said else "output", heard
            if not chunk:
                poller.unregister(pipe)
            is_over |= pipe == said and (not chunk or (is_line and chunk.endswith(b"\n")))
    return None, heard


def _is_gone(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_all(child: int, owns_processes: bool) -> int:
    """Kill the child and all it started, and wait for them; the child's status."""
    owns_processes = owns_processes and os.getpid() == 1  # or this would be the end of the user's session
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1 if owns_processes else child, signal.SIGKILL)
    if not owns_processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    status = 0
    while True:
        try:
            ended, code = os.waitpid(-1 if owns_processes else child, 0)
        except ChildProcessError:
            return status
        status = code if ended == child else status


def _sweep(owns_files: bool) -> None:
    """Remove what a call left in the sandbox's own folders, as far as a second goes."""
    for folder in _FOLDERS if owns_files and os.getpid() == 1 else ():
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o1777)  # noqa: PTH101, S103 - pathlib costs more than all of this
            with os.scandir(folder) as entries:
                is_empty = next(entries, None) is None
            if not is_empty:
                _empty(folder)


def _empty(folder: str) -> None:
    sweeper = os.fork()
    if sweeper == 0:
        signal.alarm(1)
        with contextlib.suppress(OSError):
            os.execv(_FIND, (_FIND, folder, "-mindepth", "1", "-delete"))  # noqa: S606 - no shell
        os._exit(1)
    os.waitpid(sweeper, 0)


def _rest(pipe: int, room: int) -> bytes:
    """What still lies in a pipe whose writers are dead."""
    os.set_blocking(pipe, False)
    try:
        return os.read(pipe, max(room, 0))
    except BlockingIOError:
        return b""


def _answer(request: dict[str, Any], call: Any, said: int, output: int) -> NoReturn:
    """The child: without our pipes, within the limits, it makes the call and says what came of it."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDONLY)
    for pipe, place in ((null, 0), (output, 1), (output, 2), (said, _SAID)):
        os.dup2(pipe, place)
    os.closerange(_SAID + 1, 1024)
    _limit(request["call_limits"], is_strict=False)
    if request["executor"] != "python":
        _become_executor(request, call)
    document = _called(request, call)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):  # the code may have put anything in their place
            stream.flush()
    _write(_SAID, document + b"\n")
    os._exit(0)


def _become_executor(request: dict[str, Any], call: Any) -> NoReturn:
    """Become the program that runs the code: it finds the code on stdin and answers on the same pipe."""
    content, arguments = request["source"], []
    if request["executor"] == "javascript":
        content = json.dumps({"source": content, "function": request["function"], "args": call[0]})
    else:
        arguments = [
            request["function"],
            *(one if isinstance(one, str) else json.dumps(one) for one in call[0]),
        ]
    try:
        _put_on_stdin(content.encode("utf-8", "replace"))
        os.execve(request["command"][0], [*request["command"], *arguments], _ENVIRONMENT)  # noqa: S606
    except (OSError, ValueError) as exc:
        _write(2, f"the code could not be started: {exc}\n".encode("utf-8", "replace"))
        os._exit(126)


def _put_on_stdin(content: bytes) -> None:
    """Put a text on stdin by a file without a name: a pipe would hold only the beginning of it."""
    path = f"{_FOLDERS[0]}/code-{os.getpid()}-{time.monotonic_ns()}"
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    os.unlink(path)  # noqa: PTH108 - pathlib costs more than all of this
    _write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, 0)
    os.close(file)


def _limit(limits: dict[str, int], *, is_strict: bool) -> None:
    """Set limits for this process and all it starts, which none of them can raise again."""
    for name, most in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(number, (value, value))
        except (OSError, ValueError):  # some systems refuse some of them
            if is_strict:
                raise


def _hide_memory(*, is_strict: bool) -> None:
    """Where no filter forbids it: keep the processes of the same user from looking into this one."""
    try:
        import ctypes

        is_hidden = ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0  # PR_SET_DUMPABLE
    except (ImportError, OSError, AttributeError):
        is_hidden = False
    if is_strict and not is_hidden:
        sys.exit("the supervisor's memory cannot be hidden")


def _called(request: dict[str, Any], call: Any) -> bytes:
    """Load the code, call the function, and put into words what came of it."""
    try:
        function = _loaded(request["source"], request["function"])
    except BaseException as exc:  # noqa: BLE001 - whatever the code under test does is a result
        return _trouble("unloadable", exc)
    try:
        value = function(*call[0], **call[1])
    except BaseException as exc:  # noqa: BLE001
        return _trouble("raised", exc)
    try:
        return _document("value", value)
    except BaseException as exc:  # noqa: BLE001
        return _trouble("unreadable", exc)


def _loaded(source: str, name: str) -> Callable[..., Any]:
    module = type(sys)("answer")
    sys.modules["answer"] = module  # dataclasses and typing look their module up
    code = compile(source, "answer.py", "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
    function = module.__dict__.get(name)
    if not callable(function):
        raise NameError(f"the code defines no function {name!r}")
    return function  # type: ignore[no-any-return]


def _document(kind: str, content: Any) -> bytes:
    return json.dumps({kind: content}, default=_plain).encode()


def _plain(value: Any) -> Any:
    """A set as a list, sorted where it can be."""
    if not isinstance(value, set | frozenset):
        raise TypeError(f"{type(value).__name__} is no JSON value")
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)


def _trouble(kind: str, exc: BaseException) -> bytes:
    names = [one.__name__ for one in type(exc).__mro__ if one is not object]
    try:
        text = str(exc)[:_MESSAGE_CHARS]
    except BaseException:  # noqa: BLE001
        text = ""
    line = exc.lineno if isinstance(exc, SyntaxError) else _line(exc)
    return _document(kind, {"names": names, "message": text, "line": line})


def _line(exc: BaseException) -> int | None:
    """The last line of the code under test that was on its way."""
    line, frame = None, exc.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == "answer.py":
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _read(pipe: int, count: int) -> bytes:
    """Exactly so many bytes, and none of those behind them."""
    got = b""
    while len(got) < count:
        chunk = os.read(pipe, count - len(got))
        if not chunk:
            sys.exit("the request ends early")
        got += chunk
    return got


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _ascii(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


if __name__ == "__main__":
    main()
