"""Every way a call can fail, as one ProviderFault: what the client raised stops here, and says no secret."""

import json
import math
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self

import httpx2

from evalq.calling.providers.transport import AnswerTooLarge, NeverConnects
from evalq.errors import FaultKind, ProviderFault
from evalq.records import Prompt

_CODE = re.compile(r"[A-Za-z][\w.-]{1,59}")
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,100}")
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_SAID_CHARS = 200
_QUOTED_CHARS = 20

_ACCOUNT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
# Anthropic says it with a 400, xAI with a 403 or 429, Google with a 429 that is else only a rate limit.
_ACCOUNT = re.compile(
    r"credit balance is too low|(used|exhausted) all (available )?credits|spend(ing)? limit"
    r"|credits? (are|is|have been) (depleted|exhausted)|insufficient (balance|credits?|funds)",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api key not valid|(incorrect|invalid) (x-)?api[ -]key|api_key_invalid", re.IGNORECASE)
# xAI refuses a single prompt with the 403 it also has for keys:
# https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267
_CONTENT_POLICY = re.compile(
    r"violates? (our )?(usage|content)|content_policy_violation|content_filter|responsibleai", re.IGNORECASE
)


@dataclass(frozen=True)
class ErrorAnswer:
    """An error answer; `code` is the provider's own name for it."""

    status: int
    code: str
    message: str
    retry_after_s: float | None
    request_id: str | None
    is_account: bool = False
    is_bad_key: bool = False
    is_content_policy: bool = False


def read_error_answer(response: httpx2.Response, *, private: tuple[str, ...]) -> ErrorAnswer:
    """Read an answer that is not 200, without its message if that repeats a private text.

    So nothing a case says can pass for the provider's own words, and pause a judge.
    """
    error = _error(response)
    details = [entry for entry in _list(error.get("details")) if isinstance(entry, dict)]
    codes = [code for code in _strings(error, "code", "type", "status") if _CODE.fullmatch(code)]
    message = _spoken(error)
    if any(repeats(message, text, _QUOTED_CHARS) for text in private):
        message = ""
    words = " ".join(
        (*codes, message, *(reason for entry in details for reason in _strings(entry, "reason")))
    )
    status = response.status_code
    return ErrorAnswer(
        status,
        code=next((code for code in codes if not any(repeats(code, text, 8) for text in private)), ""),
        message=message,
        retry_after_s=_retry_after_s(response.headers) or _retry_info_s(details),
        request_id=request_id(response.headers),
        is_account=status in (400, 402, 403, 429) and _is_account(codes, words, details),
        is_bad_key=status in (400, 401, 403) and bool(_BAD_KEY.search(words)),
        is_content_policy=status in (400, 403) and bool(_CONTENT_POLICY.search(words)),
    )


def repeats(words: str, private: str, length: int) -> bool:
    """True if `words` hold a run of so many characters of the private text, or all of it."""
    text = " ".join(private.split())
    length = min(length, len(text))
    return length > 0 and any(words[i : i + length] in text for i in range(len(words) - length + 1))


def request_id(headers: httpx2.Headers) -> str | None:
    """What the provider's support would ask for."""
    found = headers.get("request-id") or headers.get("x-request-id")
    return found if found and _REQUEST_ID.fullmatch(found) else None


def _error(response: httpx2.Response) -> dict[str, Any]:
    """The error object, wherever it is: under `error`, at the top, in a list of one, or a bare sentence."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return {}
    error = body.get("error", body)
    if isinstance(error, str):
        return {"code": body.get("code"), "message": error}
    return error if isinstance(error, dict) else {}


def _spoken(error: dict[str, Any]) -> str:
    """The message on one line, short, without what a terminal would obey."""
    message = next(iter(_strings(error, "message", "detail")), "")[: 2 * _SAID_CHARS]
    words = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return words if len(words) <= _SAID_CHARS else words[: _SAID_CHARS - 1] + "…"


def _strings(entry: dict[str, Any], *names: str) -> list[str]:
    return [entry[name] for name in names if isinstance(entry.get(name), str)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_account(codes: list[str], words: str, details: list[dict[str, Any]]) -> bool:
    if not _ACCOUNT_CODES.isdisjoint(codes) or _ACCOUNT.search(words):
        return True
    # Google names the quota. The daily one comes with a delay of seconds that nobody should wait for; a 429
    # that speaks of billing, but neither of a quota nor of a delay, is about the account.
    quotas = [str(entry) for detail in details for entry in _list(detail.get("violations"))]
    is_billing = "check your plan and billing" in words and _retry_info_s(details) is None
    return any("PerDay" in quota for quota in quotas) or (is_billing and not quotas)


def _retry_after_s(headers: httpx2.Headers) -> float | None:
    """`retry-after-ms`, then `retry-after` in seconds or as a date; nonsense is ignored."""
    in_ms = _amount(headers.get("retry-after-ms"))
    if in_ms is not None:
        return in_ms / 1000
    value = headers.get("retry-after")
    seconds = _amount(value)
    return seconds if seconds is not None else _seconds_until(value)


def _retry_info_s(details: list[dict[str, Any]]) -> float | None:
    for entry in details:
        if str(entry.get("@type")).endswith("RetryInfo"):
            delay = _DURATION.fullmatch(str(entry.get("retryDelay")))
            return float(delay[1]) if delay else None
    return None


def _amount(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until(date: str | None) -> float | None:
    try:
        seconds = parsedate_to_datetime(date or "").timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


_KEY_CHARS = 6

_KINDS: dict[int, FaultKind] = {
    401: "fatal",
    402: "fatal",
    403: "fatal",
    408: "transient",
    409: "transient",
    425: "transient",
    429: "rate",
    503: "transient",
    529: "transient",
}


@dataclass(frozen=True)
class Party:
    """Who is called: the name that messages may say, and the secrets they may not."""

    name: str
    key_name: str | None = None
    secrets: tuple[str, ...] = ()


class FaultsOf:
    """A call: whatever is raised inside becomes a ProviderFault.

    Its cause is cut off: an SDK's exception carries the request with key and prompt, or the provider's
    words, which may quote both. `request_id` is set once there is one: a reply that came but cannot be
    read is looked up by it.
    """

    def __init__(self, party: Party, prompt: Prompt) -> None:
        self._party = party
        self._prompt = prompt
        self.request_id: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, Exception) and not isinstance(exc, ProviderFault):
            fault = fault_of(exc, self._party, self._prompt)
            fault.request_id = fault.request_id or self.request_id
            raise fault from None


def fault_of(exc: Exception, party: Party, prompt: Prompt) -> ProviderFault:
    """The fault of an exception an SDK, the transport or the reading of a reply raised."""
    response = getattr(exc, "response", None)
    if isinstance(response, httpx2.Response):
        return fault_of_response(response, party, prompt)
    error = _transport_error(exc)
    if error is not None:
        return _unreached(error, party)
    if isinstance(exc, UnicodeEncodeError):
        return ProviderFault("permanent", "the prompt holds half a character, which cannot be sent")
    if isinstance(exc, ValueError | TypeError | AttributeError | LookupError):
        return ProviderFault("ambiguous", f"{party.name} sent a reply that cannot be read ({_type(exc)})")
    return ProviderFault("ambiguous", f"the call to {party.name} failed unexpectedly ({_type(exc)})")


def fault_of_response(response: httpx2.Response, party: Party, prompt: Prompt) -> ProviderFault:
    """The fault of an answer that is not 200."""
    refusal = read_error_answer(response, private=_private(prompt))
    kind = _kind(refusal)
    message = f"{party.name} answered {refusal.status}{_advice(refusal, kind, party)}"
    words = [refusal.code, refusal.message if kind in ("permanent", "fatal") else ""]
    said = ": ".join(word for word in words if word and _may_be_said(word, refusal, party))
    return ProviderFault(
        kind,
        f"{message}: {said}" if said else message,
        retry_after_s=refusal.retry_after_s,
        request_id=refusal.request_id,
    )


def _private(prompt: Prompt) -> tuple[str, ...]:
    inputs = (value for value in prompt.about.inputs.values() if isinstance(value, str))
    return (prompt.system, prompt.user, *inputs)


def _kind(refusal: ErrorAnswer) -> FaultKind:
    if refusal.is_content_policy:
        return "permanent"
    if refusal.is_account or refusal.is_bad_key:
        return "fatal"
    if refusal.status in _KINDS:
        return _KINDS[refusal.status]
    return "permanent" if 300 <= refusal.status < 500 else "ambiguous"


def _advice(refusal: ErrorAnswer, kind: FaultKind, party: Party) -> str:
    if refusal.is_content_policy:
        return " (its content policy)"
    if refusal.is_account or refusal.status == 402:
        return " (no credit or quota left)"
    if kind == "fatal":
        return f" (check {party.key_name})" if party.key_name else ""
    return " (it redirects; write the final address)" if 300 <= refusal.status < 400 else ""


def _may_be_said(words: str, refusal: ErrorAnswer, party: Party) -> bool:
    """A provider that does not like a key shows some of it."""
    is_about_key = refusal.is_bad_key or refusal.status == 401
    return not is_about_key and not any(repeats(words, secret, _KEY_CHARS) for secret in party.secrets)


def _transport_error(exc: BaseException | None) -> httpx2.TransportError | None:
    while exc is not None and not isinstance(exc, httpx2.TransportError):
        exc = exc.__cause__
    return exc


def _unreached(error: httpx2.TransportError, party: Party) -> ProviderFault:
    match error:
        case NeverConnects():
            return ProviderFault("fatal", f"cannot connect to {party.name}: {error}")
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return ProviderFault("transient", f"cannot connect to {party.name}; nothing was sent")
        case httpx2.TimeoutException():
            return ProviderFault("ambiguous", f"{party.name} did not answer within the deadline")
        case AnswerTooLarge():
            return ProviderFault("ambiguous", f"{party.name} sent an answer of {error}")
    return ProviderFault("ambiguous", f"{party.name} broke the connection off ({_type(error)})")


def _type(exc: BaseException) -> str:
    return type(exc).__name__
