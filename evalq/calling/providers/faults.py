"""Maps every way a call can fail to one ProviderFault; foreign exceptions and secrets stop here."""

import json
import re
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx2

from evalq.calling.providers.reply_reader import AnswerTooLarge
from evalq.calling.providers.routes import NeverConnects
from evalq.calling.providers.throttling import read_rate_hints, read_retry_info_s, read_wait_s
from evalq.errors import FaultKind, ProviderFault
from evalq.records import Prompt

_CODE = re.compile(r"[A-Za-z][\w.-]{1,59}")
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,100}")
_READ_CHARS = 1000
_MESSAGE_CHARS = 200

# Runs of this many characters count as a quotation: of a prompt in a message or a code, of a key in either.
_QUOTED_CHARS = 20
_QUOTED_CODE_CHARS = 8
_QUOTED_KEY_CHARS = 6
_SHORTEST_QUOTATION = 8

# Such as `enforced_spend_limit_reached`, `organization_on_hold`, `insufficient_quota`, `BILLING_DISABLED`.
_ACCOUNT_CODE = re.compile(
    r"(?:^|[_.-])(?:spend(?:ing)?[_-](?:limit|cap)|billing|on[_-]hold|account[_-]deactivated"
    r"|insufficient[_-](?:quota|balance|credits?|funds)|credits?[_-](?:depleted|exhausted))(?:$|[_.-])",
    re.IGNORECASE,
)
# Anthropic says it with a 400, xAI with a 403 or 429, Google with a 429 that is else only a rate limit.
_ACCOUNT = re.compile(
    r"credit balance is too low|(used|exhausted) all (available )?credits|spend(ing)? (limit|cap)"
    r"|credits? (are|is|have been) (depleted|exhausted)|insufficient (balance|credits?|funds)",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api key not valid|(incorrect|invalid) (x-)?api[ -]key|api_key_invalid", re.IGNORECASE)
# xAI refuses a single prompt with the 403 it also has for keys:
# https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267
_CONTENT_POLICY = re.compile(
    r"violates? (our )?(usage|content)|content_policy_violation|content_filter|responsibleai", re.IGNORECASE
)

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


_ANSWERS = ("choices", "content", "candidates")
_STATUS = re.compile(r"[45][0-9]{2}")
_STATUS_WORDS = {
    "rate_limit": 429,
    "resource_exhausted": 429,
    "overloaded": 503,
    "unavailable": 503,
    "authentication": 401,
    "unauthenticated": 401,
    "permission": 403,
    "server_error": 500,
    "api_error": 500,
    "internal": 500,
}


@dataclass(frozen=True)
class Party:
    """Who is called: the name that messages may contain, and the secrets they may not."""

    name: str
    key_name: str | None = None
    secrets: tuple[str, ...] = ()


class FaultsOf:
    """Wraps a call: whatever is raised inside becomes a ProviderFault.

    The cause is cut off: an SDK's exception carries the request with key and prompt, or the provider's
    words, which may quote both. Set `request_id` once it is known, so that an unreadable reply can be
    looked up.
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
    """The fault of an exception from an SDK, the transport or the reading of a reply."""
    response = getattr(exc, "response", None)
    if isinstance(response, httpx2.Response):
        return fault_of_response(response, party, prompt)
    error = _find_transport_error(exc)
    if error is not None:
        return _fault_of_transport(error, party)
    name = type(exc).__name__
    if isinstance(exc, UnicodeEncodeError):
        return ProviderFault("permanent", "the prompt holds half a character, which cannot be sent")
    if isinstance(exc, ValueError | TypeError | AttributeError | LookupError):
        return ProviderFault("ambiguous", f"{party.name} sent a reply that cannot be read ({name})")
    return ProviderFault("ambiguous", f"the call to {party.name} failed unexpectedly ({name})")


def _find_transport_error(exc: BaseException | None) -> httpx2.TransportError | None:
    while exc is not None and not isinstance(exc, httpx2.TransportError):
        exc = exc.__cause__
    return exc


def _fault_of_transport(error: httpx2.TransportError, party: Party) -> ProviderFault:
    match error:
        case NeverConnects():
            return ProviderFault("fatal", f"cannot connect to {party.name}: {error}")
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            place = f"{party.name}{_find_server(error)}"
            message = f"cannot connect to {place}: {error}; nothing was sent"
            return ProviderFault("transient", message, is_unreachable=True)
        case httpx2.TimeoutException():
            return ProviderFault("ambiguous", f"{party.name} did not answer within the deadline")
        case AnswerTooLarge():
            return ProviderFault("ambiguous", f"{party.name} sent an answer of {error}")
    return ProviderFault("ambiguous", f"{party.name} broke the connection off ({type(error).__name__})")


def _find_server(failed: httpx2.TransportError | httpx2.Response) -> str:
    """` at HOST:PORT` of the request that failed, if it is known."""
    try:
        url = failed.request.url
    except RuntimeError:  # it came without its request
        return ""
    return f" at {url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"


def refuse_error_body(response: httpx2.Response, party: Party, prompt: Prompt) -> None:
    """Raise the fault of an answer of 200 whose body is an error and no answer: some routers answer so."""
    if b'"error"' not in response.content:
        return
    body = _read_body(response)
    if body.get("error") and not any(body.get(name) for name in _ANSWERS):
        status = _find_status(_find_error(response))
        as_refused = httpx2.Response(status, headers=response.headers, content=response.content)
        fault = fault_of_response(as_refused, party, prompt)
        fault.message = fault.message.replace(f"answered {status}", f"answered 200 with error {status}", 1)
        raise fault


def _find_status(error: dict[str, Any]) -> int:
    """The status an error body stands for: its code, or what its type says; otherwise a bad request."""
    for name in ("code", "status"):
        code = error.get(name)
        if isinstance(code, str) and _STATUS.fullmatch(code):
            code = int(code)
        if isinstance(code, int) and 400 <= code <= 599:
            return code
    words = " ".join(_pick_strings(error, "code", "type", "status")).lower()
    return next((status for word, status in _STATUS_WORDS.items() if word in words), 400)


def fault_of_response(response: httpx2.Response, party: Party, prompt: Prompt) -> ProviderFault:
    """The fault of an answer that is not 200."""
    inputs = [value for value in prompt.about.inputs.values() if isinstance(value, str)]
    answer = read_error_answer(response, private=(prompt.system, prompt.user, *inputs))
    kind = _decide_kind(answer)
    place = _find_server(response) if kind in ("transient", "ambiguous") else ""
    message = f"{party.name}{place} answered {answer.status}{_advise(answer, kind, party)}"
    words = [answer.code]
    if kind in ("permanent", "fatal"):
        words.append(answer.message)
    for word in words:
        if word and _may_be_shown(word, answer, party):
            message += f": {word}"
    hints = read_rate_hints(response.headers) if kind == "rate" else None
    return ProviderFault(
        kind, message, retry_after_s=answer.retry_after_s, request_id=answer.request_id, rate_hints=hints
    )


@dataclass(frozen=True)
class ErrorAnswer:
    """An answer that is not 200; `code` is the provider's own name for the error."""

    status: int
    code: str
    message: str
    retry_after_s: float | None
    request_id: str | None
    is_account: bool = False
    is_bad_key: bool = False
    is_content_policy: bool = False


def _decide_kind(answer: ErrorAnswer) -> FaultKind:
    if answer.is_content_policy:
        return "permanent"
    if answer.is_account or answer.is_bad_key:
        return "fatal"
    if answer.status in _KINDS:
        return _KINDS[answer.status]
    return "permanent" if 300 <= answer.status < 500 else "ambiguous"


def _advise(answer: ErrorAnswer, kind: FaultKind, party: Party) -> str:
    if answer.is_content_policy:
        return " (its content policy)"
    if answer.is_account or answer.status == 402:
        return " (no credit or quota left)"
    if kind == "fatal":
        return f" (check {party.key_name})" if party.key_name else ""
    if 300 <= answer.status < 400:
        return " (it redirects; write the final address)"
    return ""


def _may_be_shown(words: str, answer: ErrorAnswer, party: Party) -> bool:
    """Whether no key is in the words: a provider that rejects a key shows some of it."""
    if answer.is_bad_key or answer.status == 401:
        return False
    return not any(_quotes(words, secret, _QUOTED_KEY_CHARS) for secret in party.secrets)


def read_error_answer(response: httpx2.Response, *, private: tuple[str, ...]) -> ErrorAnswer:
    """Read an answer that is not 200, without its message if that quotes a private text.

    Otherwise the text of a case could pass for the provider's own words, and pause a judge.
    """
    error = _find_error(response)
    details = _find_details(error)
    codes = [code for code in _pick_strings(error, "code", "type", "status") if _CODE.fullmatch(code)]
    for entry in details:
        codes += [code for code in _pick_strings(entry, "error_code", "reason") if _CODE.fullmatch(code)]
    whole = _clean_message(error)
    if any(_quotes(whole, text, _QUOTED_CHARS) for text in private):
        whole = ""
    words = " ".join((*codes, whole))
    status = response.status_code
    return ErrorAnswer(
        status,
        code=_choose_code(codes, private),
        message=whole if len(whole) <= _MESSAGE_CHARS else whole[: _MESSAGE_CHARS - 1] + "…",
        retry_after_s=read_wait_s(response.headers, details, whole),
        request_id=request_id(response.headers),
        is_account=status in (400, 402, 403, 429) and _is_account(codes, words, details),
        is_bad_key=status in (400, 401, 403) and bool(_BAD_KEY.search(words)),
        is_content_policy=status in (400, 403)
        and (_is_moderated(error) or bool(_CONTENT_POLICY.search(words))),
    )


def request_id(headers: httpx2.Headers) -> str | None:
    """The id by which the provider's support finds a request."""
    found = headers.get("request-id") or headers.get("x-request-id")
    return found if found and _REQUEST_ID.fullmatch(found) else None


def _find_details(error: dict[str, Any]) -> list[dict[str, Any]]:
    """The details of an error: Google sends a list of objects, Anthropic one object."""
    details = error.get("details")
    found = details if isinstance(details, list) else [details]
    return [entry for entry in found if isinstance(entry, dict)]


def _is_moderated(error: dict[str, Any]) -> bool:
    """Whether a router refused this one prompt: https://openrouter.ai/docs/api-reference/errors"""
    metadata = error.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("reasons") or metadata.get("flagged_input"))


