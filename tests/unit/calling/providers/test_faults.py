import json
import pickle
import time
import traceback
from email.utils import formatdate
from typing import Any

import httpx2
import pytest

from evalq.calling.providers.faults import FaultsOf, Party, fault_of, fault_of_response
from evalq.calling.providers.reply_reader import AnswerTooLarge
from evalq.calling.providers.routes import NeverConnects
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Prompt

KEY = "sk-proj-0123456789abcdef"
PARTY = Party("acme", "ACME_KEY", (KEY,))
TEXT = "The treaty of Tordesillas was signed in 1494, said the insufficient funds clause."
PROMPT = Prompt(
    "You are an auditor.", TEXT, 10, CaseContext("t", "c", inputs={"source": "a wholly private source"})
)


def answer(status: int, body: Any = None, **headers: str) -> httpx2.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.Response(status, headers=names, content=content)


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def fault(status: int, body: Any = None, **headers: str) -> ProviderFault:
    return fault_of_response(answer(status, body, **headers), PARTY, PROMPT)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after_ms": "soon", "retry_after": "9"}, 9),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "tomorrow"}, None),
        ({"retry_after": "Wed, 99 Foo 2026 99:99:99 GMT"}, None),
        ({"retry_after": formatdate(time.time() - 60, usegmt=True)}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_where_it_makes_sense(headers: dict[str, str], seconds: float | None) -> None:
    assert fault(429, None, **headers).retry_after_s == seconds


def test_retry_after_can_be_a_date() -> None:
    found = fault(503, None, retry_after=formatdate(time.time() + 30, usegmt=True))
    assert found.retry_after_s == pytest.approx(30, abs=1.5)


def google_429(*details: dict[str, Any]) -> dict[str, Any]:
    message = "You exceeded your current quota, please check your plan and billing details."
    return error(message, code=429, status="RESOURCE_EXHAUSTED", details=list(details))


def quota(name: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": name}]}


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}


def test_google_says_in_its_body_when_to_come_back() -> None:
    found = fault(429, google_429(quota("RequestsPerMinute"), RETRY_INFO))
    assert (found.kind, found.retry_after_s) == ("rate", 13.5)
    assert fault(429, [google_429(RETRY_INFO)]).retry_after_s == 13.5
    assert fault(429, google_429(RETRY_INFO | {"retryDelay": "nans"}, quota("m"))).retry_after_s is None


def test_googles_quota_of_the_day_is_not_waited_for() -> None:
    assert fault(429, google_429(quota("RequestsPerDayPerProject"), RETRY_INFO)).kind == "fatal"
    assert fault(429, google_429()).kind == "fatal"
    assert fault(429, error("Resource has been exhausted (e.g. check quota).")).kind == "rate"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, error("…", code="insufficient_quota")),
        (429, {"code": "x", "error": "Your team has either used all available credits or reached its limit"}),
        (403, error("You have reached your monthly spending limit.")),
        (400, error("Your credit balance is too low to access the API.", type="invalid_request_error")),
        (402, b"<html>"),
        (429, error("Your prepayment credits are depleted.")),
    ],
)
def test_an_empty_account_is_fatal(status: int, body: Any) -> None:
    found = fault(status, body)
    assert found.kind == "fatal"
    assert "no credit or quota left" in found.message


def test_what_a_case_says_cannot_pause_a_judge() -> None:
    assert fault(400, error(f"invalid input: {TEXT}")).kind == "permanent"
    assert fault(400, error("insufficient funds")).kind == "fatal"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "API key not valid. Please pass a valid API key."),
        (400, f"Incorrect API key provided: {KEY[:10]}***{KEY[-4:]}"),
        (401, f"invalid: {KEY}"),
        (403, f"key {KEY[6:14]} is not allowed"),
    ],
)
def test_a_refused_key_is_fatal_and_never_shown(status: int, message: str) -> None:
    found = fault(status, error(message))
    assert found.kind == "fatal"
    assert "check ACME_KEY" in found.message
    assert not any(KEY[i : i + 6] in str(found) for i in range(len(KEY) - 5))


