"""The provider without a network: requests in, deliveries out, the ledger written."""

import json
from collections import Counter
from typing import Any

import pytest

from evalq.engines.simulator.exchange import Delivery, HttpRequest
from evalq.engines.simulator.profile import BILLED, KINDS, Profile
from evalq.engines.simulator.protocols import WIRES, wire_of
from evalq.engines.simulator.provider import ELSEWHERE, Provider, control

PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
BODIES: dict[str, dict[str, Any]] = {
    "openai": {"model": "m"},
    "anthropic": {"model": "m", "max_tokens": 99},
    "gemini": {},
}
every_protocol = pytest.mark.parametrize("protocol", PATHS)


def body(protocol: str, user: str, **fields: Any) -> dict[str, Any]:
    if protocol == "gemini":
        return {"contents": [{"parts": [{"text": user}]}], **fields}
    return {**BODIES[protocol], "messages": [{"role": "user", "content": user}], **fields}


class Bench:
    """A provider with one model `m`, a clock of its own, and hands to ask it."""

    def __init__(self, **profile: Any) -> None:
        self.now = 100.0
        profiles = {"m": Profile.model_validate(profile)}
        self.provider = Provider(profiles, lambda *_, **__: None, clock=lambda: self.now)

    def ask(
        self, user: str = "hi", protocol: str = "openai", *, head: str = "", prefix: str = "", **fields: Any
    ) -> Delivery:
        document = json.dumps(body(protocol, user, **fields)).encode()
        return self.send(document, protocol, head=head, prefix=prefix)

    def send(
        self, document: bytes, protocol: str = "openai", *, head: str = "", prefix: str = ""
    ) -> Delivery:
        path = prefix + PATHS[protocol]
        wire = wire_of(path)
        assert wire
        request = HttpRequest("POST", path, f"POST {path} HTTP/1.1\r\n{head}".encode(), document)
        return self.provider.take(wire, request)

    def call(self) -> dict[str, Any]:
        """The newest line of the ledger."""
        return self.provider.ledger.calls()[-1]


def status(delivery: Delivery) -> int:
    return int(delivery.data.split(b" ")[1])


def document(delivery: Delivery) -> Any:
    return json.loads(delivery.data.partition(b"\r\n\r\n")[2])


def headers(delivery: Delivery) -> dict[str, str]:
    lines = delivery.data.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines)


@every_protocol
@pytest.mark.parametrize("kind", [*KINDS, "ok"])
def test_what_is_billed_is_what_the_provider_worked_on(kind: str, protocol: str) -> None:
    bench = Bench(schedule=[kind])
    delivery = bench.ask('say "hello there"', protocol)
    call, expected = bench.call(), kind == "ok" or kind in BILLED
    assert call["billed"] == expected
    assert (call["input_tokens"] > 0) == expected
    assert call["fault"] == (None if kind == "ok" else kind)
    assert call["protocol"] == protocol
    assert call["status"] == (status(delivery) if delivery.data else 0)


@every_protocol
def test_the_sums_of_a_usage_are_those_of_the_ledger(protocol: str) -> None:
    bench = Bench(output_tokens=11, thinking_tokens=5)
    answer = document(bench.ask("hello", protocol))
    call = bench.call()
    assert call["output_tokens"] == 16
    match protocol:
        case "openai":
            usage = answer["usage"]
            assert usage["total_tokens"] == call["input_tokens"] + 16
            assert (usage["prompt_tokens"], usage["completion_tokens"]) == (call["input_tokens"], 16)
            assert usage["completion_tokens_details"]["reasoning_tokens"] == 5
        case "anthropic":
            usage = answer["usage"]
            assert (usage["input_tokens"], usage["output_tokens"]) == (call["input_tokens"], 16)
            assert usage["output_tokens_details"]["thinking_tokens"] == 5
            assert [block["type"] for block in answer["content"]] == ["thinking", "text"]
        case "gemini":
            usage = answer["usageMetadata"]
            assert (usage["candidatesTokenCount"], usage["thoughtsTokenCount"]) == (11, 5)
            assert usage["totalTokenCount"] == usage["promptTokenCount"] + 16


def test_a_schedule_is_consumed_by_each_prompt_for_itself() -> None:
    bench = Bench(schedule=["500", "429", "ok"])
    seen = {user: [status(bench.ask(user)) for _ in range(5)] for user in ("a", "b")}
    assert seen == {"a": [500, 429, 200, 200, 200], "b": [500, 429, 200, 200, 200]}


