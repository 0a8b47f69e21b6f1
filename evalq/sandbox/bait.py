"""What the escapes are told to go for: a secret, a file, listeners, a process, a folder open to all."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
