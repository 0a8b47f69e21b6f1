"""A reply that does not state its tokens, or states nonsense, never makes a priced call free.

A server of the test's own answers in every protocol, with the usage of the test. Every provider of the
registry takes part.
"""

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from asking import complete
from pydantic import TypeAdapter

from evalq.calling.pricing import stated_cost_usd, worst_case_usd
from evalq.calling.providers import PROVIDERS, connect
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt

PROMPT = Prompt("", "Hello", 64, CaseContext("t", "c", inputs={"question": "Hello"}))
PRICE = {"input": 1_000_000, "output": 1_000_000}
WORDS = {
    "anthropic": ("usage", "input_tokens", "output_tokens"),
    "openai": ("usage", "prompt_tokens", "completion_tokens"),
    "xai": ("usage", "prompt_tokens", "completion_tokens"),
    "google": ("usageMetadata", "promptTokenCount", "candidatesTokenCount"),
    "http": ("usage", "input_tokens", "output_tokens"),
    "python": ("usage", "input_tokens", "output_tokens"),
    "command": ("usage", "input_tokens", "output_tokens"),
    "simulated": None,
}
"""What each provider calls its usage, its input and its output; the simulation counts its own."""

REPORTING = [name for name in PROVIDERS if WORDS[name] is not None]
LOST: tuple[Any, ...] = (None, {}, [], "usage", 7, {"total": 3}, {"input_tokens": "3", "output_tokens": "4"})
COUNTS: tuple[Any, ...] = (-1, 10**18, "12", None, True, 1.5, [3], float("1e300"))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    extra: Mapping[str, Any] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        reply = {
            "answer": "hi",
            "choices": [{"message": {"content": "hi"}}],
            "content": [{"type": "text", "text": "hi"}],
            "candidates": [{"content": {"parts": [{"text": "hi"}]}}],
        }
        answer = json.dumps(reply | dict(self.server.extra)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    served = Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.fixture(autouse=True)
def own_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judge_that_reports.py").write_text("REPLY = {}\ndef answer(inputs): return dict(REPLY)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "judge_that_reports", raising=False)


def make_judge(provider: str, url: str, reply: Mapping[str, Any]) -> JudgeConfig:
    program = ["printf", "%s", json.dumps(reply)]
    own: dict[str, dict[str, Any]] = {
        "http": {"url": url, "usage": "$.usage", "cost": "$.cost_usd"},
        "python": {"callable": "judge_that_reports:answer"},
        "command": {"command": program},
    }
    model = {"model": "m", "base_url": url, "api_key_env": "K"}
    fields = {"name": "mine", "provider": provider, "price": PRICE, **own.get(provider, model)}
    return TypeAdapter[JudgeConfig](JudgeConfig).validate_python(fields)


def ask(provider: str, server: Server, **extra: Any) -> tuple[JudgeConfig, Completion]:
    """Ask a judge whose reply holds these fields beside its answer."""
    server.extra = extra
    judge = make_judge(provider, f"http://127.0.0.1:{server.server_port}", {"answer": "hi", **extra})
    adapter = connect(judge, {"K": "sk-fake"})
    if provider == "python":
        sys.modules["judge_that_reports"].REPLY = {"answer": "hi", **extra}  # type: ignore[attr-defined]
    return judge, complete(adapter, PROMPT)


def words_of(provider: str) -> tuple[str, str, str]:
    words = WORDS[provider]
    assert words is not None
    return words


@pytest.mark.parametrize("usage", LOST, ids=repr)
@pytest.mark.parametrize("provider", REPORTING)
def test_a_reply_without_usage_states_no_cost(provider: str, usage: Any, server: Server) -> None:
    judge, answer = ask(provider, server, **{words_of(provider)[0]: usage})
    assert answer.text == "hi"
    assert worst_case_usd(judge, PROMPT) > 0
    assert stated_cost_usd(judge, answer) is None


@pytest.mark.parametrize("count", COUNTS, ids=repr)
@pytest.mark.parametrize("provider", REPORTING)
def test_numbers_that_cannot_be_true_state_no_cost(provider: str, count: Any, server: Server) -> None:
    field, read, written = words_of(provider)
    for usage in ({read: count, written: 5}, {read: 5, written: count}):
        if provider == "google" and usage == {read: 5, written: None}:
            continue  # Google leaves out what is zero
        judge, answer = ask(provider, server, **{field: usage})
        assert stated_cost_usd(judge, answer) is None


@pytest.mark.parametrize("provider", REPORTING)
def test_stated_tokens_are_charged_as_stated(provider: str, server: Server) -> None:
    field, read, written = words_of(provider)
    judge, answer = ask(provider, server, **{field: {read: 30, written: 70_000}})
    assert stated_cost_usd(judge, answer) == 70_030


@pytest.mark.parametrize("provider", ["http", "python", "command"])
def test_a_system_of_ones_own_may_state_its_cost(provider: str, server: Server) -> None:
    judge, answer = ask(provider, server, cost_usd=0.0125)
    assert (answer.text, stated_cost_usd(judge, answer)) == ("hi", Decimal("0.0125"))


@pytest.mark.parametrize("cost", [-1, "nan", "Infinity", True, [1], "free", 10**9, None], ids=repr)
@pytest.mark.parametrize("provider", ["http", "python", "command"])
def test_a_cost_that_cannot_be_true_is_passed_over(provider: str, cost: Any, server: Server) -> None:
    judge, answer = ask(provider, server, cost_usd=cost)
    assert stated_cost_usd(judge, answer) is None


@pytest.mark.parametrize("provider", ["python", "command"])
def test_an_error_is_a_fault_or_a_paid_answer_that_cannot_be_graded(provider: str, server: Server) -> None:
    with pytest.raises(ProviderFault, match="no quota left") as fault:
        ask(provider, server, error="no quota left")
    assert fault.value.kind == "permanent"
    judge, answer = ask(provider, server, error="no quota left", cost_usd=1)
    assert (answer.state, stated_cost_usd(judge, answer)) == ("malformed", 1)
