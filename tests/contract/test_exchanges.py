"""Requests that cases name themselves: what reaches the tested system, and what is kept of its response."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asking import complete
from pydantic import TypeAdapter

from evalq.calling.providers import connect
from evalq.definitions.judge import HttpJudge, JudgeConfig
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Prompt

TOKEN = "s3cret-token"
ENVIRON = {"EVALQ_VAR_TEST_TOKEN": TOKEN}


class System:
    """A tested system that notes what it was sent and says what it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.body = b'{"users": []}'
        self.headers = {"Content-Type": "application/json; charset=utf-8", "Set-Cookie": "sid=1"}
        self.seen: dict[str, Any] = {}


@pytest.fixture
def system() -> Iterator[System]:
    told = System()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            told.seen = {"line": self.requestline, "headers": headers, "body": self.rfile.read(size)}
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(told.body)))
            self.end_headers()
            self.wfile.write(told.body)

        do_POST = do_PATCH = do_GET  # noqa: N815 - the handler's own names

        def log_message(self, *args: object) -> None:
            """Nothing on the screen."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}"
    yield told
    server.shutdown()
    server.server_close()
    thread.join()


def judge(url: str, **fields: Any) -> JudgeConfig:
    variables = {"test_token": "EVALQ_VAR_TEST_TOKEN"}
    written = {"provider": "http", "name": "api", "url": url, "exchange": True, "variables_env": variables}
    return TypeAdapter(JudgeConfig).validate_python(written | fields)


def ask(config: JudgeConfig, request: Any) -> Any:
    inputs = {"prompt": "", **({} if request is None else {"request": request})}
    prompt = Prompt("", "GET /", 64, CaseContext("t", "c", inputs=inputs))
    return json.loads(complete(connect(config, ENVIRON), prompt).text)


def test_a_case_names_its_method_path_query_headers_and_body(system: System) -> None:
    request = {
        "method": "PATCH",
        "path": "/v1/users/{{test_token}}",
        "query": {"page": 2, "q": "a b"},
        "headers": {"Authorization": "Bearer {{test_token}}"},
        "body": {"key": "{{TEST_TOKEN}}", "n": 1},
    }
    ask(judge(system.url + "/api/"), request)
    assert system.seen["line"] == f"PATCH /api/v1/users/{TOKEN}?page=2&q=a+b HTTP/1.1"
    assert system.seen["headers"]["authorization"] == f"Bearer {TOKEN}"
    assert json.loads(system.seen["body"]) == {"key": TOKEN, "n": 1}


def test_the_whole_response_is_the_answer(system: System) -> None:
    assert ask(judge(system.url), {"method": "GET", "path": "/users"}) == {
        "status": 200,
        "headers": {"content-type": "application/json; charset=utf-8"},
        "body": {"users": []},
    }


@pytest.mark.parametrize(("body", "read"), [(b"", None), (b"<h1>no</h1>", "<h1>no</h1>"), (b"[1]", [1])])
def test_an_error_page_is_an_answer_too(system: System, body: bytes, read: Any) -> None:
    system.status, system.body = 500, body
    answer = ask(judge(system.url), {"path": "/users"})
    assert (answer["status"], answer["body"]) == (500, read)


def test_a_redirect_is_not_followed(system: System) -> None:
    system.status, system.headers = 302, {"Location": "http://127.0.0.1:1/"}
    answer = ask(judge(system.url), {"path": "/users"})
    assert (answer["status"], answer["headers"]["location"]) == (302, "http://127.0.0.1:1/")


def test_a_secret_that_comes_back_is_not_kept(system: System) -> None:
    system.body = json.dumps({"echo": f"Bearer {TOKEN}"}).encode()
    answer = ask(judge(system.url), {"path": "/", "headers": {"Authorization": "Bearer {{test_token}}"}})
    assert answer["body"] == {"echo": "Bearer {{test_token}}"}


@pytest.mark.parametrize("path", ["@evil.example/x", "//evil.example/x", ":1/x", ".evil.example/", "x"])
def test_a_path_cannot_lead_to_another_system(system: System, path: str) -> None:
    config = judge(system.url)
    with pytest.raises(ProviderFault, match="permanent: "):
        ask(config, {"path": path})
    assert system.seen == {}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (None, "this case names none"),
        ({"method": "TRACE", "path": "/"}, "cannot be 'TRACE'"),
        ({"path": "/", "headers": {"Host": "evil.example"}}, "the header 'Host'"),
        ({"path": "/", "headers": {"X": "a\r\nb"}}, "the header 'X'"),
        ({"path": "/{{unknown}}"}, "set EVALQ_VAR_UNKNOWN"),
    ],
)
def test_a_request_that_cannot_be_sent_says_why(system: System, request_: Any, message: str) -> None:
    with pytest.raises(ProviderFault, match=message) as caught:
        ask(judge(system.url), request_)
    assert caught.value.kind == "permanent"
    assert system.seen == {}


def test_a_variable_that_is_not_set_stops_the_judge(system: System) -> None:
    config = judge(system.url, variables_env={"other": "EVALQ_VAR_OTHER"})
    with pytest.raises(ProviderFault, match="set EVALQ_VAR_OTHER") as caught:
        ask(config, {"path": "/"})
    assert caught.value.kind == "fatal"


def test_judges_without_exchanges_are_stored_as_before() -> None:
    config = HttpJudge(name="a", provider="http", url="http://127.0.0.1:1")
    assert not {"exchange", "variables_env"} & config.model_dump().keys()
