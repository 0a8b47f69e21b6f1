"""The review API over HTTP, in JSON: the next item, rate, undo, status."""

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio.from_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from evalq.definitions.located import load_json
from evalq.errors import EvalqError, InputError, Refused, Unreachable
from evalq.review import Given, next_item, rate, status, undo
from evalq.review.identity import refuse_borrowed, refuse_unless_lead, sign_in
from evalq.review.ratings import find_item
from evalq.store import bakeoffs
from evalq.store.database import Database
from evalq.store.reviewers import SignedIn

MAX_BODY_BYTES = 64 * 1024

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_BODY_KEYS = {"reviewer", "rating", "comment", "adjudicate"}

Handler = Callable[[Request], Mapping[str, Any]]


@dataclass(frozen=True)
class AccessRule:
    """Admits requests that carry the token and address the server by one of its names.

    The names keep out pages of other origins whose host was made to resolve to this address.
    """

    token: str | None
    hosts: frozenset[str]

    def check(self, request: Request, db: Database) -> SignedIn | None:
        """Refuse a request under a foreign name, from a foreign page, or without a token.

        Return the reviewer whose own token it carries, if it does.
        """
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname
        if host not in self.hosts:
            raise HTTPException(421, "this server does not have that name; see --allow-host")
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).hostname not in self.hosts:
            raise HTTPException(403, "a page of another origin may not send requests")
        sent = request.headers.get("authorization", "")
        reviewer = sign_in(db, sent.removeprefix("Bearer "))
        if reviewer is not None or self.token is None:
            return reviewer
        if not secrets.compare_digest(sent.encode(), f"Bearer {self.token}".encode()):
            raise HTTPException(
                401, "send the token: Authorization: Bearer …", {"www-authenticate": "Bearer"}
            )
        return None


def review_app(db: Database, *, token: str | None, hosts: Collection[str]) -> Starlette:
    """The API over a database. Without a token, anyone who reaches it may rate.

    A reviewer's own token names them; the server's token speaks for names that nobody signs in with.
    """
    access = AccessRule(token, frozenset(host.lower().strip("[]") for host in hosts))

    def route(path: str, method: str, handle: Callable[[Database, Request], Mapping[str, Any]]) -> Route:
        def endpoint(request: Request) -> JSONResponse:
            request.state.reviewer = access.check(request, db)
            _refuse_unstorable([*request.query_params.values(), *request.path_params.values()])
            return JSONResponse(handle(db, request), headers=_HEADERS)

        return Route(path, endpoint, methods=[method])

    return Starlette(
        routes=[
            route("/api/reviews/next", "GET", _next),
            route("/api/reviews/status", "GET", _status),
            route("/api/reviews/{item}", "POST", _rate),
            route("/api/reviews/{item}", "DELETE", _undo),
        ],
        exception_handlers={HTTPException: _refuse, EvalqError: _explain, Exception: _hide},
    )


def _next(db: Database, request: Request) -> Mapping[str, Any]:
    asked = request.query_params
    adjudicates = asked.get("adjudicate", "").lower() in ("1", "true", "yes")
    reviewer = _identify(db, request, asked.get("reviewer"), adjudicates=adjudicates)
    offer = next_item(
        db,
        _find_bakeoff(db, request),
        reviewer,
        grader=asked.get("grader"),
        adjudicates=adjudicates,
    )
    return offer.to_dict()


def _rate(db: Database, request: Request) -> Mapping[str, Any]:
    body = _read_body(request)
    item = _find_item(db, request)
    rating, comment, adjudicates = body.get("rating"), body.get("comment", ""), body.get("adjudicate", False)
    if rating is None or not isinstance(comment, str) or not isinstance(adjudicates, bool):
        raise HTTPException(400, "send {reviewer, rating, comment, adjudicate}: rating is needed")
    named = body.get("reviewer", request.query_params.get("reviewer"))
    reviewer = _identify(db, request, named, adjudicates=adjudicates)
    return rate(db, Given(item, reviewer, rating, comment, adjudicates)).to_dict()


