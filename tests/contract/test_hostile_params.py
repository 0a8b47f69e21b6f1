"""No parameter of a judge makes a call cost more than was set aside for it.

A server of the test's own bills what the request asked for, as a provider with no mercy would. Every provider
of the registry takes part, and every parameter that was ever seen to cost money.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asking import complete
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from evalq.calling.pricing import worst_case_usd
from evalq.calling.providers import PROVIDERS, connect
from evalq.calling.providers.request_bodies import build_request
from evalq.definitions.judge import JudgeConfig, ModelJudge
from evalq.definitions.model_params import find_problems
from evalq.errors import InputError, ProviderFault
from evalq.records import CaseContext, Prompt

JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)
PROMPT = Prompt("Be brief.", "Hello", 64, CaseContext("t", "c", inputs={"question": "Hello"}))
OUTPUT_USD = Decimal(50) / 1_000_000
UNLIMITED = 640_000
REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "http": {"url": "http://127.0.0.1:1"},
    "python": {"callable": "json:dumps"},
    "command": {"command": ["true"]},
    "simulated": {"model": "m"},
}
"""The fields that a judge which is not a provider's model must have; they have no `params` at all."""

HOSTILE: tuple[Mapping[str, Any], ...] = (
    *({"max_tokens": value} for value in (None, "100000", 1.0e5, 1.5e5, True, 0, -1, 10**12, [9], 100_000)),
    *({"max_tokens": value} for value in (float("inf"), float("nan"), 0.5, {}, "")),
    {"max_completion_tokens": None},
    {"max_completion_tokens": 65_536, "max_tokens": 1},
    {"max_tokens": 1, "max_completion_tokens": 65_536},
    *({name: 65_536} for name in ("maxOutputTokens", "max_output_tokens", "maxTokens", "MAX_TOKENS")),
    {"maxOutputTokens": 65_536, "max_output_tokens": 1},
    *({name: -1} for name in ("num_predict", "n_predict", "max_new_tokens")),
    *({name: 50} for name in ("n", "best_of", "candidateCount", "candidate_count", "num_beams")),
    {"n": 20, "best_of": 50},
    *({"n": value} for value in (None, "50", 10**6, -3, True)),
    *({name: 100_000} for name in ("thinking_budget", "thinkingBudget", "reasoning", "budget_tokens")),
    {"thinking": {"type": "enabled", "budget_tokens": 100_000}},
    {"thinking": {"type": "enabled", "budget_tokens": "100000"}},
    {"reasoning": {"max_tokens": 100_000}},
    {"reasoning": {"effort": "high", "max_completion_tokens": 100_000}},
    *({"thinking_config": {"thinking_budget": value}} for value in (100_000, -1, None, "9", 1e5)),
    {"thinkingConfig": {"thinkingBudget": 100_000}},
    {"thinkingConfig": {"thinkingBudget": 100_000, "thinking_budget": 1}},
    {"chat_template_kwargs": {"thinking_budget": 100_000}},
    *({name: {"max_tokens": 100_000}} for name in ("extra_body", "config", "options", "extra_headers")),
    {"generationConfig": {"maxOutputTokens": 65_536}},
    {"generation_config": {"max_output_tokens": 65_536}},
    {"http_options": {"extra_body": {"generationConfig": {"maxOutputTokens": 65_536}}}},
    {"model": "the-dear-one"},
    {"models": ["the-dear-one"]},
    *({name: []} for name in ("messages", "contents", "prompt", "input")),
    {"system": "s"},
    {"stream": True},
    {"background": True},
    {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    {"tools": [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}]},
    *({"tools": [{name: {}}]} for name in ("google_search", "googleSearch", "code_execution", "url_context")),
    {"tools": [{"functionDeclarations": [], "googleSearch": {}}]},
    *({"tools": value} for value in ("web_search", {"type": "mcp"}, [None], [{"type": ["function"]}])),
    {"web_search_options": {}},
    {"search_parameters": {"mode": "on"}},
    {"mcp_servers": [{"url": "http://127.0.0.1"}]},
    {"modalities": ["text", "audio"], "audio": {"voice": "a"}},
    {"responseModalities": ["IMAGE"]},
    {"prediction": {"type": "content", "content": "x"}},
    {"cached_content": "cachedContents/1"},
    {"service_tier": 1},
    {"no_such_parameter": 1},
)
HARMLESS: tuple[Mapping[str, Any], ...] = (
    {},
    {"temperature": None},
    {"top_p": 0.5, "seed": 7},
    {"logprobs": True},
    {"store": False},
    {"max_tokens": 9},
    {"max_output_tokens": 9.0},
    {"tools": [{"type": "function", "function": {"name": "f"}}]},
)


