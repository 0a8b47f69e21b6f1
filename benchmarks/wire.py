"""CPU of a call through OpenAI's SDK over our transport and over httpx2's own, against a mock of 50 ms."""

import asyncio
import multiprocessing
import resource
import sys
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

import httpx2
import openai

from evalq.calling.providers.transport import client

LATENCY_S = 0.05
CALLS = 3_000
IN_FLIGHT = (64, 512)
TARGET_MS = 0.9
REPLY = (
    b'{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"hello"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}'
)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(REPLY),
    REPLY,
)
BODY = {"model": "m", "messages": [{"role": "user", "content": "Is water wet? " * 40}], "max_tokens": 100}

Call = Callable[[], Awaitable[object]]


class Mock(asyncio.Protocol):
    """Answers every request of this benchmark after the latency; each is one write, so its end is known."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """A request, or its rest: the body ends it."""
        if data.endswith(b"}"):
            asyncio.get_running_loop().call_later(LATENCY_S, self._transport.write, ANSWER)  # type: ignore[attr-defined]


def serve(pipe: Connection) -> None:
    """Serve until killed; the port goes into the pipe."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Mock, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def cpu_ms() -> float:
    """CPU of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1000


async def measure(call: Call, in_flight: int) -> float:
    """Milliseconds of CPU a call, after a round in which every connection was opened."""

    async def repeat(times: int) -> None:
        for _ in range(times):
            await call()

    await asyncio.gather(*[repeat(1) for _ in range(in_flight)])
    started = cpu_ms()
    times = max(1, CALLS // in_flight)
    await asyncio.gather(*[repeat(times) for _ in range(in_flight)])
    return (cpu_ms() - started) / (times * in_flight)


def posting(http_client: httpx2.AsyncClient, url: str) -> Call:
    """The call that the adapter makes."""
    sdk = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0, timeout=60, http_client=http_client)

    async def call() -> object:
        return await sdk.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            body=BODY,
            options={"headers": {"x-evalq-call": "k"}},
        )

    return call


def plain(url: str) -> Call:
    """Our transport without an SDK."""

    async def call() -> object:
        return await client.send(client.build_request("POST", url, json=BODY, timeout=60))

    return call


async def compare(url: str) -> bool:
    """Print a row for each number of calls in flight; return whether ours meets the target."""
    is_met = True
    print(f"{'in flight':>9} {'ours':>8} {'httpx2':>8} {'ratio':>6} {'no SDK':>8}   (ms of CPU a call)")
    for in_flight in IN_FLIGHT:
        ours = await measure(posting(client, url), in_flight)
        bare = await measure(plain(url + "/chat/completions"), in_flight)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(limits=limits) as other:
            theirs = await measure(posting(other, url), in_flight)
        print(f"{in_flight:9} {ours:8.2f} {theirs:8.2f} {theirs / ours:5.1f}x {bare:8.2f}")
        is_met = is_met and ours <= TARGET_MS
    return is_met


def main() -> int:
    """Start the mock, compare, stop it; 1 if a call takes more than the target."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    mock = context.Process(target=serve, args=(its,), daemon=True)
    mock.start()
    try:
        is_met = asyncio.run(compare(f"http://127.0.0.1:{ours.recv()}/v1"))
    finally:
        mock.kill()
        mock.join()
    print(f"target: {TARGET_MS} ms a call, {'met' if is_met else 'missed'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