def test_shares_are_drawn_by_prompt_and_attempt_and_stay_the_same() -> None:
    first, second = Bench(faults={"500": 0.3, "503": 0.2}), Bench(faults={"500": 0.3, "503": 0.2})
    statuses = [status(first.ask(f"{i}")) for i in range(2000)]
    assert statuses == [status(second.ask(f"{i}")) for i in range(2000)]
    counts = Counter(statuses)
    assert counts[500] == pytest.approx(600, abs=60)
    assert counts[503] == pytest.approx(400, abs=60)
    assert statuses != [status(first.ask(f"{i}")) for i in range(2000)]


def test_the_key_of_a_call_is_its_header_or_its_fingerprint() -> None:
    bench = Bench()
    bench.ask("a", head="X-Evalq-Call: job-7\r\n")
    bench.ask("a")
    bench.ask("a")
    by_key = bench.provider.ledger.document()["by_key"]
    assert sorted(by_key.values()) == [1, 2]
    assert by_key["job-7"] == 1
    assert {len(key) for key in by_key} == {5, 64}


@pytest.mark.parametrize("header", ["authorization: Bearer k1", "x-api-key: k1", "x-goog-api-key: k1"])
def test_a_required_key_is_taken_from_any_of_its_headers(header: str) -> None:
    bench = Bench(require_key="k1")
    assert status(bench.ask()) == 401
    assert bench.call()["fault"] == "require_key"
    assert status(bench.ask(head=f"{header}2\r\n")) == 401
    assert status(bench.ask(head=f"{header}\r\n")) == 200


@every_protocol
def test_a_temperature_is_refused_where_the_model_takes_none(protocol: str) -> None:
    bench = Bench(refuse_temperature=True)
    sent = {"generationConfig": {"temperature": 0}} if protocol == "gemini" else {"temperature": 0}
    assert status(bench.ask(protocol=protocol)) == 200
    assert status(bench.ask(protocol=protocol, **sent)) == 400


def test_requests_beyond_the_limit_are_told_when_to_come_back() -> None:
    bench = Bench(rpm=2)
    assert headers(bench.ask())["x-ratelimit-remaining-requests"] == "1"
    bench.now += 20.5
    bench.ask()
    refused = bench.ask()
    assert status(refused) == 429
    assert headers(refused)["retry-after"] == "40"
    assert headers(refused)["x-ratelimit-remaining-requests"] == "0"
    assert headers(refused)["x-ratelimit-reset-requests"] == "1m0s"
    assert (bench.call()["fault"], bench.call()["billed"]) == ("rpm", False)
    bench.now += 40
    assert status(bench.ask()) == 200