def _undo(db: Database, request: Request) -> Mapping[str, Any]:
    reviewer = _identify(db, request, request.query_params.get("reviewer"))
    return undo(db, reviewer, item=_find_item(db, request)).to_dict()


def _status(db: Database, request: Request) -> Mapping[str, Any]:
    bakeoff_id = _find_bakeoff(db, request)
    return status(db, bakeoff_id if bakeoff_id is not None else bakeoffs.find(db, "last")).to_dict()


def _find_item(db: Database, request: Request) -> str:
    try:
        return find_item(db, request.path_params["item"]).token
    except InputError as exc:
        raise HTTPException(404, str(exc)) from None


def _identify(db: Database, request: Request, named: object, *, adjudicates: bool = False) -> str:
    """Who acts: the owner of the token sent, or a name that nobody signs in with."""
    signed_in: SignedIn | None = request.state.reviewer
    if signed_in is not None:
        if named not in (None, signed_in.name):
            raise HTTPException(403, f"this token is {signed_in.name}'s; leave the name out")
        if adjudicates:
            refuse_unless_lead(signed_in)
        return signed_in.name
    if not isinstance(named, str):
        raise HTTPException(400, "reviewer is missing; name who rates")
    try:
        refuse_borrowed(db, [named])
    except Refused as exc:
        raise HTTPException(403, str(exc)) from None
    return named


def _find_bakeoff(db: Database, request: Request) -> int | None:
    name = request.query_params.get("bakeoff")
    return bakeoffs.find(db, name) if name else None


def _read_body(request: Request) -> Mapping[str, Any]:
    """The JSON object of a request, no larger than a rating needs."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send JSON: Content-Type: application/json")
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdecimal()):
        raise HTTPException(411, "send the length of the body: Content-Length")
    content = _receive_body(request)
    try:
        value = load_json(content.decode("utf-8"), "the body").value
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    if not isinstance(value, dict) or not value.keys() <= _BODY_KEYS:
        raise HTTPException(400, f"send an object with {', '.join(sorted(_BODY_KEYS))}")
    _refuse_unstorable(value)
    return value


def _receive_body(request: Request) -> bytes:
    """The body; what counts is the number of bytes that come, whatever the headers say."""
    content, stream = b"", request.stream()
    # Endpoints run in threads; only the event loop can read the rest of the body.
    while (part := anyio.from_thread.run(anext, stream, None)) is not None:
        content += part
        if len(content) > MAX_BODY_BYTES:
            raise HTTPException(413, f"a body of more than {MAX_BODY_BYTES} bytes", {"connection": "close"})
    return content


def _refuse_unstorable(value: Any) -> None:
    """Refuse texts that Postgres cannot hold: with NUL, or with half a surrogate pair."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise HTTPException(400, "a text holds characters that cannot be stored")
    if isinstance(value, list):
        for item in value:
            _refuse_unstorable(item)
    elif isinstance(value, dict):
        _refuse_unstorable([*value.keys(), *value.values()])


def _refuse(request: Request, exc: Exception) -> JSONResponse:
    del request
    assert isinstance(exc, HTTPException)
    return JSONResponse({"error": exc.detail}, exc.status_code, {**_HEADERS, **(exc.headers or {})})


def _explain(request: Request, exc: Exception) -> JSONResponse:
    """400 for what the sender can fix, 409 when others were faster, 503 when the database is away."""
    del request
    code = 500
    if isinstance(exc, InputError):
        code = 400
    elif isinstance(exc, Refused):
        code = 409
    elif isinstance(exc, Unreachable):
        code = 503
    return JSONResponse({"error": str(exc)}, code, _HEADERS)


def _hide(request: Request, exc: Exception) -> JSONResponse:
    del request, exc
    return JSONResponse({"error": "internal error; see the log"}, 500, _HEADERS)
