"""Regressions from the command line: a tested system over http, captured, compared, its secrets kept."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/suite"
TOKEN = "tok-5f3a9c-secret"
SETTINGS = """\
fleet: {processes: 1, slots: 8}
judges:
  ace: {provider: simulated, model: ace, accuracy: 1.0, time_scale: 0, price: {input: 1, output: 5}}
"""
EVERY_TABLE = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_schema = 'evalq' AND table_type = 'BASE TABLE'"
)


class Orders:
    """The tested system; `body` is what its list of orders says."""

    def __init__(self) -> None:
        order = {"number": "A-1", "placed_at": "2026-02-03T09:00:00Z", "total_cents": 1450}
        self.body: dict[str, Any] = {"orders": [order], "page": {"number": 1, "size": 20, "total": 1}}
        self.body["currency"] = "EUR"
        self.url = ""


@pytest.fixture(scope="module")
def orders() -> Iterator[Orders]:
    system = Orders()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            may = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            echo = {"you": self.headers.get("Authorization", "")}
            data = json.dumps({**system.body, **echo} if may else {"error": "who are you?"}).encode()
            self.send_response(200 if may else 401)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Nothing on the screen."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    system.url = f"http://127.0.0.1:{server.server_port}"
    yield system
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any], orders: Orders) -> Any:
    """The example's folder, the fleet and the command with the variables of the tested system."""
    made = new_project(SETTINGS, EVALQ_VAR_ORDERS_TOKEN=TOKEN, EVALQ_VAR_API_BASE_URL=orders.url)
    shutil.copytree(EXAMPLE, made.folder / "desk")
    return made


API = "desk/regression/api/orders.json"


def test_a_system_is_compared_with_the_baseline_in_its_file(served: Any) -> None:
    done = served.run("baseline", "compare", API)
    assert (done.returncode, done.stdout) == (0, "held reg-orders-api of http [critical]\n"), done.stderr


def test_what_is_captured_is_what_is_compared_from_then_on(served: Any, orders: Orders) -> None:
    captured = served.bake("baseline", "capture", "desk", "--judges", "ace", "--version", "v6")
    assert {(one["eval_id"], one["judge"]) for one in captured["captured"]} == {
        ("reg-orders-api", "http"),
        ("reg-apology-scores", "ace"),
    }
    mirror = json.loads((served.folder / "desk/baselines/reg-orders-api.json").read_text("utf-8"))
    body = mirror["captures"][0]["output"]["body"]
    assert (body["currency"], body["orders"][0]["total_cents"]) == ("EUR", "{{any_number}}")
    orders.body["orders"][0]["total_cents"] = 1600
    orders.body["currency"] = "USD"
    worse = served.bake("baseline", "compare", "desk", "--judges", "ace", code=1)
    (api,) = [one for one in worse["comparisons"] if one["eval_id"] == "reg-orders-api"]
    assert (api["status"], api["failure_count"]) == ("failed", 1)
    assert "body.currency" in api["reason"]
    assert "total_cents" not in api["reason"]
    inline = served.run("baseline", "compare", "desk", "--judges", "ace", "--inline")
    assert inline.returncode == 0, inline.stderr


def test_baselines_are_shown_with_how_they_have_done(served: Any) -> None:
    rows = {row["eval_id"]: row for row in served.bake("baseline", "show", "desk")["baselines"]}
    assert (rows["reg-orders-api"]["source"], rows["reg-orders-api"]["version"]) == ("captured", "v6")
    assert rows["reg-orders-api"]["failure_count"] == 1
    assert rows["reg-orders-api"]["last_passed"] > "2026-02-03"
    assert rows["reg-apology-scores"]["criticality"] == "high"


def test_a_system_that_cannot_be_reached_is_unknown_not_worse(served: Any) -> None:
    done = served.run("baseline", "compare", API, "--var", "api_base_url=http://127.0.0.1:9")
    assert (done.returncode, done.stdout.split()[0]) == (3, "unknown"), done.stderr


def test_the_secret_of_a_request_is_in_no_table_no_file_and_no_log(served: Any) -> None:
    for (table,) in served.rows(EVERY_TABLE):
        assert served.rows(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', f"%{TOKEN}%") == [
            (0,)
        ], table
    logs = [path for path in (served.folder / ".evalq").rglob("*.log") if path.is_file()]
    for path in [*logs, *(served.folder / "desk").rglob("*.json")]:
        assert TOKEN not in path.read_text("utf-8", errors="replace"), path
    assert served.rows("SELECT count(*) FROM completions WHERE answer LIKE '%{{orders_token}}%'") != [(0,)]