def test_a_content_policy_refuses_a_request_and_not_the_judge() -> None:
    body = {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: BIO"}
    found = fault(403, body)
    assert found.kind == "permanent"
    assert "content policy" in found.message


@pytest.mark.parametrize("private", [TEXT, TEXT[20:50], "You are an auditor.", "a wholly private source"])
def test_a_message_that_quotes_the_prompt_is_left_out(private: str) -> None:
    found = fault(400, error(f"bad: {private}", code="bad_input"))
    assert str(found) == "permanent: acme answered 400: bad_input"


def test_a_message_is_short_and_harmless_on_a_terminal() -> None:
    found = fault(422, error("\x1b[31mred\n" + "long " * 500))
    assert "\x1b" not in found.message
    assert "\n" not in found.message
    assert len(found.message) < 260


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"[1]",
        b'"x"',
        b'{"error": 3}',
        b'{"error": {"message": {}, "details": 7}}',
        b"[" * 99999,
    ],
)
def test_any_body_can_be_refused_with(body: bytes) -> None:
    assert fault(500, body).message == "acme answered 500"


def test_other_codes_have_the_kind_of_their_class() -> None:
    kinds = {status: fault(status).kind for status in (301, 307, 405, 418, 451, 425, 501, 520)}
    assert [kinds[status] for status in (301, 307, 405, 418, 451)] == ["permanent"] * 5
    assert (kinds[425], kinds[501], kinds[520]) == ("transient", "ambiguous", "ambiguous")


def test_the_request_id_is_kept_if_it_is_one() -> None:
    assert fault(500, None, request_id="req_1").request_id == "req_1"
    assert fault(500, None, x_request_id="req_2").request_id == "req_2"
    assert fault(500, None, x_request_id="x" * 101).request_id is None


class Wrapped(Exception):
    """An SDK's own error around one of httpx2's."""


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        (NeverConnects("the server's certificate is not trusted"), "fatal"),
        (httpx2.ConnectError("x"), "transient"),
        (httpx2.ConnectTimeout("x"), "transient"),
        (httpx2.ReadTimeout("x"), "ambiguous"),
        (httpx2.WriteTimeout("x"), "ambiguous"),
        (httpx2.ReadError("x"), "ambiguous"),
        (AnswerTooLarge("more than 20 MB"), "ambiguous"),
    ],
)
def test_an_error_of_the_transport_is_found_inside_the_sdks(inner: Exception, kind: str) -> None:
    outer = Wrapped()
    outer.__cause__ = inner
    assert fault_of(outer, PARTY, PROMPT).kind == kind
    assert fault_of(inner, PARTY, PROMPT).kind == kind


def test_the_unexpected_is_ambiguous_and_named_by_its_type_alone() -> None:
    with pytest.raises(ProviderFault) as caught, FaultsOf(PARTY, PROMPT):
        raise RuntimeError(f"{KEY} {TEXT}")
    assert caught.value.kind == "ambiguous"
    assert "RuntimeError" in caught.value.message
    shown = "".join(traceback.format_exception(caught.value)) + repr(pickle.dumps(caught.value))
    assert KEY not in shown
    assert TEXT not in shown


def test_a_fault_passes_and_an_interrupt_is_not_one() -> None:
    with pytest.raises(ProviderFault, match="already said"), FaultsOf(PARTY, PROMPT):
        raise ProviderFault("permanent", "already said")
    with pytest.raises(KeyboardInterrupt), FaultsOf(PARTY, PROMPT):
        raise KeyboardInterrupt


def test_a_fault_knows_the_request_that_came_before_it() -> None:
    call = FaultsOf(PARTY, PROMPT)
    call.request_id = "req_3"
    with pytest.raises(ProviderFault) as caught, call:
        json.loads("<html>")
    assert (caught.value.kind, caught.value.request_id) == ("ambiguous", "req_3")
