"""The simulated provider: from one request to what is sent back, when and how, with the ledger written."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from statistics import NormalDist
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.engines.simulator.answers import Recall, make_reply
from evalq.engines.simulator.exchange import (
    Delivery,
    How,
    HttpRequest,
    ModelReply,
    ModelRequest,
    digest,
    draw,
    response,
)
from evalq.engines.simulator.ledger import Ledger, LedgerEntry
from evalq.engines.simulator.profile import ANY_MODEL, Fault, Profile, RateLimits, parse_fault
from evalq.engines.simulator.protocols.wire import Wire

PREFIX = "/_simulator/"
"""Of the requests to the simulator itself."""

ELSEWHERE = "/elsewhere"
"""Where a redirect leads: the same paths under it, without faults."""

_REDIRECTED = "redirected"
_WAYS: dict[str, How] = {
    "reset_before": "reset",
    "reset_after": "reset",
    "reset_body": "send_half",
    "eof": "eof",
    "hang": "hang",
    "drip": "drip",
}
_BAD_GATEWAY = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n"
_PAGE = b"<!DOCTYPE html><html><body>Please sign in.</body></html>"
_HTML = "text/html; charset=utf-8"
_Z95 = NormalDist().inv_cdf(0.95)
_PROFILES: TypeAdapter[dict[str, Profile]] = TypeAdapter(dict[str, Profile])


@dataclass(slots=True)
class _Model:
    """One model: its profile, what is left of its limits, and how often each prompt came."""

    profile: Profile
    limits: RateLimits
    attempts: dict[str, int] = field(default_factory=dict)

    def next_fault(self, seed: str) -> Fault | None:
        """The fault of this prompt's next attempt: the schedule's, else one drawn by the shares."""
        profile = self.profile
        if not (profile.schedule or profile.faults):
            return None
        attempt = self.attempts.get(seed, 0)
        self.attempts[seed] = attempt + 1
        if profile.schedule:
            return parse_fault(profile.schedule[attempt]) if attempt < len(profile.schedule) else None
        return _draw_fault(profile.faults, draw(seed, "fault", str(attempt)))


@dataclass(slots=True)
class _Call:
    """One request on its way through."""

    wire: Wire
    asked: ModelRequest
    model: _Model
    seed: str
    seq: int
    now: float
    fault: Fault | None = None
    reply: ModelReply | None = None


class Provider:
    """Answers requests by the profiles of the models they name."""

    def __init__(
        self, profiles: Mapping[str, Profile], recall: Recall, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._started_with = dict(profiles)
        self._recall = recall
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Everything as it was at the start: profiles, schedules, limits, an empty ledger."""
        self.ledger = Ledger()
        self._profiles = dict(self._started_with)
        self._models: dict[str, _Model] = {}

    def set_profiles(self, profiles: Mapping[str, Profile]) -> None:
        """Give models another profile; their schedules and limits start over."""
        self._profiles.update(profiles)
        stale = {name for name in self._models if ANY_MODEL in profiles and name not in self._profiles}
        for name in stale | set(profiles):
            self._models.pop(name, None)

    def take(self, wire: Wire, request: HttpRequest) -> Delivery:
        """One request, from its bytes to its end."""
        asked = _read_request(wire, request)
        call = self._call(wire, asked or ModelRequest("", "", "", ""))
        call.fault = self._find_fault(call, request) if asked else Fault("unreadable", "unreadable")
        if call.fault is None or call.fault.is_billed:
            kind = call.fault.kind if call.fault else ""
            call.reply = make_reply(call.asked, call.model.profile, kind, seed=call.seed, recall=self._recall)
        return self._deliver(call, request)

    def _call(self, wire: Wire, asked: ModelRequest) -> _Call:
        seed = digest(asked.model, asked.prompt)
        return _Call(wire, asked, self._model(asked.model), seed, self.ledger.next_seq(), self._clock())

    def _model(self, name: str) -> _Model:
        model = self._models.get(name)
        if model is None:
            profile = self._profiles.get(name) or self._profiles.get(ANY_MODEL) or Profile()
            model = self._models[name] = _Model(profile, RateLimits(profile.rpm, profile.input_tpm))
        return model

    def _find_fault(self, call: _Call, request: HttpRequest) -> Fault | None:
        """The fault of a bad request, else the next scheduled or drawn fault."""
        profile = call.model.profile
        if call.asked.is_streamed:
            return Fault("streamed", "streamed")
        if profile.require_key is not None and _read_key(request) != profile.require_key:
            return Fault("require_key", "401")
        if profile.refuse_temperature and call.asked.has_temperature:
            return Fault("refuse_temperature", "temperature")
        if refused := call.model.limits.refuse(call.asked.input_tokens, call.now):
            return Fault(refused[0], "429", "seconds", ceil(refused[1]))
        return None if request.target.startswith(ELSEWHERE) else call.model.next_fault(call.seed)

    def _deliver(self, call: _Call, request: HttpRequest) -> Delivery:
        how = _WAYS.get(call.fault.kind, "send") if call.fault else "send"
        status, data = (0, b"") if how in ("reset", "eof", "hang") else _render(call, request)
        tally = self.ledger.open(_make_entry(call, request, status))
        delay_s = (
            0.0 if call.fault and call.fault.is_at_once else _draw_latency_s(call.model.profile, call.seed)
        )
        return Delivery(how, data, delay_s, tally)


