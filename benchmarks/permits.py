"""What a permit costs: CPU of client and Valkey, and server commands, for callers alone and in batches."""

import asyncio
import itertools
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from evalq.calling.rate_limit import Gatekeeper
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.async_scripts import AsyncScripts
from evalq.engines.embedded import attach
from evalq.records import CaseContext, Completion, Prompt, Usage

BATCHES = (1, 16, 64)
CALLS = 3_200
LIMITS: dict[str, dict[str, Any]] = {
    "no limits": {},
    "all limits": {"rpm": 6e6, "input_tpm": 10**9, "output_tpm": 10**9, "concurrency": 1000},
}
PROMPT = Prompt("", "x" * 252, 100, CaseContext("t", "c"))
ANSWER = Completion("answered", "x", Usage(80, 40))


@dataclass(frozen=True)
class Reading:
    """CPU seconds spent so far, and commands served so far, those inside scripts included."""

    client_s: float
    server_s: float
    commands: int


def read(valkey: "redis.Redis") -> Reading:
    """Read the meters of this process and of the server."""
    cpu: dict[str, Any] = valkey.info("cpu")
    stats: dict[str, Any] = valkey.info("commandstats")
    commands = sum(entry["calls"] for entry in stats.values())
    return Reading(time.process_time(), cpu["used_cpu_user"] + cpu["used_cpu_sys"], commands)


async def call_in_batches(url: str, judge: SimulatedJudge, batch: int, calls: int) -> None:
    """So many callers at once take a permit, settle it and take the next."""
    scripts = AsyncScripts(url)
    keeper = Gatekeeper(scripts)
    numbers = itertools.count()

    async def caller() -> None:
        while next(numbers) < calls:
            await keeper.answered(await keeper.take(judge, PROMPT), ANSWER)

    await asyncio.gather(*(caller() for _ in range(batch)))
    await keeper.drain()
    await scripts.close()


def measure(url: str, valkey: "redis.Redis", name: str, batch: int) -> None:
    """Print one line: what a call costs at this size of batch."""
    judge = SimulatedJudge(name="sim", provider="simulated", model=f"{name} {batch}", **LIMITS[name])
    asyncio.run(call_in_batches(url, judge, batch, batch * 4))
    before = read(valkey)
    asyncio.run(call_in_batches(url, judge, batch, CALLS))
    after = read(valkey)
    client_ms = (after.client_s - before.client_s) * 1000 / CALLS
    server_ms = (after.server_s - before.server_s) * 1000 / CALLS
    commands = (after.commands - before.commands) * 1000 / CALLS
    print(
        f"{name}, batches of {batch}: {client_ms:.3f} + {server_ms:.3f} ms CPU a call (client + Valkey),",
        f"{commands:,.0f} server commands per 1,000 calls",
    )


def main() -> None:
    """Measure every size of batch, without limits and with all of them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        attach(Path(folder) / "d") as engines,
        redis.Redis.from_url(engines.broker_url, decode_responses=True) as valkey,
    ):
        for name, batch in itertools.product(LIMITS, BATCHES):
            measure(engines.broker_url, valkey, name, batch)


if __name__ == "__main__":
    main()