class Till(ThreadingHTTPServer):
    """Answers in every protocol and bills each request by what it asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.billed_usd = Decimal(0)
        self.requests = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Till

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests += 1
        self.server.billed_usd += OUTPUT_USD * tokens_asked_for(body, self.path)
        reply = {
            "choices": [{"message": {"content": "hi"}}],
            "content": [{"type": "text", "text": "hi"}],
            "candidates": [{"content": {"parts": [{"text": "hi"}]}}],
        }
        answer = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


def tokens_asked_for(body: Mapping[str, Any], path: str = "") -> int:
    """Everything a request allows a provider to bill as output, read as generously as any server might."""
    flat = {**body, **body.get("generationConfig", {})}
    flat.pop("generationConfig", None)
    limit = max((_lenient(flat[name]) for name in LIMITS if name in flat), default=UNLIMITED)
    budgets = [_lenient(value) for value in _budgets_in(flat)]
    tokens = limit + sum(budgets)
    if "generateContent" in path or "max_output_tokens" in flat:
        tokens = limit + (sum(budgets) if budgets else limit)
    for name in ("n", "best_of", "candidateCount", "candidate_count"):
        tokens *= max(1, _lenient(flat.get(name, 1)))
    if any(_is_server_tool(tool) for tool in flat.get("tools") or ()):
        tokens += UNLIMITED
    if body.get("model", "m") != "m" or "web_search_options" in flat or "search_parameters" in flat:
        tokens += UNLIMITED
    return tokens


LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "max_output_tokens", "num_predict")
HOLDERS = ("thinking", "reasoning", "thinkingConfig", "thinking_config", "chat_template_kwargs")
BUDGETS = ("thinking_budget", "thinkingBudget", "budget_tokens")


def _lenient(value: object) -> int:
    """What the most forgiving server makes of a limit; nothing sensible means no limit."""
    try:
        number = int(float(str(value)))
    except (ValueError, OverflowError):
        return UNLIMITED
    return number if number > 0 else 0 if value == 0 else UNLIMITED


def _budgets_in(body: Mapping[str, Any]) -> Iterator[object]:
    for holder in (body, *(body.get(name) for name in HOLDERS)):
        if isinstance(holder, dict):
            yield from (holder[name] for name in BUDGETS if name in holder)
    if isinstance(body.get("reasoning"), dict) and "max_tokens" in body["reasoning"]:
        yield body["reasoning"]["max_tokens"]


def _is_server_tool(tool: object) -> bool:
    if not isinstance(tool, dict):
        return True
    return tool.get("type", "custom") not in ("function", "custom") or "googleSearch" in tool


def judge(provider: str, params: Mapping[str, Any], base_url: str = "http://127.0.0.1:1") -> JudgeConfig:
    fields: dict[str, Any] = {"name": "mine", "provider": provider, "params": dict(params)}
    fields |= {"price": {"input": 0, "output": 50}}
    model = {"model": "m", "base_url": base_url, "api_key_env": "K"}
    return JUDGE.validate_python(fields | dict(REQUIRED.get(provider, model)))


@pytest.fixture(scope="module")
def till() -> Iterator[Till]:
    server = Till()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def show(params: Mapping[str, Any]) -> str:
    return json.dumps(params, default=str)


@pytest.mark.parametrize("params", [*HOSTILE, *HARMLESS], ids=show)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_a_provider_bills_was_set_aside(provider: str, params: Mapping[str, Any], till: Till) -> None:
    if provider in REQUIRED:
        with pytest.raises(ValidationError, match="params"):
            judge(provider, params)
        return
    asked = judge(provider, params, f"http://127.0.0.1:{till.server_port}")
    till.billed_usd, till.requests = Decimal(0), 0
    problems = find_problems(asked)
    if problems:
        assert all(problem.remedy for problem in problems)
        with pytest.raises(InputError):
            worst_case_usd(asked, PROMPT)
        with pytest.raises(ProviderFault) as fault:
            connect(asked, {"K": "sk-fake"})
        assert fault.value.kind == "fatal"
        assert till.requests == 0
        return
    complete(connect(asked, {"K": "sk-fake"}), PROMPT)
    assert till.requests == 1
    assert till.billed_usd <= worst_case_usd(asked, PROMPT)


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name not in REQUIRED])
def test_ordinary_parameters_are_not_refused(provider: str) -> None:
    usual = {"temperature": 0.2, "top_p": 0.9, "stop_sequences": ["x"], "seed": 1, "service_tier": "auto"}
    assert find_problems(judge(provider, usual)) == []


def test_a_promise_does_not_make_a_dear_parameter_free() -> None:
    fields = {"name": "mine", "provider": "openai", "model": "m", "params": {"maxTokens": 9}}
    promised = JUDGE.validate_python(fields | {"neutral_params": ["maxTokens", "n"]})
    assert len(find_problems(promised)) == 2


NAMES = sorted({name for params in (*HOSTILE, *HARMLESS) for name in params})
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 10**7), st.floats(), st.text(max_size=5))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*NAMES, "type", "budget_tokens", "effort"]), inner, max_size=3),
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(
    provider=st.sampled_from([name for name in PROVIDERS if name not in REQUIRED]),
    params=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
)
def test_no_random_parameters_are_billed_beyond_what_was_set_aside(
    provider: str, params: dict[str, Any]
) -> None:
    asked = judge(provider, params)
    assert isinstance(asked, ModelJudge)
    try:
        request = build_request(asked, PROMPT)
    except InputError:
        return
    assert tokens_asked_for(request.body) <= request.output_tokens
    assert OUTPUT_USD * request.output_tokens == worst_case_usd(asked, PROMPT)