def _read_request(wire: Wire, request: HttpRequest) -> ModelRequest | None:
    try:
        asked = wire.read(request.path, json.loads(request.body))
        return asked if isinstance(asked.model, str) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _read_key(request: HttpRequest) -> str:
    """The caller's key in whichever header its protocol has."""
    bearer = request.header(b"authorization").removeprefix("Bearer ")
    return bearer or request.header(b"x-api-key") or request.header(b"x-goog-api-key")


def _draw_fault(shares: Mapping[str, float], chance: float) -> Fault | None:
    for name, share in shares.items():
        if chance < share:
            return parse_fault(name)
        chance -= share
    return None


def _draw_latency_s(profile: Profile, seed: str) -> float:
    p50, p95 = profile.latency_ms.p50, profile.latency_ms.p95
    if p50 == p95 or not p50:
        return p50 / 1000
    z = NormalDist().inv_cdf(draw(seed, "latency") or 0.5)
    return float(p50 * (p95 / p50) ** (z / _Z95)) / 1000


def _make_entry(call: _Call, request: HttpRequest, status: int) -> LedgerEntry:
    fault = call.fault.name if call.fault else None
    reply = call.reply
    return LedgerEntry(
        seq=call.seq,
        at=call.now,
        model=call.asked.model,
        protocol=call.wire.name,
        key=request.header(b"x-evalq-call") or call.seed,
        billed=reply is not None,
        fault=_REDIRECTED if fault is None and request.target.startswith(ELSEWHERE) else fault,
        input_tokens=reply.input_tokens if reply else 0,
        output_tokens=reply.output_tokens if reply else 0,
        status=status,
    )


def _render(call: _Call, request: HttpRequest) -> tuple[int, bytes]:
    """Status and bytes of the response, whether or not the connection delivers them."""
    headers = call.wire.headers(call.model.limits.standing(call.now), call.seq)
    kind = call.fault.kind if call.fault else ""
    if kind == "redirect":
        return 307, response(307, b"", f"location: {ELSEWHERE}{request.target}\r\n{headers}")
    if kind == "502":
        return 502, response(502, _BAD_GATEWAY, "", _HTML)
    if kind == "html":
        return 200, response(200, _PAGE, headers, _HTML)
    if call.reply:
        return 200, response(200, _render_body(call, call.reply, kind), headers)
    assert call.fault
    status, body = call.wire.failure(call.fault, call.asked.model, call.seq)
    return status, response(status, body.encode(), headers + call.wire.retry_headers(call.fault))


def _render_body(call: _Call, reply: ModelReply, kind: str) -> bytes:
    if kind == "wrong_shape":
        return b'{"foo": 1}'
    body = call.wire.success(call.asked, reply, call.seq).encode()
    return body[: len(body) * 2 // 3] if kind == "malformed" else body


def control(provider: Provider, request: HttpRequest) -> Delivery:
    """Answer one of the simulator's own requests."""
    act = _ACTIONS.get((request.method, request.path.removeprefix(PREFIX)))
    if act is None:
        return _answer_json(404, {"error": f"known: {', '.join(f'{m} {PREFIX}{p}' for m, p in _ACTIONS)}"})
    try:
        return _answer_json(200, act(provider, request))
    except ValidationError as exc:
        problems = (f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in exc.errors())
        return _answer_json(400, {"error": "; ".join(problems)})
    except ValueError as exc:
        return _answer_json(400, {"error": str(exc)})


def _show_ledger(provider: Provider, request: HttpRequest) -> Any:
    del request
    return provider.ledger.document()


def _show_calls(provider: Provider, request: HttpRequest) -> Any:
    return provider.ledger.calls(int(request.target.partition("since=")[2] or 0))


def _set_profiles(provider: Provider, request: HttpRequest) -> Any:
    profiles = _PROFILES.validate_python(json.loads(request.body))
    provider.set_profiles(profiles)
    return {"profiles": sorted(profiles)}


def _reset(provider: Provider, request: HttpRequest) -> Any:
    del request
    provider.reset()
    return {"reset": True}


_ACTIONS: dict[tuple[str, str], Callable[[Provider, HttpRequest], Any]] = {
    ("GET", "ledger"): _show_ledger,
    ("GET", "ledger/calls"): _show_calls,
    ("POST", "profiles"): _set_profiles,
    ("POST", "reset"): _reset,
}


def _answer_json(status: int, document: Any) -> Delivery:
    return Delivery("send", response(status, json.dumps(document).encode()))
