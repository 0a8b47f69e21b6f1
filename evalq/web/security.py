"""Who may ask what: the names of the server, its token, sessions, origins, and headers of harmless pages."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_FORM_BYTES = 64 * 1024
MAX_FIELDS = 200
MAX_URL_BYTES = 8 * 1024
CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf-token"

SAFE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}

_READING = ("GET", "HEAD")
_CHANGING = ("POST", "DELETE")
_COOKIE_RULES = "Path=/; HttpOnly; SameSite=Strict"

Role = Literal["owner", "guest"]
Refuse = Callable[[Request, int, str], Response]


@dataclass(frozen=True)
class Visitor:
    """Who sent a request: a session, whether it may see everything, and the token of its forms.

    A guest sees the pages of `open_paths` only; where no token is set, everyone is the owner.
    """

    session: str
    is_owner: bool
    csrf: str


@dataclass(frozen=True)
class AccessPolicy:
    """The names the server answers to, the owner's token if it needs one, and what guests may open."""

    hosts: frozenset[str]
    token: str | None
    open_paths: tuple[str, ...]

    @classmethod
    def of(cls, hosts: Collection[str], token: str | None, open_paths: Collection[str]) -> "AccessPolicy":
        """A policy; host names are compared in lower case and without brackets."""
        return cls(frozenset(host.lower().strip("[]") for host in hosts), token, tuple(open_paths))

    def is_open(self, path: str) -> bool:
        """Whether guests may open a path: one of `open_paths`, or something under it."""
        return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in self.open_paths)

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            return urlsplit(f"//{host}").hostname in self.hosts
        except ValueError:
            return False

    def is_own_origin(self, headers: Headers) -> bool:
        """Whether a change comes from one of our own pages; browsers send Origin with every POST."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        if origin is None:
            return True
        return origin.partition("://")[2].lower() == headers.get("host", "").lower()


class SessionSigner:
    """Makes and reads session cookies: random numbers signed with a key of this process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def start(self, role: Role) -> str:
        """A new session."""
        body = f"{role}.{secrets.token_urlsafe(18)}"
        return f"{body}.{self._sign('session', body)}"

    def read_role(self, session: str) -> Role | None:
        """The role of a session that this process started."""
        body, _, signature = session.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", body).encode()):
            return None
        return "owner" if body.startswith("owner.") else "guest"

    def csrf_token(self, session: str) -> str:
        """What every form of a session carries."""
        return self._sign("csrf", session)

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


