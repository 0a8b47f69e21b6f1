"""What reaches the wire: the parameters each provider takes, and nothing it would refuse."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asking import complete
from pydantic import TypeAdapter

from evalq.calling.providers import connect
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt

SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}, "additionalProperties": False}
ABOUT = CaseContext("t", "c", inputs={"question": "how {many}?", "hits": ["a", "b"]})
PLAIN = Prompt("Be brief.", "Hello", 64, ABOUT)
FULL = Prompt("Be brief.", "Hello", 64, ABOUT, temperature=0.0, reply_schema=SCHEMA)
REPLIES = {
    "/chat/completions": {"choices": [{"message": {"content": "hi"}}]},
    "/messages": {"content": [{"type": "text", "text": "hi"}]},
    ":generateContent": {"candidates": [{"content": {"parts": [{"text": "hi"}]}}]},
}


class Captured:
    """The requests a server was sent, and what it answers to a path that is none of a provider's."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.reply: Any = {"answer": "hi"}
        self.path = ""
        self.headers: dict[str, str] = {}
        self.body: Any = None


@pytest.fixture
def wire() -> Iterator[Captured]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            captured.path = self.path
            captured.headers = {name.lower(): value for name, value in self.headers.items()}
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            captured.body = json.loads(data) if data else None
            reply = next((r for end, r in REPLIES.items() if self.path.endswith(end)), captured.reply)
            answer = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.send_header("set-cookie", "crumb=1")
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            self.do_POST()

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    captured = Captured(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield captured
    server.shutdown()
    server.server_close()


def judge(provider: str, **fields: Any) -> JudgeConfig:
    named = {"name": "mine", "provider": provider, "api_key_env": "K"}
    return TypeAdapter[JudgeConfig](JudgeConfig).validate_python(named | fields)


def ask(config: JudgeConfig, prompt: Prompt = FULL) -> Completion:
    return complete(connect(config, {"K": "sk-secret-1"}), prompt)


def through_proxy(
    monkeypatch: pytest.MonkeyPatch, wire: Captured, model: str, **fields: Any
) -> dict[str, Any]:
    """Ask OpenAI itself: its name leads to our server."""
    monkeypatch.setenv("http_proxy", wire.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    ask(judge("openai", model=model, base_url="http://api.openai.com/v1", **fields))
    assert wire.path == "http://api.openai.com/v1/chat/completions"
    return dict(wire.body)


def test_anthropic_is_sent_no_temperature(wire: Captured) -> None:
    ask(judge("anthropic", model="claude-sonnet-4-6", base_url=wire.url))
    assert wire.path == "/v1/messages"
    assert wire.headers["authorization"] == "Bearer sk-secret-1"
    assert wire.body == {
        "model": "claude-sonnet-4-6",
        "max_tokens": 64,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hello"}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


def test_a_long_answer_of_anthropics_needs_no_stream(wire: Captured) -> None:
    ask(judge("anthropic", model="m", base_url=wire.url), Prompt("", "Hello", 64_000, ABOUT))
    assert wire.body == {
        "model": "m",
        "max_tokens": 64_000,
        "messages": [{"role": "user", "content": "Hello"}],
    }


def test_openai_has_a_limit_of_its_own_name(wire: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    body = through_proxy(monkeypatch, wire, "gpt-4.1")
    assert body == {
        "model": "gpt-4.1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "max_completion_tokens": 64,
        "temperature": 0.0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
        },
    }


@pytest.mark.parametrize(
    "model", ["o3-mini", "gpt-5", "gpt-5.4-mini", "gpt-10", "ft:gpt-5:mine", "openai/o1"]
)
def test_a_model_that_reasons_is_sent_no_temperature(
    model: str, wire: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "temperature" not in through_proxy(monkeypatch, wire, model)


def test_another_server_of_openais_protocol_is_asked_for_little(wire: Captured) -> None:
    ask(judge("openai", model="qwen3-8b", base_url=f"{wire.url}/v1"))
    assert wire.path == "/v1/chat/completions"
    assert wire.body.keys() == {"model", "messages", "max_tokens", "temperature"}
    ask(judge("openai", model="q", base_url=wire.url, params={"response_format": {"type": "json_object"}}))
    assert wire.body["response_format"] == {"type": "json_object"}


def test_xai_is_sent_max_tokens_and_a_schema(wire: Captured) -> None:
    ask(judge("xai", model="grok-4.3", base_url=f"{wire.url}/v1", thinking_tokens=100))
    assert wire.body["max_tokens"] == 164
    assert wire.body["temperature"] == 0.0
    assert wire.body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_gemini_is_sent_its_own_form(wire: Captured) -> None:
    ask(judge("google", model="gemini-2.5-flash", base_url=wire.url))
    assert wire.path.endswith("/models/gemini-2.5-flash:generateContent")
    assert wire.headers["x-goog-api-key"] == "sk-secret-1"
    assert wire.body == {
        "contents": [{"parts": [{"text": "Hello"}], "role": "user"}],
        "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
        "generationConfig": {
            "temperature": 0.0,
            "maxOutputTokens": 64,
            "thinkingConfig": {"thinking_budget": 0},
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-3-haiku"), ("openai", "gpt-4-turbo"), ("google", "gemma-3-27b")],
)
def test_a_model_older_than_schemas_is_not_asked_for_one(
    provider: str, model: str, wire: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    if provider == "openai":
        through_proxy(monkeypatch, wire, model)
    else:
        ask(judge(provider, model=model, base_url=wire.url))
    assert "json_schema" not in json.dumps(wire.body)
    assert "responseJsonSchema" not in json.dumps(wire.body)


@pytest.mark.parametrize(
    ("provider", "limit"),
    [("anthropic", "max_tokens"), ("openai", "max_completion_tokens"), ("xai", "max_completion_tokens")],
)
def test_params_win_over_everything(provider: str, limit: str, wire: Captured) -> None:
    params = {limit: 9.0, "temperature": None, "top_k": 3}
    ask(judge(provider, model="m", base_url=wire.url, params=params))
    assert wire.body[limit] == 9
    assert wire.body["top_k"] == 3
    assert not {"max_tokens", "max_completion_tokens", "temperature"} - {limit} & wire.body.keys()


def test_an_effort_and_a_schema_go_out_together(wire: Captured) -> None:
    ask(judge("anthropic", model="m", base_url=wire.url, params={"output_config": {"effort": "low"}}))
    assert wire.body["output_config"].keys() == {"effort", "format"}


def test_a_parameter_declared_neutral_is_sent_as_it_is(wire: Captured) -> None:
    params = {"mirostat": 2}
    ask(judge("openai", model="m", base_url=wire.url, params=params, neutral_params=["mirostat"]))
    assert wire.body["mirostat"] == 2


def test_params_of_gemini_are_its_sdks(wire: Captured) -> None:
    params = {"thinking_config": {"thinking_budget": 0}, "maxOutputTokens": 9, "temperature": None}
    ask(judge("google", model="m", base_url=wire.url, params=params), PLAIN)
    sent = wire.body["generationConfig"]
    assert sent.keys() == {"maxOutputTokens", "thinkingConfig"}
    assert sent["maxOutputTokens"] == 9


@pytest.mark.parametrize(
    ("provider", "params"),
    [("anthropic", {"stream": True}), ("xai", {"stream": True}), ("google", {"no_such_field": 1})],
)
def test_params_that_cannot_work_are_refused_at_once(provider: str, params: dict[str, Any]) -> None:
    with pytest.raises(ProviderFault, match="judge 'mine': the parameter") as caught:
        ask(judge(provider, model="m", base_url="http://127.0.0.1:1", params=params))
    assert caught.value.kind == "fatal"


@pytest.mark.parametrize("provider", ["anthropic", "openai", "xai", "google"])
def test_no_cookie_is_carried_from_call_to_call(provider: str, wire: Captured) -> None:
    for _ in range(2):
        ask(judge(provider, model="m", base_url=wire.url))
    assert "cookie" not in wire.headers


def http_judge(wire: Captured, **fields: Any) -> JudgeConfig:
    return judge("http", **({"url": f"{wire.url}/ask", "api_key_env": None} | fields))


def test_a_body_is_filled_from_the_case(wire: Captured) -> None:
    body = {
        "q": "{question}",
        "deep": [{"all": "{system} {hits}", "{user}": 1}],
        "top_k": 5,
        "braces": "{{}}",
    }
    answer = ask(http_judge(wire, body=body))
    assert answer.text == "hi"
    assert wire.body == {
        "q": "how {many}?",
        "deep": [{"all": 'Be brief. ["a","b"]', "{user}": 1}],
        "top_k": 5,
        "braces": "{}",
    }


def test_a_get_has_its_body_as_query(wire: Captured) -> None:
    ask(http_judge(wire, method="GET", body={"q": "{user}&x", "k": 5}))
    assert wire.path == "/ask?q=Hello%26x&k=5"
    assert wire.body is None


def test_headers_come_from_the_file_and_the_environment(wire: Captured) -> None:
    config = http_judge(wire, headers={"X-Team": "evals"}, headers_env={"X-Key": "K"}, method="PUT")
    ask(config)
    assert (wire.headers["x-team"], wire.headers["x-key"]) == ("evals", "sk-secret-1")
    assert "authorization" not in wire.headers
    with pytest.raises(ProviderFault, match="set K"):
        connect(config, {})


def test_a_key_is_sent_as_a_bearer(wire: Captured) -> None:
    ask(http_judge(wire, api_key_env="K"))
    assert wire.headers["authorization"] == "Bearer sk-secret-1"


@pytest.mark.parametrize(
    ("path", "reply", "state", "text"),
    [
        ("$.answer", {"answer": "x"}, "answered", "x"),
        ("$.a.b[0].c", {"a": {"b": [{"c": 4}]}}, "answered", "4"),
        ("$.a", {"a": {"ß": [1]}}, "answered", '{"ß": [1]}'),
        ("$.hits[*].id", {"hits": [{"id": "n1"}]}, "answered", '["n1"]'),
        ("$.hits[*].id", {"hits": []}, "answered", "[]"),
        ("$[*].id", [{"id": 1}, {"id": 2}], "answered", "[1, 2]"),
        ("$.answer", {"answer": None}, "empty", ""),
        ("$.answer", {"answer": " "}, "empty", ""),
        ("$.answer", {"other": 1}, "malformed", '{"other": 1}'),
    ],
)
def test_the_answer_is_where_its_path_says(
    path: str, reply: Any, state: str, text: str, wire: Captured
) -> None:
    wire.reply = reply
    answer = ask(http_judge(wire, answer=path))
    assert (answer.state, answer.text) == (state, text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"body": {"a": ["{x.y}"]}}, "in its body, .*plain name"),
        ({"body": "{"}, "in its body"),
        ({"answer": "$.["}, "is not a JSONPath"),
        ({"headers": {"x y": "z"}}, "header 'x y'"),
        ({"headers": {"x": "a\nb"}}, "header 'x'"),
        ({"method": "GET", "body": ["a"]}, "names and values"),
    ],
)
def test_what_cannot_work_is_said_before_the_first_call(fields: dict[str, Any], message: str) -> None:
    config = judge("http", url="http://127.0.0.1:1", **fields)
    with pytest.raises(ProviderFault, match=message) as caught:
        connect(config, {"K": "k"})
    assert caught.value.kind == "fatal"


def test_a_case_without_the_input_a_body_asks_for_is_permanent(wire: Captured) -> None:
    with pytest.raises(ProviderFault, match=r"permanent: the body asks for \{missing\}"):
        ask(http_judge(wire, body={"q": "{missing}"}))
