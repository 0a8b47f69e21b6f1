"""Commands in processes of their own, forked from one that has everything imported: a second saved on each.

The tests give some six hundred commands. Everything but the imports is as in a fresh interpreter: folder,
environment, signals, exit code. Commands a test leaves running are started afresh, as users start them.
"""

import contextlib
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

_LARGEST_REQUEST = 4_000_000


class Forks:
    """The process that forks, as seen from the tests."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "forks")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EVALQ_")}
        argv = [sys.executable, __file__, self._path]
        self._process = subprocess.Popen(
            argv, env=inherited, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        assert self._process.stdout
        assert self._process.stdout.readline() == b"ready\n"

    def run(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[str]":
        """As `subprocess.run` of the interpreter with `-m evalq …` or `-c code`."""
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(self._path)
                socket.send_fds(server, [b"f"], [stdout.fileno(), stderr.fileno()])
                server.sendall(json.dumps(request).encode() + b"\n")
                code = _answered(server, timeout_s)
            said = [_text(file) for file in (stdout, stderr)]
            if code is None:
                raise subprocess.TimeoutExpired(list(arguments), timeout_s, *said)
        return subprocess.CompletedProcess(list(arguments), code, *said)

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _answered(server: socket.socket, timeout_s: float) -> int | None:
    """The exit code; None when it did not come in time, then the command is killed."""
    with server.makefile() as answers:
        pid = int(answers.readline())
        server.settimeout(timeout_s)
        try:
            return int(answers.readline())
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            return None


def _text(file: "tempfile._TemporaryFileWrapper[bytes]") -> str:
    file.seek(0)
    return file.read().decode()


# -- in the process that forks -------------------------------------------------------------------------------


def serve(path: str) -> None:
    """Import all of evalq, then fork for every request; returns in the command's own process."""
    import evalq

    for module in pkgutil.walk_packages(evalq.__path__, "evalq."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            client = listener.accept()[0]
            if os.fork() == 0:
                break
            client.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _become(*_received(client), client)


def _received(client: socket.socket) -> tuple[dict[str, object], list[int]]:
    _, descriptors, _, _ = socket.recv_fds(client, 1, 2)
    with client.makefile() as lines:
        return json.loads(lines.readline(_LARGEST_REQUEST)), descriptors


def _become(request: dict[str, object], descriptors: list[int], client: socket.socket) -> None:
    """Wait for a child, and tell its number and its end; returns in the child, which is the command."""
    pid = os.fork()
    if pid:
        client.sendall(f"{pid}\n".encode())
        status = os.waitpid(pid, 0)[1]
        with contextlib.suppress(BrokenPipeError):
            client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    client.close()
    for descriptor, standard in zip(descriptors, (1, 2), strict=True):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    sys.argv = [str(word) for word in request["arguments"]]  # type: ignore[attr-defined]


def command() -> None:
    """Run what the arguments say, as the interpreter would."""
    kind, what, *arguments = sys.argv
    if kind == "-c":
        sys.argv = [kind, *arguments]
        exec(what, {"__name__": "__main__"})
    else:
        assert (kind, what) == ("-m", "evalq")
        sys.argv = ["evalq", *arguments]
        import_module("evalq.cli.main").run()


if __name__ == "__main__":
    serve(sys.argv[1])
    command()
