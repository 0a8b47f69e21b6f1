"""Every way a call can fail, as one ProviderFault: what the client raised stops here, and says no secret."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpx2

from evalq.errors import FaultKind, ProviderFault
from evalq.providers.refusals import Refusal, read_refusal, repeats
from evalq.providers.transport import AnswerTooLarge, NeverConnects
from evalq.records import Prompt

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
    words, which may quote both.
    """

    def __init__(self, party: Party, prompt: Prompt) -> None:
        self._party = party
        self._prompt = prompt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, Exception) and not isinstance(exc, ProviderFault):
            raise fault_of(exc, self._party, self._prompt) from None


def fault_of(exc: Exception, party: Party, prompt: Prompt) -> ProviderFault:
    """The fault of an exception an SDK, the transport or the reading of a reply raised."""
    response = getattr(exc, "response", None)
    if isinstance(response, httpx2.Response):
        return refused(response, party, prompt)
    error = _transport_error(exc)
    if error is not None:
        return _unreached(error, party)
    if isinstance(exc, UnicodeEncodeError):
        return ProviderFault("permanent", "the prompt holds half a character, which cannot be sent")
    if isinstance(exc, ValueError | TypeError | AttributeError | LookupError):
        return ProviderFault("ambiguous", f"{party.name} sent a reply that cannot be read ({_type(exc)})")
    return ProviderFault("ambiguous", f"the call to {party.name} failed unexpectedly ({_type(exc)})")


def refused(response: httpx2.Response, party: Party, prompt: Prompt) -> ProviderFault:
    """The fault of an answer that is not 200."""
    refusal = read_refusal(response, private=_private(prompt))
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


def _kind(refusal: Refusal) -> FaultKind:
    if refusal.is_content_policy:
        return "permanent"
    if refusal.is_account or refusal.is_bad_key:
        return "fatal"
    if refusal.status in _KINDS:
        return _KINDS[refusal.status]
    return "permanent" if 300 <= refusal.status < 500 else "ambiguous"


def _advice(refusal: Refusal, kind: FaultKind, party: Party) -> str:
    if refusal.is_content_policy:
        return " (its content policy)"
    if refusal.is_account or refusal.status == 402:
        return " (no credit or quota left)"
    if kind == "fatal":
        return f" (check {party.key_name})" if party.key_name else ""
    return " (name the final address as base_url)" if 300 <= refusal.status < 400 else ""


def _may_be_said(words: str, refusal: Refusal, party: Party) -> bool:
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
