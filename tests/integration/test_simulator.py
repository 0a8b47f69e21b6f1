"""The provider simulator through the providers' own SDKs, and through bare sockets."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as gemini_errors
from google.genai import types
from patience import PATIENCE_S

from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.project import find_evalset, find_task
from evalq.definitions.prompt import answer_prompt
from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator
from evalq.errors import InputError
from evalq.grading.scoring import finding_json, parse_list, verdict_prompt

ROOT = Path(__file__).parents[2]
SECOND_MS = 1000

Ask = Callable[..., Any]
PROTOCOLS = ("anthropic", "openai", "google")
every_sdk = pytest.mark.parametrize("sdk", PROTOCOLS)

CLIENT, SERVER = gemini_errors.ClientError, gemini_errors.ServerError
# What each SDK raises with its own retries off: anthropic, openai, google-genai.
RAISED: dict[str, tuple[type[Exception], type[Exception], type[Exception]]] = {
    "400": (anthropic.BadRequestError, openai.BadRequestError, CLIENT),
    "401": (anthropic.AuthenticationError, openai.AuthenticationError, CLIENT),
    "402": (anthropic.APIStatusError, openai.APIStatusError, CLIENT),
    "403": (anthropic.PermissionDeniedError, openai.PermissionDeniedError, CLIENT),
    "404": (anthropic.NotFoundError, openai.NotFoundError, CLIENT),
    "408": (anthropic.RequestTimeoutError, openai.APIStatusError, CLIENT),
    "409": (anthropic.ConflictError, openai.ConflictError, CLIENT),
    "413": (anthropic.ContentTooLargeError, openai.APIStatusError, CLIENT),
    "422": (anthropic.UnprocessableEntityError, openai.UnprocessableEntityError, CLIENT),
    "429:seconds=3": (anthropic.RateLimitError, openai.RateLimitError, CLIENT),
    "429:date=3": (anthropic.RateLimitError, openai.RateLimitError, CLIENT),
    "429:ms=1500": (anthropic.RateLimitError, openai.RateLimitError, CLIENT),
    "quota": (anthropic.BadRequestError, openai.RateLimitError, CLIENT),
    "bad_key": (anthropic.AuthenticationError, openai.AuthenticationError, CLIENT),
    "500": (anthropic.InternalServerError, openai.InternalServerError, SERVER),
    "502": (anthropic.InternalServerError, openai.InternalServerError, SERVER),
    "503": (anthropic.ServiceUnavailableError, openai.InternalServerError, SERVER),
    "504": (anthropic.GatewayTimeoutError, openai.InternalServerError, SERVER),
    "529": (anthropic.OverloadedError, openai.InternalServerError, SERVER),
    "reset_before": (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.ReadError),
    "reset_after": (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.ReadError),
    "reset_body": (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.ReadError),
    "eof": (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.RemoteProtocolError),
    "hang": (anthropic.APITimeoutError, openai.APITimeoutError, httpx2.ReadTimeout),
    "malformed": (JSONDecodeError, JSONDecodeError, JSONDecodeError),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    sets = [
        {"task": "knowledge_audit", "eval_set": "dev-93"},
        {"task": "mail_classify", "eval_set": "dev-30"},
    ]
    with running_simulator({"cases": sets}) as sim:
        yield sim


@pytest.fixture
def sim(running: Simulator) -> Simulator:
    """The simulator as it was at the start."""
    running.reset()
    return running


@pytest.fixture(scope="module")
def asks(running: Simulator) -> Iterator[dict[str, Ask]]:
    """One function for each SDK: (prompt, model, timeout in seconds, further parameters)."""
    claude = anthropic.Anthropic(api_key="key-1", base_url=running.url, max_retries=0)
    gpt = openai.OpenAI(api_key="key-1", base_url=running.openai_url, max_retries=0)
    once = types.HttpOptions(base_url=running.url, retry_options=types.HttpRetryOptions(attempts=1))
    gemini = genai.Client(api_key="key-1", http_options=once)

    def ask_anthropic(prompt: str, model: str = "m", timeout_s: float = 60, **fields: Any) -> Any:
        said: Any = [{"role": "user", "content": prompt}]
        return claude.messages.create(
            model=model, max_tokens=500, system="s", messages=said, timeout=timeout_s, **fields
        )

    def ask_openai(prompt: str, model: str = "m", timeout_s: float = 60, **fields: Any) -> Any:
        said: Any = [{"role": "system", "content": "s"}, {"role": "user", "content": prompt}]
        return gpt.chat.completions.create(
            model=model, max_completion_tokens=500, messages=said, timeout=timeout_s, **fields
        )

    def ask_gemini(prompt: str, model: str = "m", timeout_s: float = 60, **fields: Any) -> Any:
        options = types.HttpOptions(timeout=int(timeout_s * SECOND_MS))
        config = types.GenerateContentConfig(
            system_instruction="s",
            max_output_tokens=500,
            automatic_continuation=False,
            http_options=options,
            **fields,
        )
        return gemini.models.generate_content(model=model, contents=prompt, config=config)

    yield {"anthropic": ask_anthropic, "openai": ask_openai, "google": ask_gemini}
    claude.close()
    gpt.close()
    gemini.close()


def text(sdk: str, reply: Any) -> Any:
    match sdk:
        case "anthropic":
            return "".join(block.text for block in reply.content if block.type == "text")
        case "openai":
            return reply.choices[0].message.content
    return reply.text


def tokens(sdk: str, reply: Any) -> tuple[int, int]:
    """Input and output as they are billed."""
    match sdk:
        case "anthropic":
            return reply.usage.input_tokens, reply.usage.output_tokens
        case "openai":
            return reply.usage.prompt_tokens, reply.usage.completion_tokens
    usage = reply.usage_metadata
    return usage.prompt_token_count, usage.candidates_token_count + (usage.thoughts_token_count or 0)


@every_sdk
def test_an_answer_is_read_by_the_sdk_and_billed_as_it_says(
    sim: Simulator, asks: dict[str, Ask], sdk: str
) -> None:
    sim.set_profiles({"m": {"thinking_tokens": 40}})
    reply = asks[sdk]('Please say "chào \\"bạn\\" ✓"')
    assert text(sdk, reply) == 'chào "bạn" ✓'
    call = sim.calls()[-1]
    assert tokens(sdk, reply) == (call["input_tokens"], call["output_tokens"])
    assert (call["model"], call["billed"], call["status"]) == ("m", True, 200)


@every_sdk
@pytest.mark.parametrize("fault", RAISED)
def test_a_fault_raises_what_the_real_one_does(
    sim: Simulator, asks: dict[str, Ask], sdk: str, fault: str
) -> None:
    sim.set_profiles({"m": {"schedule": [fault]}})
    with pytest.raises(RAISED[fault][PROTOCOLS.index(sdk)]) as caught:
        asks[sdk]('say "hello"', timeout_s=0.5 if fault == "hang" else 60)
    assert type(caught.value) is RAISED[fault][PROTOCOLS.index(sdk)]
    assert text(sdk, asks[sdk]('say "hello"')) == "hello"


def test_what_an_exception_carries_tells_the_faults_apart(sim: Simulator, asks: dict[str, Ask]) -> None:
    schedule = ["429:seconds=3", "quota", "400", "429:ms=1500"]
    sim.set_profiles({"m": {"schedule": schedule}})
    raised = []
    for _ in schedule:
        with pytest.raises(openai.APIStatusError) as caught:
            asks["openai"]("x")
        raised.append(caught.value)
    codes = ["rate_limit_exceeded", "insufficient_quota", "unsupported_parameter", "rate_limit_exceeded"]
    assert [error.code for error in raised] == codes
    assert raised[0].response.headers["retry-after"] == "3"
    assert raised[3].response.headers["retry-after-ms"] == "1500"
    assert raised[0].request_id


def test_gemini_tells_in_the_details_when_to_come_back(sim: Simulator, asks: dict[str, Ask]) -> None:
    sim.set_profiles({"m": {"schedule": ["429:seconds=13"]}})
    with pytest.raises(CLIENT) as caught:
        asks["google"]("x")
    assert caught.value.details["error"]["details"][-1]["retryDelay"] == "13s"


@every_sdk
def test_an_answer_that_is_none_is_told_by_its_form(sim: Simulator, asks: dict[str, Ask], sdk: str) -> None:
    kinds = ["empty", "blocked", "refusal", "truncated"]
    sim.set_profiles({"m": {"schedule": kinds, "fixed": "a long answer"}})
    empty, blocked, refused, cut = (asks[sdk]("x") for _ in kinds)
    match sdk:
        case "anthropic":
            assert (empty.content, blocked.content) == ([], [])
            assert (blocked.stop_reason, refused.stop_reason, cut.stop_reason) == (
                "refusal",
                "refusal",
                "max_tokens",
            )
        case "openai":
            assert empty.choices == []
            assert blocked.choices[0].finish_reason == "content_filter"
            assert refused.choices[0].message.refusal
            assert cut.choices[0].finish_reason == "length"
        case "google":
            assert (empty.candidates, blocked.candidates) == (None, None)
            assert blocked.prompt_feedback.block_reason == "SAFETY"
            assert refused.candidates[0].finish_reason == "SAFETY"
            assert cut.candidates[0].finish_reason == "MAX_TOKENS"
    assert [call["billed"] for call in sim.calls()] == [True] * 4
    assert tokens(sdk, cut)[1] == 500


def test_pages_and_other_shapes_pass_the_sdks_unnoticed(sim: Simulator, asks: dict[str, Ask]) -> None:
    sim.set_profiles({"m": {"schedule": ["html", "wrong_shape"]}})
    assert isinstance(asks["anthropic"]("x"), str)
    assert asks["anthropic"]("x").content is None
    assert isinstance(asks["openai"]("y"), str)
    assert asks["openai"]("y").choices is None
    with pytest.raises(JSONDecodeError):
        asks["google"]("z")
    assert asks["google"]("z").candidates is None


@every_sdk
def test_a_redirect_is_followed_to_where_the_ledger_sees_it(
    sim: Simulator, asks: dict[str, Ask], sdk: str
) -> None:
    sim.set_profiles({"m": {"faults": {"redirect": 1.0}}})
    assert text(sdk, asks[sdk]("x")) == "ok"
    assert [(call["fault"], call["billed"]) for call in sim.calls()] == [
        ("redirect", False),
        ("redirected", True),
    ]


@every_sdk
def test_the_sdks_key_is_the_one_that_is_required(sim: Simulator, asks: dict[str, Ask], sdk: str) -> None:
    sim.set_profiles({"m": {"require_key": "key-1"}, "n": {"require_key": "key-2"}})
    assert text(sdk, asks[sdk]("x")) == "ok"
    with pytest.raises(RAISED["401"][PROTOCOLS.index(sdk)]):
        asks[sdk]("x", model="n")


def test_limits_are_told_by_headers_and_kept(sim: Simulator) -> None:
    sim.set_profiles({"m": {"rpm": 2}})
    with openai.OpenAI(api_key="k", base_url=sim.openai_url, max_retries=0) as client:
        create = client.chat.completions.with_raw_response.create
        replies = [create(model="m", messages=[{"role": "user", "content": f"{i}"}]) for i in range(2)]
        with pytest.raises(openai.RateLimitError) as caught:
            create(model="m", messages=[{"role": "user", "content": "3"}])
    left = [reply.headers["x-ratelimit-remaining-requests"] for reply in replies]
    assert left == ["1", "0"]
    assert 50 < int(caught.value.response.headers["retry-after"]) <= 60


def test_the_ledger_adds_up_over_everything_that_happened(sim: Simulator, asks: dict[str, Ask]) -> None:
    sim.set_profiles({"m": {"schedule": ["500", "reset_after", "ok"]}})
    for _ in range(2):
        with pytest.raises(openai.OpenAIError):
            asks["openai"]("x", extra_headers={"x-evalq-call": "job-1"})
    asks["openai"]("x", extra_headers={"x-evalq-call": "job-1"})
    asks["anthropic"]("x", model="n")
    ledger, calls = sim.ledger(), sim.calls()
    assert (ledger["requests"], ledger["billed"], ledger["peak_in_flight"]) == (4, 3, 1)
    assert ledger["by_key"]["job-1"] == 2
    assert [call["fault"] for call in calls] == ["500", "reset_after", None, None]
    assert ledger["by_model"]["m"]["input_tokens"] == sum(
        call["input_tokens"] for call in calls if call["model"] == "m"
    )
    assert ledger["first_at"] == calls[0]["at"] <= calls[-1]["at"] == ledger["last_at"]
    assert sim.calls(since=3) == calls[3:]


def test_a_wrong_profile_is_refused_with_its_reason(sim: Simulator) -> None:
    with pytest.raises(InputError, match="there is no fault 'nonsense'"):
        sim.set_profiles({"m": {"schedule": ["nonsense"]}})
    with pytest.raises(InputError, match="nonsense"), running_simulator({"nonsense": 1}):
        pass


def test_known_cases_are_answered_and_graded_by_the_truth(sim: Simulator, asks: dict[str, Ask]) -> None:
    sim.set_profiles({"right": {"answer": "cases"}, "wrong": {"answer": "cases", "accuracy": 0.0}})
    task = load_task(find_task("knowledge_audit", ROOT))
    cases = load_evalset(find_evalset("dev-93", "knowledge_audit", ROOT)).evalset.cases
    case = next(case for case in cases if case.expected_type == "positive")
    prompt = answer_prompt(task, case).user
    found = parse_list(text("anthropic", asks["anthropic"](prompt, model="right")))
    assert text("google", asks["google"](prompt, model="wrong")) != json.dumps(found)
    grading = verdict_prompt(task, case, finding_json(found[0])).user
    assert text("openai", asks["openai"](grading, model="right")) == "VALID"
    assert text("openai", asks["openai"](grading, model="wrong")) == "INVALID"


@every_sdk
def test_a_verdict_comes_as_json_where_a_schema_is_asked_for(
    sim: Simulator, asks: dict[str, Ask], sdk: str
) -> None:
    sim.set_profiles({"m": {"answer": "verdict", "valid": 1.0}})
    schema = {"type": "object", "properties": {"verdict": {"enum": ["VALID", "INVALID"]}}}
    fields: dict[str, Any] = {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "openai": {
            "response_format": {"type": "json_schema", "json_schema": {"name": "v", "schema": schema}}
        },
        "google": {"response_mime_type": "application/json", "response_json_schema": schema},
    }[sdk]
    assert json.loads(text(sdk, asks[sdk]("x", **fields)))["verdict"] == "VALID"


def connect(sim: Simulator) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", int(sim.url.rpartition(":")[2])), timeout=PATIENCE_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def request(user: str) -> bytes:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": user}]}).encode()
    return f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def receive(client: socket.socket) -> Any:
    """One whole response's JSON."""
    head, body = b"", b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += client.recv(length - len(body))
    return json.loads(body)


