"""What many callers ask of their gates within a tick: one script per gate, all in one round trip."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from evalq.store.coalescer import Coalescer

TICK_S = 0.008
"""How long requests gather; permits and settlements of a tick leave in the same round trip."""

_BURST_MS = 1000
_MAX_WAIT_MS, _PACE_WAIT_MS = 20_000, 10_000
_BREAKER_WINDOW_MS, _BREAKER_CALLS, _COOL_DOWN_MS = 60_000, 10, 5_000
_RETRY_CAPACITY, _RETRY_GAIN = 50, 0.1
_FEWEST_FAILURES = 5
_FEWEST_PLACES, _MOST_PLACES = 16, 2048
_SETTINGS = (
    *(_BREAKER_WINDOW_MS, _BREAKER_CALLS, _COOL_DOWN_MS, _RETRY_CAPACITY, _RETRY_GAIN, _FEWEST_FAILURES),
    *(_FEWEST_PLACES, _MOST_PLACES, _BURST_MS, _MAX_WAIT_MS, _PACE_WAIT_MS),
)

MAX_WAIT_S = _MAX_WAIT_MS / 1000
"""The longest a job waits in its slot; a longer wait puts it back to ready and frees the slot."""

CallResult = Literal["ok", "rate", "failed", "other", "unused"]


class Scripts(Protocol):
    """What the limiter needs of the broker: scripts run in the order they are asked for."""

    async def run_script(self, text: str, keys: list[str], args: list[Any]) -> Any:
        """Run one Lua script atomically; raises Unreachable when the broker is away."""
        ...


@dataclass(frozen=True)
class PermitRequest:
    """A caller at a gate, in the words of take_permits.lua; what is None is not sent."""

    gate: str
    call: str
    input: int
    output: int
    life: float
    rpm: float | None = None
    input_tpm: float | None = None
    output_tpm: float | None = None
    concurrency: int | None = None
    first_room: int | None = None
    is_waiting: bool | None = None
    held: int | None = None


@dataclass(frozen=True)
class Settlement:
    """The end of a call, in the words of settle_permits.lua; what is None is not sent."""

    gate: str
    call: str
    result: CallResult
    epoch: int
    input: int
    input_used: int
    output: int
    output_used: int
    dead_after: float
    rpm: float | None = None
    input_tpm: float | None = None
    output_tpm: float | None = None
    closed: float | None = None
    hinted_rpm: float | None = None
    hinted_input: float | None = None
    hinted_output: float | None = None
    latency: int | None = None


@dataclass(frozen=True)
class GateAnswer:
    """A gate's answer: granted or not, after which wait; `is_paced`: too many wait for the pace.

    `places` is set when all of them are taken: how many calls may be in flight.
    """

    granted: bool
    wait_s: float
    is_paced: bool
    epoch: int
    places: int = 0


@dataclass(frozen=True)
class GateState:
    """What a gate says of a failed call: whether to repeat it, and whether anything is answered at all."""

    is_within_budget: bool
    is_dead: bool
    failures: int
    failing_s: float


_Row = PermitRequest | Settlement
_Reply = list[Any]


class GateBatches:
    """Gathers the requests of a tick; each gate gets its own in one script, settlements first.

    A settlement is known at its gate before any permit that this process asks for later.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._tick: Coalescer[_Row, _Reply] = Coalescer(self._send, tick_s=TICK_S)

    async def take(self, request: PermitRequest) -> GateAnswer:
        """Ask for a permit; raises Unreachable when the broker is away."""
        granted, wait_ms, reason, epoch, places = await self._tick.ask(request)
        return GateAnswer(bool(granted), wait_ms / 1000, reason in ("pace", b"pace"), epoch, int(places))

    async def settle(self, settlement: Settlement) -> GateState:
        """Settle a call; raises Unreachable when the broker is away."""
        within, is_dead, failures, failing_ms = await self._tick.ask(settlement)
        return GateState(bool(within), bool(is_dead), failures, failing_ms / 1000)

    async def _send(self, rows: Sequence[_Row]) -> list[_Reply | BaseException]:
        places = _places_by_gate(rows)
        runs = [self._run([rows[place] for place in batch]) for batch in places]
        # A failing script is the failure of its own callers: those of other gates have their replies.
        replies = await asyncio.gather(*runs, return_exceptions=True)
        results: dict[int, _Reply | BaseException] = {}
        for batch, reply in zip(places, replies, strict=True):
            each = [reply] * len(batch) if isinstance(reply, BaseException) else reply
            results.update(zip(batch, each, strict=True))
        return [results[place] for place in range(len(rows))]

    async def _run(self, rows: Sequence[_Row]) -> list[_Reply]:
        settled = [_sent_fields(row) for row in rows if isinstance(row, Settlement)]
        asking = [_sent_fields(row) for row in rows if isinstance(row, PermitRequest)]
        texts = [json.dumps(part, separators=(",", ":")) for part in (settled, asking)]
        replies: list[_Reply] = await self._scripts.run_script(
            _read_script(), _gate_keys(rows[0].gate), [*texts, *_SETTINGS]
        )
        return replies


def _places_by_gate(rows: Sequence[_Row]) -> list[list[int]]:
    """The places of the rows of each gate; settlements come first, since they make room."""
    gates: dict[str, list[int]] = {}
    for kind in (Settlement, PermitRequest):
        for place, row in enumerate(rows):
            if isinstance(row, kind):
                gates.setdefault(row.gate, []).append(place)
    return list(gates.values())


def _sent_fields(row: _Row) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if value is not None and name != "gate"}


def _gate_keys(gate: str) -> list[str]:
    """The broker's keys of a gate: its state, its calls in flight, its waiting callers."""
    key = f"evalq:gate:{gate}"
    return [key, f"{key}:calls", f"{key}:waiting"]


@cache
def _read_script() -> str:
    folder = Path(__file__).parent
    names = ("gate_state", "settle_permits", "take_permits")
    return "\n".join((folder / f"{name}.lua").read_text("utf-8") for name in names)
