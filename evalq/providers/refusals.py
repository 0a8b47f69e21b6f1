"""What a provider says when it refuses a call, read from the many shapes of its error answers."""

import json
import math
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

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
class Refusal:
    """An error answer; `code` is the provider's own name for it."""

    status: int
    code: str
    message: str
    retry_after_s: float | None
    request_id: str | None
    is_account: bool = False
    is_bad_key: bool = False
    is_content_policy: bool = False


def read_refusal(response: httpx2.Response, *, private: tuple[str, ...]) -> Refusal:
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
    return Refusal(
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
