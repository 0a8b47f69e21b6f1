"""A simulator in a child process, for tests, benchmarks and dry runs: started, asked, stopped."""

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import ValidationError

from evalq.engines.simulator.profile import SimulatorConfig
from evalq.engines.simulator.provider import PREFIX
from evalq.engines.simulator.server import HOST
from evalq.errors import InputError, Unreachable

_PATIENCE_S = 10.0

Config = SimulatorConfig | Mapping[str, Any]


@dataclass(frozen=True)
class Simulator:
    """A running simulator."""

    url: str
    pid: int

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's SDK; the others take `url`."""
        return f"{self.url}/v1"

    def ledger(self) -> dict[str, Any]:
        """What was asked and billed, in sums."""
        document: dict[str, Any] = self._ask("GET", "ledger")
        return document

    def calls(self, since: int = 0) -> list[dict[str, Any]]:
        """The single calls after number `since`."""
        calls: list[dict[str, Any]] = self._ask("GET", f"ledger/calls?since={since}")
        return calls

    def set_profiles(self, profiles: Mapping[str, Any]) -> None:
        """Give models other profiles; InputError says what is wrong with them."""
        self._ask("POST", "profiles", profiles)

    def reset(self) -> None:
        """Restore the state at the start, profiles included."""
        self._ask("POST", "reset")

    def _ask(self, method: str, what: str, document: Any = None) -> Any:
        connection = http.client.HTTPConnection(HOST, int(self.url.rpartition(":")[2]), timeout=60)
        with contextlib.closing(connection):
            connection.request(method, f"{PREFIX}{what}", json.dumps(document))
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        if reply.status != 200:
            raise InputError(str(answer["error"]))
        return answer


class _Child:
    """The process behind a pipe: it ends when asked to, and by itself when this process ends."""

    def __init__(self, config: SimulatorConfig) -> None:
        # A session of its own: Ctrl-C must reach only the command, which may still have calls open.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evalq.engines.simulator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin
        self._process.stdin.write(config.model_dump_json().encode() + b"\n")
        self._process.stdin.flush()

    def simulator(self) -> Simulator:
        """Wait until it listens."""
        assert self._process.stdout
        url = self._process.stdout.readline().decode().strip()
        if not url:
            raise Unreachable(f"the simulator did not start: it ended with code {self._process.wait()}")
        return Simulator(url, self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()


@contextlib.contextmanager
def running_simulator(config: Config | None = None) -> Iterator[Simulator]:
    """A simulator on a free port of loopback, gone after the block: `{"profiles": {…}, "cases": […]}`."""
    with _Child(_check_config(config)) as child:
        yield child.simulator()


def _check_config(config: Config | None) -> SimulatorConfig:
    if isinstance(config, SimulatorConfig):
        return config
    try:
        return SimulatorConfig.model_validate(config or {})
    except ValidationError as exc:
        raise InputError(str(exc)) from exc
