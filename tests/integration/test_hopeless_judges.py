"""A judge that cannot work is paused with the reason, after a few calls; the others go on."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import redis

from evalq.bakeoff.progress import read_progress
from evalq.definitions.judge import OpenAIJudge, Price
from evalq.store import jobs
from evalq.store.database import Database
from workers.connections import Connections
from workers.jobs import work

Sql = Callable[..., list[tuple[Any, ...]]]


class Server(ThreadingHTTPServer):
    """Gives its replies one after the other, the last one for ever."""

    daemon_threads = True
    replies: list[tuple[int, object, dict[str, str]]]
    count = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.count += 1
        place = min(self.server.count, len(self.server.replies)) - 1
        status, body, headers = self.server.replies[place]
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"content-length": str(len(data))} | headers).items():
            self.send_header(name, value)
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


def judge_at(port: int) -> OpenAIJudge:
    price = Price(input=Decimal(0), output=Decimal(0))
    return OpenAIJudge(
        name="local", provider="openai", model="m", base_url=f"http://127.0.0.1:{port}/v1", price=price
    )


@pytest.fixture
def run_jobs(
    here: Connections,
    runner: asyncio.Runner,
    db: Database,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
) -> Callable[[int, int], int]:
    """Records a bake-off of one judge at a port and works on so many of its jobs; returns its id."""

    def run(port: int, n_jobs: int) -> int:
        bakeoff_id = record(20, [judge_at(port)])
        for job_id in job_ids(bakeoff_id)[:n_jobs]:
            job = jobs.claim(db, job_id, lease_s=60)
            if job is not None:
                runner.run(work(here, job))
        return bakeoff_id

    return run


def said(error: dict[str, Any]) -> list[tuple[int, object, dict[str, str]]]:
    return [(404, {"error": error}, {})]


def test_a_wrong_model_name_pauses_the_judge_with_the_providers_sentence(
    server: Server, run_jobs: Callable[[int, int], int], sql: Sql
) -> None:
    server.replies = said({"message": "The model `m` does not exist", "code": "model_not_found"})
    run_jobs(server.server_port, 9)
    [(state, reason)] = sql("SELECT state, pause_reason FROM runs")
    assert state == "paused"
    assert "The model `m` does not exist" in reason
    assert "evalq resume" in reason
    assert server.count == 5


def test_answers_that_are_all_cut_off_pause_the_judge_with_the_remedy(
    server: Server, run_jobs: Callable[[int, int], int], sql: Sql
) -> None:
    cut = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}
    server.replies = [(200, cut, {})]
    run_jobs(server.server_port, 9)
    [(state, reason)] = sql("SELECT state, pause_reason FROM runs")
    assert state == "paused"
    assert "max_tokens" in reason
    assert server.count == 5


def test_one_answer_among_errors_keeps_the_judge_going(
    server: Server, run_jobs: Callable[[int, int], int], sql: Sql
) -> None:
    fine = {"choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}]}
    server.replies = [(200, fine, {}), *said({"message": "too long"})]
    run_jobs(server.server_port, 9)
    assert sql("SELECT state FROM runs") == [("running",)]
    assert sql("SELECT count(*) FROM outcomes") == [(9,)]


def test_moderated_prompts_are_the_cases_and_never_pause_the_judge(
    server: Server, run_jobs: Callable[[int, int], int], sql: Sql
) -> None:
    error = {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}
    server.replies = [(403, {"error": error}, {})]
    run_jobs(server.server_port, 9)
    assert sql("SELECT state FROM runs") == [("running",)]


def test_a_dead_server_is_named_at_once_and_pauses_its_judge(
    run_jobs: Callable[[int, int], int], db: Database, valkey: "redis.Redis", sql: Sql
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = closed.getsockname()[1]
        bakeoff_id = run_jobs(port, 1)
        [judge] = read_progress(db, bakeoff_id).judges
        assert judge.note
        assert f"127.0.0.1:{port}" in judge.note
        assert "refused" in judge.note
        key = f"evalq:gate:{judge_at(port).gate}"
        valkey.hset(key, mapping={"failing_since": 1, "open_until": 0})
        run_jobs(port, 1)
    [(state, reason)] = sql("SELECT state, pause_reason FROM runs ORDER BY id DESC LIMIT 1")
    assert state == "paused"
    assert f"127.0.0.1:{port}" in reason
    assert "no call has been answered" in reason
    assert sql("SELECT count(*) FROM jobs WHERE state = 'done' AND run_id = (SELECT max(id) FROM runs)") == [
        (0,)
    ]


@pytest.mark.parametrize("value", ["1e308", "1e12", "999999999"])
def test_no_retry_after_can_stop_a_bake_off(
    server: Server, run_jobs: Callable[[int, int], int], sql: Sql, value: str
) -> None:
    server.replies = [(429, {"error": {"message": "slow down"}}, {"retry-after": value})]
    run_jobs(server.server_port, 1)
    [(state, is_soon)] = sql(
        "SELECT state, not_before < now() + interval '301 seconds' FROM jobs ORDER BY id LIMIT 1"
    )
    assert (state, is_soon) == ("ready", True)


def test_throttled_again_and_again_a_case_is_still_answered(
    here: Connections,
    runner: asyncio.Runner,
    db: Database,
    server: Server,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    sql: Sql,
    valkey: "redis.Redis",
) -> None:
    fine = {"choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}]}
    server.replies = [(429, {"error": {"message": "slow down"}}, {"retry-after": "30"})] * 20
    server.replies.append((200, fine, {}))
    [job_id] = job_ids(record(1, [judge_at(server.server_port)]))
    for _ in range(21):
        sql("UPDATE jobs SET not_before = '-infinity' WHERE id = %s", job_id)
        valkey.flushdb()  # the closure is over
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        runner.run(work(here, job))
    assert sql("SELECT verdict FROM outcomes") == [("failed",)]
    assert server.count == 21


def test_a_server_that_answers_503_is_named_with_its_port(
    server: Server, run_jobs: Callable[[int, int], int], db: Database
) -> None:
    server.replies = [(503, {"error": {"message": "loading"}}, {})]
    bakeoff_id = run_jobs(server.server_port, 1)
    [judge] = read_progress(db, bakeoff_id).judges
    assert judge.note == f"openai at 127.0.0.1:{server.server_port} answered 503"
