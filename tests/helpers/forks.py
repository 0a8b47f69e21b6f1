"""Processes of evalq forked from one that has everything imported: one to two seconds saved on each.

The tests start some thousand. All but the imports is as in a fresh interpreter: folder, environment, signals,
exit code; what a test wants to see from its very first instruction, it starts afresh.
"""

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from evalq.engines import die_with_parent
from workers import preload

_LARGEST_REQUEST = 4_000_000
# What a worker imports; the rest of workers.* reads the environment as it is imported.
_MORE = (*preload.MODULES, "celery.apps.beat", "openai")


class Forked:
    """A process that was forked; to be used as a `Popen` would be."""

    def __init__(self, server: socket.socket) -> None:
        self._server: socket.socket | None = server
        self._heard = b""
        self._code: int | None = None
        self.pid = int(self._line(None) or 0)

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.poll() is None

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit code; None when it has not ended in time."""
        if self._server and (line := self._line(timeout)) is not None:
            self._code = int(line)
            self._server.close()
            self._server = None
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.is_alive():
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, with all it started if it leads a session."""
        if self.is_alive():
            end = os.killpg if os.getpgid(self.pid) == self.pid else os.kill
            end(self.pid, signal.SIGKILL)
            self.wait(10)

    def _line(self, timeout: float | None) -> str | None:
        """The next line it says; None when there is none in time."""
        assert self._server
        while b"\n" not in self._heard:
            if not select.select([self._server], [], [], timeout)[0]:
                return None
            self._heard += self._server.recv(64)
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()


class Forks:
    """The process that forks, as seen from the tests."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "forks")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EVALQ_")}
        argv = [sys.executable, __file__, self._path]
        # Its standard input is the leash of all it starts: it closes however the tests end.
        self._process = subprocess.Popen(argv, env=inherited, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout
        assert self._process.stdout.readline() == b"ready\n"

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdout: IO[Any],
        stderr: IO[Any],
        leads: bool = False,
    ) -> Forked:
        """As the interpreter given `-m module …` or `-c code`; leading a session of its own, if asked."""
        request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "leads": leads}
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._path)
        socket.send_fds(server, [b"f"], [stdout.fileno(), stderr.fileno()])
        server.sendall(json.dumps(request).encode() + b"\n")
        return Forked(server)

    def run(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[str]":
        """As `subprocess.run` would, its output captured."""
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            forked = self.start(arguments, cwd=cwd, env=env, stdout=stdout, stderr=stderr)
            code = forked.wait(timeout_s)
            forked.kill()
            said = [_text(file) for file in (stdout, stderr)]
        if code is None:
            raise subprocess.TimeoutExpired(list(arguments), timeout_s, *said)
        return subprocess.CompletedProcess(list(arguments), code, *said)

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


# -- in the process that forks -------------------------------------------------------------------------------


def serve(path: str) -> dict[str, Any]:
    """Import all of evalq, then fork for every request; returns, in the process that was asked for, what."""
    import evalq

    names = [module.name for module in pkgutil.walk_packages(evalq.__path__, "evalq.")]
    for name in (*names, *_MORE):
        if not name.endswith("__main__"):
            import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while listener in select.select([listener, 0], [], [])[0]:
            client = listener.accept()[0]
            if os.fork() == 0:
                break
            client.close()
        else:
            sys.exit()  # the tests have ended, however they did
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return _fork_once_more(client)


def _fork_once_more(client: socket.socket) -> dict[str, Any]:
    """Wait for a child, and tell its number and its end; returns in the child."""
    _, descriptors, _, _ = socket.recv_fds(client, 1, 2)
    with client.makefile() as lines:
        request: dict[str, Any] = json.loads(lines.readline(_LARGEST_REQUEST))
    if pid := os.fork():
        client.sendall(f"{pid}\n".encode())
        for descriptor in (0, *descriptors):
            os.close(descriptor)
        status = os.waitpid(pid, 0)[1]
        with contextlib.suppress(OSError):
            client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    client.close()
    for descriptor, standard in zip(descriptors, (1, 2), strict=True):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    return request


def become(request: dict[str, Any]) -> None:
    """Run what was asked for, as the interpreter would."""
    if request["leads"]:
        os.setsid()
        threading.Thread(target=die_with_parent.watch, args=(os.dup(0),), daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    kind, what, *arguments = request["arguments"]
    sys.argv = [what, *arguments]
    if kind == "-c":
        exec(what, {"__name__": "__main__"})
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)


def exit_code(request: dict[str, Any]) -> int:
    """Run it to its end, threads and all, and say how it ended."""
    try:
        become(request)
    except SystemExit as exc:
        if isinstance(exc.code, str):
            print(exc.code, file=sys.stderr)
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        return 1
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    # Not by the interpreter's own way out, which takes all that was imported to pieces.
    os._exit(exit_code(serve(sys.argv[1])))
