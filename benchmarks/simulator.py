"""How quick the provider simulator is: requests a second and CPU per request, loaded from another process."""

import multiprocessing
import selectors
import socket
import sys
from json import dumps
from urllib.parse import urlsplit

import psutil

from evalq.engines.simulator.process import Simulator, running_simulator

N_REQUESTS, N_CONNECTIONS = 40_000, 64
GOAL_PER_S = 3000
PROMPT = "Which of these two statements is wrong? " * 40


def requests() -> dict[str, bytes]:
    """One request of each protocol, as bytes."""
    said = [{"role": "user", "content": PROMPT}]
    openai = {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, *said], "max_tokens": 64}
    anthropic = {"model": "m", "system": "Be brief.", "messages": said, "max_tokens": 64}
    gemini = {"contents": [{"role": "user", "parts": [{"text": PROMPT}]}]}
    return {
        "openai": _request("/v1/chat/completions", openai),
        "anthropic": _request("/v1/messages", anthropic),
        "gemini": _request("/v1beta/models/m:generateContent", gemini),
    }


def _request(path: str, document: object) -> bytes:
    body = dumps(document).encode()
    headers = (
        "host: 127.0.0.1\r\naccept: application/json\r\naccept-encoding: gzip, deflate\r\n"
        "user-agent: load\r\ncontent-type: application/json\r\nauthorization: Bearer sk-load\r\n"
        "x-evalq-call: 1234-1\r\n"
    )
    return f"POST {path} HTTP/1.1\r\n{headers}content-length: {len(body)}\r\n\r\n".encode() + body


def load(url: str, request: bytes, total: int) -> None:
    """Keep every connection busy with one request at a time until `total` are answered."""
    place = urlsplit(url)
    selector, left = selectors.DefaultSelector(), total
    for _ in range(N_CONNECTIONS):
        client = socket.create_connection((place.hostname or "", place.port or 0))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(client, selectors.EVENT_READ)
        client.sendall(request)
    while left > 0:
        for key, _ in selector.select():
            answering = key.fileobj
            assert isinstance(answering, socket.socket)
            assert answering.recv(65_536).startswith(b"HTTP/1.1 200 "), "not an answer"
            left -= 1
            answering.sendall(request)


def measure(sim: Simulator, name: str, request: bytes) -> float:
    """Print one protocol's line; returns its requests a second."""
    process = psutil.Process(sim.pid)
    before, cpu_s = sim.ledger()["requests"], sum(process.cpu_times()[:2])
    client = multiprocessing.get_context("spawn").Process(target=load, args=(sim.url, request, N_REQUESTS))
    client.start()
    client.join()
    if client.exitcode:
        sys.exit(f"the load ended with code {client.exitcode}")
    cpu_s = sum(process.cpu_times()[:2]) - cpu_s
    calls = sim.calls(before)
    rate = len(calls) / (calls[-1]["at"] - calls[0]["at"])
    print(f"{name:<10} {rate:8,.0f} requests/s   {cpu_s * 1000 / len(calls):.3f} ms CPU each")
    return float(rate)


def main() -> None:
    """All protocols, one after another."""
    with running_simulator() as sim:
        rates = [measure(sim, name, request) for name, request in requests().items()]
    verdict = "at least" if min(rates) >= GOAL_PER_S else "LESS than"
    print(f"{verdict} the {GOAL_PER_S:,} requests/s it must serve, {N_CONNECTIONS} connections")


if __name__ == "__main__":
    main()