def test_two_hundred_calls_are_open_at_once(sim: Simulator) -> None:
    sim.set_profiles({"m": {"latency_ms": 3000}})
    clients = [connect(sim) for _ in range(200)]
    started = time.monotonic()
    for i, client in enumerate(clients):
        client.sendall(request(f'say "{i}"'))
    answers = [receive(client)["choices"][0]["message"]["content"] for client in clients]
    took = time.monotonic() - started
    for client in clients:
        client.close()
    assert answers == [f"{i}" for i in range(200)]
    assert sim.ledger()["peak_in_flight"] == 200
    assert took >= 3


def test_requests_sent_ahead_are_answered_in_their_order(sim: Simulator) -> None:
    with connect(sim) as client:
        client.sendall(b"".join(request(f'say "{i}"') for i in range(50)))
        said = [receive(client)["choices"][0]["message"]["content"] for _ in range(50)]
    assert said == [f"{i}" for i in range(50)]


def test_a_drip_goes_on_for_longer_than_a_read_timeout(sim: Simulator) -> None:
    sim.set_profiles({"m": {"schedule": ["drip"]}})
    with connect(sim) as client:
        client.sendall(request("x"))
        started = time.monotonic()
        got = 0
        while time.monotonic() - started < 1.5:
            got += len(client.recv(4096))
    assert got > 0
    assert sim.ledger()["billed"] == 1


def test_who_leaves_before_the_answer_has_been_billed(sim: Simulator) -> None:
    sim.set_profiles({"m": {"latency_ms": 60_000}})
    with connect(sim) as client:
        client.sendall(request("x"))
        assert wait_until(lambda: sim.ledger()["requests"] == 1, timeout_s=PATIENCE_S)
    assert sim.ledger()["billed"] == 1


def test_what_it_does_not_know_is_a_404(sim: Simulator) -> None:
    with connect(sim) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\n\r\n")
        assert "does not know GET /v1/models" in receive(client)["error"]["message"]


def test_it_listens_on_loopback_alone(sim: Simulator) -> None:
    assert sim.url.startswith("http://127.0.0.1:")
    # Another loopback address stands for any other interface: a wildcard socket would answer there.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", int(sim.url.rpartition(":")[2])), timeout=5)
