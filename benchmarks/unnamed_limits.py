"""Servers that limit requests and never say how: a bake-off must learn the pace, use it, and lose no case."""

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.echo_project import TASK, clean_environment, write_cases

LATENCY_S = 0.2
BURST_S = 2.0


class LimitedServer(ThreadingHTTPServer):
    """A token bucket in front of a model; `form` is how a 429 says when to come back, if at all."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, rpm: int, form: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rpm, self.form = rpm, form
        self.answered: list[float] = []
        self.throttled: list[float] = []
        self._lock = threading.Lock()
        self._capacity = max(rpm / 60 * BURST_S, 1.0)
        self._left, self._at = self._capacity, time.monotonic()

    def admit(self) -> bool:
        """Take one request out of the bucket."""
        with self._lock:
            now = time.monotonic()
            self._left = min(self._capacity, self._left + (now - self._at) * self.rpm / 60)
            self._at = now
            if self._left < 1:
                self.throttled.append(now)
                return False
            self._left -= 1
            self.answered.append(now)
            return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LimitedServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.server.admit():
            time.sleep(LATENCY_S)
            self._send(200, {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})
        elif self.server.form == "retry-after":
            self._send(429, {"error": {"message": "Too many requests"}}, {"retry-after": "1"})
        elif self.server.form == "retry-info":
            details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}]
            error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota", "details": details}
            self._send(429, {"error": error})
        else:
            self._send(429, {"error": {"message": "Too many requests"}})

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"content-length": str(len(data))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serving(rpm: int, form: str) -> Iterator[LimitedServer]:
    """The server, until the block ends."""
    server = LimitedServer(rpm, form)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def measure(folder: Path, *, rpm: int, seconds: int, form: str) -> str:
    """One bake-off of as many cases as the server allows in some seconds, as a line of figures."""
    cases = rpm * seconds // 60
    with serving(rpm, form) as server:
        result = _bake_off(folder, server, cases)
        [run] = result["runs"]
        lost = cases - run["n_pass"] - run["n_fail"]
        took_s = server.answered[-1] - server.answered[0]
        allowed = min(rpm / 60 * (took_s + BURST_S), math.inf)
        used = len(server.answered) / allowed
        throttled = 100 * len(server.throttled) / len(server.answered)
    return (
        f"{rpm} rpm, {form}: {cases} cases in {took_s:.0f} s, {lost} lost, "
        f"{used:.0%} of the allowed rate used, "
        f"{throttled:.1f} 429s per 100 calls"
    )


def _bake_off(folder: Path, server: LimitedServer, cases: int) -> dict[str, Any]:
    (folder / "tasks").mkdir(parents=True)
    (folder / "tasks" / "echo.yaml").write_text(TASK)
    write_cases(folder, cases)
    judge = {
        "provider": "openai",
        "model": "m",
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
        "price": {"input": 0, "output": 0},
    }
    settings = {"judges": {"unnamed": judge}}
    (folder / "evalq.yaml").write_text(json.dumps(settings))
    argv = ["bake-off", "--task", "echo", "--eval-set", "dev", "--judges", "unnamed", "--display", "none"]
    done = subprocess.run(
        [sys.executable, "-m", "evalq", *argv, "--json"],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout))