class Doorkeeper:
    """The middleware in front of every page: checks a request, reads its form, adds the safe headers."""

    def __init__(self, app: ASGIApp, *, policy: AccessPolicy, refuse: Refuse) -> None:
        self._app = app
        self._policy = policy
        self._refuse = refuse
        self._signer = SessionSigner()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it with the reason it is refused."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        visitor, cookie = self._meet(request)
        scope.setdefault("state", {}).update(visitor=visitor, form={}, body=b"")
        refusal = self._check_address(request)
        # A refused request gets no session, and a file has no form.
        if refusal is not None or scope["path"].startswith("/static/"):
            cookie = None
        guarded = _with_headers(send, cookie)
        refusal = refusal or self._check_token(request, visitor)
        if refusal is None and request.method in _CHANGING:
            refusal, receive = await self._check_change(request, visitor)
        await (refusal or self._app)(scope, receive, guarded)

    def _meet(self, request: Request) -> tuple[Visitor, str | None]:
        """The visitor by their cookie, and the cookie to set for a new session."""
        name = _cookie_name(request)
        session = _read_cookie(request.headers, name)
        role = self._signer.read_role(session)
        is_new_owner = self._brings_token(request.query_params) and role != "owner"
        if role is not None and not is_new_owner:
            cookie = None
        else:
            role = "owner" if self._policy.token is None or is_new_owner else "guest"
            session = self._signer.start(role)
            cookie = f"{name}={session}; {_COOKIE_RULES}"
        return Visitor(session, role == "owner", self._signer.csrf_token(session)), cookie

    def _brings_token(self, fields: Mapping[str, str]) -> bool:
        token = self._policy.token
        return token is not None and secrets.compare_digest(fields.get("token", "").encode(), token.encode())

    def _check_address(self, request: Request) -> Response | None:
        """Refuse foreign names, which a page elsewhere may have made to resolve here, and broken paths."""
        if not self._policy.knows_host(request.headers.get("host", "")):
            return self._refuse(request, 421, "this server does not have that name; see --allow-host")
        if request.method not in (*_READING, *_CHANGING):
            return self._refuse(request, 405, "this method is not served")
        raw = request.scope.get("query_string", b"")
        if len(raw) + len(request.scope["path"]) > MAX_URL_BYTES:
            return self._refuse(request, 414, "the address is too long")
        if "\0" in request.scope["path"] or "\0" in unquote(raw.decode("latin-1")):
            return self._refuse(request, 400, "the address holds characters that cannot be stored")
        return None

    def _check_token(self, request: Request, visitor: Visitor) -> Response | None:
        """Send someone who brings the token to the page without it, everyone else to the sign-in page."""
        if self._brings_token(request.query_params) and request.method in _READING:
            rest = [(name, text) for name, text in request.query_params.multi_items() if name != "token"]
            path = "/" + request.scope["path"].lstrip("/")
            return RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        if visitor.is_owner or self._policy.is_open(request.scope["path"]):
            return None
        if request.method in _READING:
            return RedirectResponse("/login", 303)
        return self._refuse(request, 401, "sign in first: open the address with ?token=…")

    async def _check_change(self, request: Request, visitor: Visitor) -> tuple[Response | None, Receive]:
        """Read the form; refuse it from a foreign page, without its CSRF token, or when it is too large."""
        if not self._policy.is_own_origin(request.headers):
            return self._refuse(
                request, 403, "a page of another origin may not change anything"
            ), request.receive
        content = await _receive_body(request)
        if content is None:
            too_large = self._refuse(request, 413, f"a form of more than {MAX_FORM_BYTES} bytes")
            too_large.headers["connection"] = "close"
            return too_large, request.receive
        form = _read_form(request.headers, content)
        if form is None:
            return self._refuse(request, 400, "the form cannot be read"), request.receive
        sent = request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD, "")
        if not secrets.compare_digest(sent.encode(), visitor.csrf.encode()):
            return self._refuse(
                request, 403, "this form is stale; reload the page and try again"
            ), request.receive
        request.scope["state"].update(form=form, body=content)
        return None, _replay(content)


def _cookie_name(request: Request) -> str:
    """Browsers keep one jar for all ports of a host, so that two servers need two names."""
    return f"evalq_session_{(request.scope.get('server') or ('', 0))[1]}"


def _read_cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


async def _receive_body(request: Request) -> bytes | None:
    """The body; None when more bytes come than a form needs, whatever the headers say."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MAX_FORM_BYTES:
            return None
    return content


def _read_form(headers: Headers, content: bytes) -> Mapping[str, str] | None:
    """The fields of a form, none for another content type; None for a form that cannot be stored."""
    if (
        headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/x-www-form-urlencoded"
    ):
        return {}
    try:
        pairs = parse_qsl(
            content.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        return None
    if any("\0" in text for pair in pairs for text in pair):
        return None
    return dict(QueryParams(pairs))


def _replay(content: bytes) -> Receive:
    """Hands the body that was read on to whoever reads it next."""
    messages: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def _with_headers(send: Send, cookie: str | None) -> Send:
    """Adds the safe headers, which a page may replace, and the cookie of a new session."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFE_HEADERS.items():
                headers.setdefault(name, value)
            if cookie is not None:
                headers.append("set-cookie", cookie)
        await send(message)

    return guarded
