"""A judge whose server refuses every call is paused with its sentence, and resumed once that is mended."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

N_CASES = 20
SENTENCE = "The model `m` does not exist"
WRONG_MODEL = (404, {"error": {"message": SENTENCE, "code": "model_not_found"}})
ANSWER = (
    200,
    {
        "choices": [{"message": {"content": "capital 1"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    },
)


class Server(ThreadingHTTPServer):
    """Gives one reply to every call, and counts the calls."""

    daemon_threads = True
    reply: tuple[int, object] = WRONG_MODEL
    count = 0
    lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        with self.server.lock:
            self.server.count += 1
        status, body = self.server.reply
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def own_project(new_project: Callable[..., Any], server: Server) -> Any:
    """A project whose only judge is asked one case at a time."""
    judge = {
        "provider": "openai",
        "model": "m",
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
        "concurrency": 1,
        "price": {"input": 1, "output": 5},
    }
    settings = {"fleet": {"processes": 1, "slots": 4}, "judges": {"local": judge}}
    project = new_project(json.dumps(settings))
    project.write_cases("dev-20", N_CASES)
    return project


def test_a_hopeless_judge_is_paused_and_once_mended_resumed_until_every_case_is_answered(
    own_project: Any, server: Server
) -> None:
    bake = ("bake-off", "--task", "capitals", "--eval-set", "dev-20", "--judges", "local")
    [paused] = own_project.bake(*bake, code=3)["runs"]
    assert paused["excluded"].startswith("paused: ")
    assert SENTENCE in paused["excluded"]
    n_refused = server.count
    assert 5 <= n_refused < N_CASES
    server.reply = ANSWER
    resumed = own_project.bake("resume", "last")
    [run] = resumed["runs"]
    assert (resumed["state"], resumed["partial"], run["excluded"]) == ("concluded", False, None)
    assert (run["n_pass"], run["n_fail"], run["n_error"]) == (1, N_CASES - 1, 0)
    assert server.count == n_refused + N_CASES
    assert own_project.rows("SELECT count(*) FROM completions") == [(N_CASES,)]
    assert own_project.rows("SELECT count(*) FROM superseded_outcomes") == [(n_refused,)]
