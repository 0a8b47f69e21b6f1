"""The simulator's own paths, under /_simulator: read the ledger, set profiles, begin anew."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.simulator.exchange import Delivery
from evalq.simulator.http import Request, response
from evalq.simulator.profile import Profile
from evalq.simulator.provider import Provider

PREFIX = "/_simulator/"

_PROFILES: TypeAdapter[dict[str, Profile]] = TypeAdapter(dict[str, Profile])


def control(provider: Provider, request: Request) -> Delivery:
    """Answer one of the simulator's own requests."""
    act = _ACTIONS.get((request.method, request.path.removeprefix(PREFIX)))
    if act is None:
        return _reply(404, {"error": f"known: {', '.join(f'{m} {PREFIX}{p}' for m, p in _ACTIONS)}"})
    try:
        return _reply(200, act(provider, request))
    except ValidationError as exc:
        problems = (f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in exc.errors())
        return _reply(400, {"error": "; ".join(problems)})
    except ValueError as exc:
        return _reply(400, {"error": str(exc)})


def _ledger(provider: Provider, request: Request) -> Any:
    del request
    return provider.ledger.document()


def _calls(provider: Provider, request: Request) -> Any:
    return provider.ledger.calls(int(request.target.partition("since=")[2] or 0))


def _set_profiles(provider: Provider, request: Request) -> Any:
    profiles = _PROFILES.validate_python(json.loads(request.body))
    provider.set_profiles(profiles)
    return {"profiles": sorted(profiles)}


def _reset(provider: Provider, request: Request) -> Any:
    del request
    provider.reset()
    return {"reset": True}


_ACTIONS: dict[tuple[str, str], Callable[[Provider, Request], Any]] = {
    ("GET", "ledger"): _ledger,
    ("GET", "ledger/calls"): _calls,
    ("POST", "profiles"): _set_profiles,
    ("POST", "reset"): _reset,
}


def _reply(status: int, document: Any) -> Delivery:
    return Delivery("send", response(status, json.dumps(document).encode()))