def _read_body(response: httpx2.Response) -> dict[str, Any]:
    """The JSON object of a body, or the first of a list; empty if there is none."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    if isinstance(body, list) and body:
        body = body[0]
    return body if isinstance(body, dict) else {}


def _find_error(response: httpx2.Response) -> dict[str, Any]:
    """The error object, wherever it is: under `error`, at the top, in a list of one, or a bare sentence."""
    body = _read_body(response)
    error = body.get("error", body)
    if isinstance(error, str):
        return {"code": body.get("code"), "message": error}
    return error if isinstance(error, dict) else {}


def _clean_message(error: dict[str, Any]) -> str:
    """The message on one line, bounded, without control characters."""
    messages = _pick_strings(error, "message", "detail")
    if not messages:
        return ""
    printable = [c if c.isprintable() else " " for c in messages[0][:_READ_CHARS]]
    return " ".join("".join(printable).split())


def _choose_code(codes: list[str], private: tuple[str, ...]) -> str:
    """The first code that quotes no private text."""
    for code in codes:
        if not any(_quotes(code, text, _QUOTED_CODE_CHARS) for text in private):
            return code
    return ""


def _quotes(words: str, private: str, length: int) -> bool:
    """Whether `words` contain `length` characters in a row of the private text, or all of it.

    A shorter text counts only if it is not a word that anybody may use, such as `A` or `question`.
    """
    text = " ".join(private.split())
    if len(text) < min(length, _SHORTEST_QUOTATION) or (len(text) < length and text.isalpha()):
        return False
    length = min(length, len(text))
    return any(words[i : i + length] in text for i in range(len(words) - length + 1))


def _is_account(codes: list[str], words: str, details: list[dict[str, Any]]) -> bool:
    """Whether the account, not the request, is the problem: credit, quota or billing."""
    if any(map(_ACCOUNT_CODE.search, codes)) or _ACCOUNT.search(words):
        return True
    # Google names the quota. The daily one comes with a delay of seconds that is not worth waiting for; a
    # 429 that mentions billing, but neither a quota nor a delay, is about the account.
    quotas: list[str] = []
    for detail in details:
        quotas += map(str, _list_or_empty(detail.get("violations")))
    if any("PerDay" in quota for quota in quotas):
        return True
    is_billing = "check your plan and billing" in words and read_retry_info_s(details) is None
    return is_billing and not quotas


def _pick_strings(entry: dict[str, Any], *names: str) -> list[str]:
    return [entry[name] for name in names if isinstance(entry.get(name), str)]


def _list_or_empty(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