def test_anthropic_tells_its_limits_as_moments() -> None:
    told = headers(Bench(rpm=50, input_tpm=1000).ask(protocol="anthropic"))
    assert told["anthropic-ratelimit-requests-remaining"] == "49"
    assert told["anthropic-ratelimit-input-tokens-limit"] == "1000"
    assert told["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert told["request-id"].startswith("req_")
    assert "anthropic-ratelimit-output-tokens-reset" in headers(Bench().ask(protocol="anthropic"))


@pytest.mark.parametrize(
    ("fault", "header", "value"),
    [
        ("429:seconds=3", "retry-after", "3"),
        ("429:ms=1500", "retry-after-ms", "1500"),
        ("429:date=3", "retry-after", "GMT"),
    ],
)
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_429_says_when_in_a_header(fault: str, header: str, value: str, protocol: str) -> None:
    assert headers(Bench(schedule=[fault]).ask(protocol=protocol))[header].endswith(value)


def test_gemini_says_when_in_its_body_and_nothing_when_the_quota_is_gone() -> None:
    bench = Bench(schedule=["429:ms=1500", "quota", "429:none"])
    first, *others = [document(bench.ask(protocol="gemini"))["error"] for _ in range(3)]
    assert first["details"][-1]["retryDelay"] == "1.5s"
    assert first["status"] == "RESOURCE_EXHAUSTED"
    assert all("retryDelay" not in json.dumps(error) for error in others)
    assert "retry-after" not in headers(Bench(schedule=["429"]).ask(protocol="gemini"))


def test_a_key_gemini_does_not_know_is_a_400() -> None:
    error = document(Bench(schedule=["bad_key"]).ask(protocol="gemini"))["error"]
    assert (error["code"], error["details"][0]["reason"]) == (400, "API_KEY_INVALID")


def test_only_what_a_model_works_on_takes_time() -> None:
    for kind, is_slow in {"ok": True, "500": True, "reset_after": True, "429": False, "401": False}.items():
        assert (Bench(latency_ms=250, schedule=[kind]).ask().delay_s == 0.25) is is_slow
    assert Bench(latency_ms=250, schedule=["reset_before"]).ask().delay_s == 0


def test_latencies_have_the_quantiles_they_are_given() -> None:
    bench = Bench(latency_ms={"p50": 100, "p95": 400})
    drawn = sorted(bench.ask(f"{i}").delay_s for i in range(2000))
    assert drawn[1000] == pytest.approx(0.1, rel=0.1)
    assert drawn[1900] == pytest.approx(0.4, rel=0.15)


def test_a_redirect_leads_to_a_place_without_faults() -> None:
    bench = Bench(faults={"redirect": 1.0})
    away = bench.ask()
    assert (status(away), headers(away)["location"]) == (307, "/elsewhere/v1/chat/completions")
    assert status(bench.ask(prefix=ELSEWHERE)) == 200
    assert (bench.call()["fault"], bench.call()["billed"]) == ("redirected", True)


@every_protocol
@pytest.mark.parametrize("sent", [b"", b"nonsense", b"[]", b"{}", b'{"messages": 1, "contents": "x"}'])
def test_what_is_no_request_is_a_400_in_the_ledger(sent: bytes, protocol: str) -> None:
    bench = Bench()
    assert status(bench.send(sent, protocol)) == 400
    assert (bench.call()["fault"], bench.call()["billed"], bench.call()["model"]) == ("unreadable", False, "")


def test_streaming_is_refused_in_words() -> None:
    assert "does not stream" in document(Bench().ask(stream=True))["error"]["message"]
    assert "does not stream" in document(Bench().ask(protocol="anthropic", stream=True))["error"]["message"]


@every_protocol
def test_a_schema_turns_a_verdict_into_json(protocol: str) -> None:
    schema = {
        "openai": {"response_format": {"type": "json_schema", "json_schema": {}}},
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        "gemini": {"generationConfig": {"responseJsonSchema": {}}},
    }[protocol]
    said = Bench(answer="verdict").ask("x", protocol, **schema).data.decode()
    assert '{\\"reason\\": ' in said


def test_a_model_without_a_profile_has_the_common_one() -> None:
    provider = Provider({"*": Profile(fixed="common"), "m": Profile(fixed="own")}, lambda *_, **__: None)
    bench = Bench()
    bench.provider = provider
    assert "own" in str(document(bench.ask()))
    assert "common" in str(document(bench.ask(model="n")))
    provider.set_profiles({"*": Profile(fixed="new")})
    assert "own" in str(document(bench.ask()))
    assert "new" in str(document(bench.ask(model="n")))


def asked_for(bench: Bench, method: str, path: str, sent: object = None) -> Delivery:
    return control(bench.provider, HttpRequest(method, f"/_simulator/{path}", b"", json.dumps(sent).encode()))


def test_a_new_profile_begins_its_schedule_anew() -> None:
    bench = Bench(schedule=["500"])
    assert [status(bench.ask()) for _ in range(2)] == [500, 200]
    assert status(asked_for(bench, "POST", "profiles", {"m": {"schedule": ["503"]}})) == 200
    assert [status(bench.ask()) for _ in range(2)] == [503, 200]


def test_a_reset_brings_the_start_back() -> None:
    bench = Bench(schedule=["500"])
    asked_for(bench, "POST", "profiles", {"m": {"schedule": ["503"]}})
    bench.ask()
    asked_for(bench, "POST", "reset")
    assert document(asked_for(bench, "GET", "ledger"))["requests"] == 0
    assert status(bench.ask()) == 500
    assert [call["seq"] for call in document(asked_for(bench, "GET", "ledger/calls?since=0"))] == [1]


@pytest.mark.parametrize(
    ("method", "path", "sent", "expected"),
    [
        ("POST", "profiles", {"m": {"nonsense": 1}}, 400),
        ("POST", "profiles", [], 400),
        ("GET", "ledger/calls?since=x", None, 400),
        ("GET", "nowhere", None, 404),
    ],
)
def test_a_wrong_wish_is_answered_with_words(method: str, path: str, sent: object, expected: int) -> None:
    answer = asked_for(Bench(), method, path, sent)
    assert status(answer) == expected
    assert document(answer)["error"]


def test_a_protocol_is_found_by_the_end_of_its_path() -> None:
    assert {wire.name for wire in WIRES.values()} == set(PATHS)
    assert wire_of("/openai/v1/chat/completions") is WIRES["/chat/completions"]
    assert wire_of("/v1/models/m:generateContent") is WIRES[":generateContent"]
    assert wire_of("/v1/embeddings") is None
