"""The simulator's server: loopback only, one thread, everything on one event loop."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evalq.errors import Unreachable
from evalq.simulator.connection import Connection
from evalq.simulator.control import PREFIX, control
from evalq.simulator.exchange import Delivery
from evalq.simulator.http import Request, response
from evalq.simulator.profile import SimulatorConfig
from evalq.simulator.protocols import wire_of
from evalq.simulator.provider import Provider

HOST = "127.0.0.1"

_BACKLOG = 4096
_OPEN_FILES = 65_536


class Server:
    """Listens from the start; serves while `run` runs."""

    def __init__(self, config: SimulatorConfig, *, port: int = 0, root: Path = Path()) -> None:
        self.provider = _provider(config, root)
        _allow_open_files()
        self._loop = asyncio.new_event_loop()
        make = partial(Connection, partial(_handle, self.provider), self._loop)
        try:
            listen = self._loop.create_server(make, HOST, port, backlog=_BACKLOG)
            self._server = self._loop.run_until_complete(listen)
        except OSError as exc:
            self._loop.close()
            raise Unreachable(f"cannot listen on port {port}: {exc.strerror}; choose another port") from exc

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def stop_when_readable(self, descriptor: int, is_over: Callable[[], bool]) -> None:
        """Have `run` return when something can be read there and that means the end."""
        self._loop.add_reader(descriptor, lambda: self._loop.stop() if is_over() else None)

    def run(self) -> None:
        """Serve until stopped, interrupted or terminated."""
        try:
            self._loop.run_forever()
        finally:
            self._server.close()
            self._loop.close()


def _provider(config: SimulatorConfig, root: Path) -> Provider:
    from evalq.simulator.cases import load_known

    return Provider(config.profiles, load_known(config.cases, root).answer)


def _handle(provider: Provider, request: Request) -> Delivery:
    if request.target.startswith(PREFIX):
        return control(provider, request)
    wire = wire_of(request.path) if request.method == "POST" else None
    if wire is None:
        error = {"message": f"The simulator does not know {request.method} {request.path}"}
        return Delivery("send", response(404, json.dumps({"error": error}).encode()))
    return provider.take(wire, request)


def _allow_open_files() -> None:
    """A connection is an open file; the usual limit of 1,024 is less than a fleet opens."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
