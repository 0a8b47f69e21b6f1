"""Hostile replies to every provider that speaks HTTP: a fault or an answer, each number bounded."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asking import complete
from pydantic import TypeAdapter

from evalq.calling.providers import PROVIDERS, connect
from evalq.calling.providers.throttling import LONGEST_WAIT_S
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt
from evalq.store import calls

LOCAL = ("simulated", "python", "command")
WIRES = [name for name in PROVIDERS if name not in LOCAL]
PROMPT = Prompt("Be brief.", "Is water wet?", 100, CaseContext("t", "c", inputs={"letter": "A"}))
HUGE = (
    "1e308",
    "1e12",
    "9" * 400,
    "-1e308",
    "nan",
    "inf",
    "1e999",
    "\u0661",
    "Fri, 31 Dec 9999 23:59:59 GMT",
)
NUMBERS = (10**30, -1, 1e308, True, "12", None, [], {"deep": {"deeper": 2**63}})

_OPENAI_REPLY = {"choices": [{"message": {"content": "wet"}, "finish_reason": "stop"}]}
_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
_GOOGLE_USAGE = {"promptTokenCount": 0, "candidatesTokenCount": 0, "thoughtsTokenCount": 0}
REPLIES: dict[str, tuple[dict[str, Any], str, dict[str, int]]] = {
    "openai": (_OPENAI_REPLY, "usage", _USAGE),
    "xai": (_OPENAI_REPLY, "usage", _USAGE),
    "http": (_OPENAI_REPLY, "usage", _USAGE),
    "anthropic": (
        {"content": [{"type": "text", "text": "wet"}], "stop_reason": "end_turn"},
        "usage",
        {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
    ),
    "google": (
        {"candidates": [{"content": {"parts": [{"text": "wet"}]}, "finishReason": "STOP"}]},
        "usageMetadata",
        _GOOGLE_USAGE,
    ),
}


class Server(ThreadingHTTPServer):
    """Answers every request with the same reply."""

    daemon_threads = True
    status: int = 200
    headers: dict[str, str]
    body: bytes = b""


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def ask(
    server: Server, provider: str, status: int, body: object, headers: dict[str, str] | None = None
) -> Completion | ProviderFault:
    server.status, server.headers = status, headers or {}
    server.body = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"http://127.0.0.1:{server.server_port}"
    config: dict[str, Any] = {"name": "m", "provider": provider, "deadline_s": 30.0, "api_key_env": "KEY"}
    if provider == "http":
        config |= {"url": url, "body": {"q": "{user}"}, "answer": "$.choices[0].message.content"}
    else:
        config |= {"model": "m", "base_url": url}
    judge = TypeAdapter[JudgeConfig](JudgeConfig).validate_python(config)
    try:
        return complete(connect(judge, {"KEY": "sk-fake-0123456789"}), PROMPT)
    except ProviderFault as fault:
        return fault


def assert_bounded(found: Completion | ProviderFault) -> None:
    """Whatever a reply says, the store and the limiter can hold it."""
    if isinstance(found, ProviderFault):
        assert 0 <= (found.retry_after_s or 0) <= LONGEST_WAIT_S
        json.dumps(calls.failed(found), allow_nan=False)
    else:
        settlement = calls.answered(found)
        assert 0 <= settlement["input_tokens"] < 2**31
        assert 0 <= settlement["output_tokens"] < 2**31
        for column in ("usage", "tool_calls"):
            json.loads(settlement[column] or "{}", parse_constant=pytest.fail)
    for limit in vars(found.rate_hints).values() if found.rate_hints else ():
        assert limit is None or 1 <= limit <= 10**9


every_wire = pytest.mark.parametrize("provider", WIRES)


def test_every_provider_is_in_this_table() -> None:
    assert sorted(REPLIES) == sorted(WIRES)


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("status", [429, 503])
@every_wire
def test_no_header_makes_a_wait_without_end(server: Server, provider: str, status: int, value: str) -> None:
    names = ("retry-after", "retry-after-ms", "x-ratelimit-limit-requests", "x-ratelimit-limit-tokens")
    names += ("anthropic-ratelimit-requests-limit", "x-ratelimit-reset-requests")
    names += ("anthropic-ratelimit-requests-reset",)
    for name in names:
        remaining = {"x-ratelimit-remaining-requests": "0", "anthropic-ratelimit-requests-remaining": "0"}
        text = value.encode("utf-8").decode("latin-1")
        found = ask(server, provider, status, {"error": {"message": "x"}}, remaining | {name: text})
        assert isinstance(found, ProviderFault)
        assert found.kind == ("rate" if status == 429 else "transient")
        assert_bounded(found)


@every_wire
def test_no_body_makes_a_wait_without_end(server: Server, provider: str) -> None:
    for delay in ("999999999s", "1e308s", "-5s", "s", 7, None, "9" * 500 + "s"):
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
        body = {"error": {"message": "try again in 999999999s", "details": details}}
        found = ask(server, provider, 429, body)
        assert isinstance(found, ProviderFault)
        assert found.kind == "rate"
        assert_bounded(found)


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@every_wire
def test_no_usage_is_too_large_to_store(server: Server, provider: str, number: object) -> None:
    reply, name, counts = REPLIES[provider]
    found = ask(server, provider, 200, {**reply, name: dict.fromkeys(counts, number)})
    assert isinstance(found, Completion)
    assert found.text == "wet"
    assert_bounded(found)


@every_wire
def test_a_number_that_is_too_large_for_json_does_not_lose_the_answer(server: Server, provider: str) -> None:
    reply, name, _ = REPLIES[provider]
    for number in (b"1e999", b"-1e999", b"9" * 5000):
        body = json.dumps({**reply, name: {"n": 0}}).encode().replace(b'{"n": 0}', b'{"n": ' + number + b"}")
        found = ask(server, provider, 200, body)
        assert isinstance(found, Completion)
        assert_bounded(found)


@pytest.mark.parametrize("arguments", ['{"a": NaN}', '{"a": 1e999}', "[" * 5000, '{"a": "\\u0000"}'])
def test_no_argument_of_a_tool_is_impossible_to_store(server: Server, arguments: str) -> None:
    message = {"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    found = ask(server, "openai", 200, {"choices": [{"message": message}]})
    assert isinstance(found, Completion)
    assert_bounded(found)


ERRORS = [
    ({"error": {"code": 429, "message": "slow down, try again in 2s"}}, "rate"),
    ({"error": {"code": "429", "message": "slow down"}}, "rate"),
    ({"error": {"type": "overloaded_error", "message": "busy"}}, "transient"),
    ({"error": {"code": 503, "message": "no instance"}}, "transient"),
    ({"error": {"code": 402, "message": "no credits"}}, "fatal"),
    ({"error": {"code": 401, "message": "who?"}}, "fatal"),
    ({"error": {"type": "server_error", "message": "oops"}}, "ambiguous"),
    ({"error": {"message": "the model does not exist"}}, "permanent"),
    ({"error": "the model does not exist"}, "permanent"),
]


@pytest.mark.parametrize(("body", "kind"), ERRORS)
@every_wire
def test_an_error_in_an_answer_of_200_is_that_error(
    server: Server, provider: str, body: object, kind: str
) -> None:
    found = ask(server, provider, 200, body)
    assert isinstance(found, ProviderFault)
    assert found.kind == kind
    assert "cannot be read" not in found.message


@every_wire
def test_an_answer_beside_an_empty_error_is_an_answer(server: Server, provider: str) -> None:
    for nothing in (None, {}, ""):
        found = ask(server, provider, 200, {**REPLIES[provider][0], "error": nothing})
        assert isinstance(found, Completion)
        assert found.text == "wet"


ACCOUNTS = [
    (400, {"type": "invalid_request_error", "details": {"error_code": "enforced_spend_limit_reached"}}),
    (403, {"type": "permission_error", "details": {"error_code": "organization_on_hold"}}),
    (429, {"code": "billing_hard_limit_reached"}),
    (429, {"type": "insufficient_quota"}),
    (429, {"status": "RESOURCE_EXHAUSTED", "message": "Your project has exceeded its monthly spending cap."}),
    (403, {"status": "PERMISSION_DENIED", "details": [{"reason": "BILLING_DISABLED"}]}),
]


@pytest.mark.parametrize(("status", "error"), ACCOUNTS, ids=str)
@every_wire
def test_a_fault_of_the_account_is_known_by_its_code(
    server: Server, provider: str, status: int, error: dict[str, Any]
) -> None:
    found = ask(server, provider, status, {"error": {"message": "A plain sentence.", **error}})
    assert isinstance(found, ProviderFault)
    assert found.kind == "fatal"
    assert "no credit or quota left" in found.message


@every_wire
def test_a_moderated_prompt_is_the_cases_and_not_the_judges(server: Server, provider: str) -> None:
    metadata = {"reasons": ["violence"], "flagged_input": "Is water", "provider_name": "acme"}
    found = ask(server, provider, 403, {"error": {"code": 403, "message": "flagged", "metadata": metadata}})
    assert isinstance(found, ProviderFault)
    assert found.kind == "permanent"


@every_wire
def test_an_input_of_one_letter_hides_no_message(server: Server, provider: str) -> None:
    found = ask(server, provider, 404, {"error": {"message": "A model named m does not exist"}})
    assert isinstance(found, ProviderFault)
    assert "A model named m does not exist" in found.message
