"""Alerts on their way: at least once to every channel, tried again, given up, and never a secret in a row."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.alert_channels import AlertChannel, Slack, Webhook
from evalq.drift.alerts import are_due, deliver
from evalq.store.alerts import raise_alert
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]

SECRET = "s3cr3t-t0ken"


class Hook:
    """A webhook on loopback that answers as it is told and keeps what it gets."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.got: list[tuple[str, dict[str, str], Any]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                hook.got.append((self.path, headers, json.loads(body)))
                self.send_response(hook.statuses.pop(0) if hook.statuses else 200)
                self.send_header("location", f"http://127.0.0.1:{hook.port}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()
    thread = threading.Thread(target=hook.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield hook
    hook.server.shutdown()
    thread.join()
    hook.server.server_close()


@pytest.fixture
def channels(hook: Hook) -> list[AlertChannel]:
    return [AlertChannel(webhook=Webhook(url=hook.url, allow_private=True))]


def alert(db: Database, key: str = "drift/1") -> bool:
    with db.transaction() as tx:
        return raise_alert(tx, key=key, text="P0 DRIFT: …\nrun 7", document={"kind": "drift", "run_id": 7})


def make_due(sql: Sql) -> None:
    sql("UPDATE alert_deliveries SET not_before = now()")


def test_an_alert_arrives_once_with_its_document(db: Database, sql: Sql, hook: Hook, channels: Any) -> None:
    assert alert(db)
    assert are_due(db, channels)
    assert deliver(db, channels, {}) == 1
    assert deliver(db, channels, {}) == 0
    ((path, headers, document),) = hook.got
    assert (path, headers["content-type"]) == ("/hook", "application/json")
    assert headers["host"] == f"127.0.0.1:{hook.port}"
    assert (document["schema"], document["key"], document["run_id"]) == ("evalq.alert/1", "drift/1", 7)
    assert document["text"].startswith("P0 DRIFT")
    assert sql("SELECT channel, state, attempts, last_error FROM alert_deliveries") == [
        ("webhook", "sent", 1, None)
    ]


def test_the_same_event_is_one_alert(db: Database, hook: Hook, channels: Any) -> None:
    assert [alert(db), alert(db), alert(db, "drift/2")] == [True, False, True]
    assert deliver(db, channels, {}) == 2
    assert [document["key"] for _, _, document in hook.got] == ["drift/1", "drift/2"]


def test_several_deliverers_at_once_send_it_once(
    db: Database, hook: Hook, channels: Any, at_once: Callable[..., list[Any]]
) -> None:
    alert(db)
    assert sorted(at_once(lambda: deliver(db, channels, {}), 4)) == [0, 0, 0, 1]
    assert len(hook.got) == 1


def test_what_does_not_arrive_is_tried_again_with_growing_waits(
    db: Database, sql: Sql, hook: Hook, channels: Any
) -> None:
    alert(db)
    hook.statuses = [500, 503]
    waits = []
    for _ in range(2):
        assert deliver(db, channels, {}) == 0
        assert deliver(db, channels, {}) == 0  # not due yet
        waits += sql("SELECT round(extract(epoch FROM not_before - now())) FROM alert_deliveries")
        make_due(sql)
    assert [int(seconds) for (seconds,) in waits] == [15, 30]
    assert sql("SELECT state, last_error FROM alert_deliveries") == [("pending", "it was answered with 503")]
    assert deliver(db, channels, {}) == 1
    assert sql("SELECT state, attempts, last_error FROM alert_deliveries") == [("sent", 3, None)]
    assert len(hook.got) == 3


def test_after_a_day_it_is_given_up(db: Database, sql: Sql, hook: Hook, channels: Any) -> None:
    alert(db)
    hook.statuses = [500, 500]
    deliver(db, channels, {})
    sql("UPDATE alerts SET raised_at = now() - interval '25 hours'")
    make_due(sql)
    deliver(db, channels, {})
    make_due(sql)
    assert deliver(db, channels, {}) == 0
    assert sql("SELECT state, attempts FROM alert_deliveries") == [("failed", 2)]


def test_an_alert_of_last_week_is_not_sent_to_a_channel_added_today(
    db: Database, sql: Sql, hook: Hook, channels: Any
) -> None:
    alert(db)
    sql("UPDATE alerts SET raised_at = now() - interval '7 days'")
    assert not are_due(db, channels)
    assert hook.got == []


def test_a_private_address_is_refused_unless_allowed(db: Database, sql: Sql, hook: Hook) -> None:
    alert(db)
    by_name = f"https://localhost:{hook.port}/hook"
    assert deliver(db, [AlertChannel(webhook=Webhook(url=by_name))], {}) == 0
    assert "private" in sql("SELECT last_error FROM alert_deliveries")[0][0]
    assert hook.got == []


def test_a_redirect_is_not_followed(db: Database, sql: Sql, hook: Hook, channels: Any) -> None:
    alert(db)
    hook.statuses = [307]
    assert deliver(db, channels, {}) == 0
    assert [path for path, _, _ in hook.got] == ["/hook"]
    assert sql("SELECT last_error FROM alert_deliveries") == [("it was answered with 307",)]


def test_one_channel_that_is_down_does_not_hold_up_another(
    db: Database, sql: Sql, hook: Hook, channels: Any
) -> None:
    alert(db)
    nobody = AlertChannel(webhook=Webhook(url="http://127.0.0.1:9/", allow_private=True))
    assert deliver(db, [nobody, *channels], {}) == 1
    states = dict(sql("SELECT channel, state FROM alert_deliveries"))
    assert states == {"webhook": "pending", "webhook-2": "sent"}


def test_a_command_gets_the_document_and_nothing_of_evalqs(db: Database, tmp_path: Path) -> None:
    alert(db)
    told = tmp_path / "told"
    script = "import os,sys; open(sys.argv[1],'w').write(sys.stdin.read() + repr(sorted(os.environ)))"
    channel = AlertChannel(command=[sys.executable, "-c", script, str(told)])
    assert deliver(db, [channel], {"EVALQ_DATABASE_URL": SECRET, "PAGER": "7"}) == 1
    text = told.read_text("utf-8")
    assert '"run_id": 7' in text
    assert "EVALQ_DATABASE_URL" not in text
    assert "PAGER" in text


def test_no_secret_is_in_a_row_or_a_log(
    db: Database, sql: Sql, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    alert(db)
    environ = {
        "HOOK": f"{hook.url}/{SECRET}",
        "TOKEN": f"Bearer {SECRET}",
        "SLACK": f"https://localhost/{SECRET}",
    }
    channels = [
        AlertChannel(
            webhook=Webhook(url_env="HOOK", headers_env={"Authorization": "TOKEN"}, allow_private=True)
        ),
        AlertChannel(slack=Slack(url_env="SLACK")),
        AlertChannel(webhook=Webhook(url=f"http://127.0.0.1:9/{SECRET}", allow_private=True)),
    ]
    hook.statuses = [500]
    deliver(db, channels, environ)
    make_due(sql)
    deliver(db, channels, environ)
    assert hook.got[0][0].endswith(SECRET)
    assert hook.got[1][1]["authorization"] == f"Bearer {SECRET}"
    rows = str(sql("SELECT * FROM alerts")) + str(sql("SELECT * FROM alert_deliveries"))
    assert "webhook" in rows
    assert SECRET not in rows
    assert "try 1" in caplog.text
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("evalq")]
    assert not any(SECRET in line for line in ours)
    others = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not any(SECRET in record.getMessage() for record in others)


def test_without_channels_nothing_is_due(db: Database) -> None:
    alert(db)
    assert not are_due(db, [])
    assert deliver(db, [], {}) == 0
