"""Hostile requests to every page: a new page joins the table by having ROUTES."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest
from raw_requests import RawSession, Reply, ask, connection, open_session
from review_scene import ended, human, start, task_of
from served_site import served_pages
from starlette.routing import Route

from evalq.engines.embedded import Engines
from evalq.engines.session import Session
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Database
from evalq.web.app import PAGES
from evalq.web.half_open import MAX_WAITING
from evalq.web.live_updates import MOST_STREAMS
from evalq.web.security import MAX_FIELDS, MAX_FORM_BYTES, MAX_URL_BYTES, SAFE_HEADERS
from evalq.web.server import Endpoint, listen
from evalq.web.site import Site

OWNER = "the-token-of-the-owner"
FOREIGN = "http://evil.example"
INSIDES = ("Traceback", 'File "', "psycopg", "site-packages", "SELECT ", "evalq.store", "UndefinedTable")
QUERY_NAMES = (
    "filter",
    "after",
    "before",
    "against",
    "raw",
    "case",
    "since",
    "weeks",
    "judge",
    "set",
    "task",
)
MORE_QUERY_NAMES = ("type", "state", "search", "a", "b", "bakeoff", "grader", "beside", "token")


@dataclass(frozen=True)
class PageRoute:
    """One route of a page: its path with a place for each name, and a method."""

    path: str
    method: str

    def at(self, value: str = "1") -> str:
        """A target with the same value in every place."""
        return re.sub(r"\{[^}]+\}", value, self.path)


def list_routes() -> list[PageRoute]:
    """Every route of every page."""
    found = []
    for name in PAGES:
        for route in import_module(name).ROUTES:
            assert isinstance(route, Route)
            methods = {"POST"} if "POST" in (route.methods or ()) else {"GET"}
            found += [PageRoute(route.path, method) for method in methods]
    return found


EVERY = list_routes()
READING = [route for route in EVERY if route.method == "GET"]
CHANGING = [route for route in EVERY if route.method == "POST"]
STREAM = "/runs/{bakeoff}/events"


@dataclass(frozen=True)
class HostileRequest:
    """A request, and the statuses that refuse it."""

    refused_with: tuple[int, ...]
    method: str | None = None
    place: str = "1"
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)


ADDRESSES = {
    "a foreign name": HostileRequest((421,), headers={"host": "evil.example"}),
    "a foreign name with our port": HostileRequest((421,), headers={"host": "evil.example:8400"}),
    "a name that ends like ours": HostileRequest((421,), headers={"host": "localhost.evil.example"}),
    "our name as a user": HostileRequest((421,), headers={"host": "localhost@evil.example"}),
    "no name": HostileRequest((421,), headers={"host": ""}),
    "a broken name": HostileRequest((421,), headers={"host": "[::1"}),
    "another method": HostileRequest((405,), method="PUT"),
    "a tracing method": HostileRequest((405,), method="TRACE"),
    "an invented method": HostileRequest((405,), method="FOO"),
    "a very long address": HostileRequest((414,), query="x=" + "a" * MAX_URL_BYTES),
    "a NUL in the query": HostileRequest((400,), query="filter=%00"),
    "a NUL in the path": HostileRequest((400, 404, 405), place="%00"),
}
SCRIPT = "%3Cscript%3Ealert(1)%3C%2Fscript%3E"
NUMBERS = ("0", "-1", "1.0", "1e3", "9" * 18, "9" * 30, "%EF%BC%91")
PATHS = ("..%2f..%2fetc%2fpasswd", "%2e%2e", "%5C..%5C", "a" * 4000)
PLACES = (*NUMBERS, *PATHS, SCRIPT, "1%27--", "%0a", "%ff%fe", "%7B%7B7*7%7D%7D", "%25s%25n")
QUERIES = (
    "",
    "-1",
    "9" * 40,
    "%27%3B--",
    SCRIPT,
    "%ff%fe..%2f%25",
    "%EF%BC%91",
    "1%2F",
    "%0d%0aset-cookie:x=1",
)


@pytest.fixture
def site(db: Database, engines: Engines) -> Iterator[str]:
    """The pages over a bake-off on its way, one that people rate, and nothing else."""
    start(db, task_of({"type": "exact_match"}), 2)
    ended(db, task_of(human()), 1)
    with served_pages(db, broker_url=engines.broker_url) as url:
        yield url


@pytest.fixture
def guarded(db: Database) -> Iterator[str]:
    start(db, task_of({"type": "exact_match"}), 2)
    with served_pages(db, OWNER) as url:
        yield url


def require_safe(reply: Reply, what: object) -> None:
    """The reply has the headers of a harmless page, and nothing of the program's insides."""
    for name, value in SAFE_HEADERS.items():
        if name != "cache-control":
            assert reply.headers.get(name) == value, (what, name)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not [inside for inside in INSIDES if inside in reply.text], what
    assert "<script>alert" not in reply.text, what
    assert "server" not in reply.headers


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_hostile_address_is_refused_by_every_page(site: str, name: str) -> None:
    hostile = ADDRESSES[name]
    for route in EVERY:
        target = f"{route.at(hostile.place)}?{hostile.query}"
        if hostile.place != "1" and hostile.place not in target:
            continue
        reply = ask(site, target, method=hostile.method or route.method, headers=hostile.headers)
        assert reply.status in hostile.refused_with, (route, reply.status)
        assert "set-cookie" not in reply.headers
        require_safe(reply, route)


@pytest.mark.parametrize("place", PLACES, ids=range(len(PLACES)))
def test_an_absurd_name_in_a_path_finds_nothing(site: str, place: str) -> None:
    for route in READING:
        if "{" in route.path:
            reply = ask(site, route.at(place))
            known = (200, 303) if route.path.startswith("/drift/") else ()
            assert reply.status in (400, 404, *known), (route, reply.status)
            require_safe(reply, route)


@pytest.mark.parametrize("value", QUERIES, ids=range(len(QUERIES)))
def test_an_absurd_query_is_answered_with_a_page(site: str, value: str) -> None:
    for route in READING:
        if route.path == STREAM:
            continue
        for name in (*QUERY_NAMES, *MORE_QUERY_NAMES):
            reply = ask(site, f"{route.at()}?{name}={value}")
            assert reply.status in (200, 204, 303, 400, 404, 409), (route, name, reply.status)
            require_safe(reply, (route, name))


def test_a_change_of_what_is_not_there_is_refused(site: str) -> None:
    session = open_session(site)
    headers = {"cookie": session.cookie}
    for route in CHANGING:
        if "{" in route.path:
            for place in PLACES:
                reply = ask(site, route.at(place), method="POST", headers=headers, body=_form(session))
                assert reply.status in (400, 404, 405, 409), (route, place, reply.status)
                require_safe(reply, (route, place))


Forge = Callable[[RawSession], tuple[dict[str, str], bytes]]


def _form(session: RawSession, more: bytes = b"") -> bytes:
    return b"csrf=" + session.csrf.encode() + more


FORGERIES: dict[str, tuple[int, Forge]] = {
    "without a token": (403, lambda session: ({"cookie": session.cookie}, b"case=x")),
    "with a wrong token": (403, lambda session: ({"cookie": session.cookie}, b"csrf=" + b"0" * 64)),
    "with a token that is no text": (403, lambda session: ({"cookie": session.cookie}, b"csrf=%C3%A9")),
    "without the session": (403, lambda session: ({}, _form(session))),
    "with a forged session": (
        403,
        lambda session: ({"cookie": session.cookie.replace("owner.", "owner.x")}, _form(session)),
    ),
    "from another origin": (
        403,
        lambda session: ({"cookie": session.cookie, "origin": FOREIGN}, _form(session)),
    ),
    "from an opaque origin": (
        403,
        lambda session: ({"cookie": session.cookie, "origin": "null"}, _form(session)),
    ),
    "from another site": (
        403,
        lambda session: ({"cookie": session.cookie, "sec-fetch-site": "cross-site"}, _form(session)),
    ),
    "with too large a body": (
        413,
        lambda session: ({"cookie": session.cookie}, _form(session, b"&x=" + b"a" * MAX_FORM_BYTES)),
    ),
    "with too many fields": (
        400,
        lambda session: ({"cookie": session.cookie}, _form(session, b"&x=1" * MAX_FIELDS)),
    ),
    "with a NUL": (400, lambda session: ({"cookie": session.cookie}, _form(session, b"&case=%00"))),
    "with broken letters": (400, lambda session: ({"cookie": session.cookie}, _form(session, b"&case=%ff"))),
    "with bytes": (400, lambda session: ({"cookie": session.cookie}, _form(session, b"&case=\xff\xfe"))),
    "as JSON": (
        403,
        lambda session: (
            {"cookie": session.cookie, "content-type": "application/json"},
            b'{"csrf": "%s"}' % session.csrf.encode(),
        ),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_change_is_refused_by_every_page_and_changes_nothing(
    db: Database, site: str, name: str
) -> None:
    status, forge = FORGERIES[name]
    headers, body = forge(open_session(site))
    assert CHANGING
    for route in CHANGING:
        reply = ask(site, route.at(), method="POST", headers=headers, body=body)
        assert reply.status == status, (route, reply.status)
        require_safe(reply, route)
    assert bakeoffs.get(db, 1).state == "running"


def test_a_body_that_never_ends_is_cut_off(site: str) -> None:
    session = open_session(site)
    lines = ["POST /runs/1/pause HTTP/1.1", "host: localhost", f"cookie: {session.cookie}"]
    head = "\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode()
    with connection(site) as opened:
        opened.sendall(head)
        for _ in range(MAX_FORM_BYTES // 4096 + 1):
            opened.sendall(b"1000\r\n" + b"a" * 4096 + b"\r\n")
        assert b" 413 " in opened.recv(65536).partition(b"\r\n")[0]


def test_a_change_of_our_own_page_is_made(db: Database, site: str) -> None:
    session = open_session(site)
    headers = {"cookie": session.cookie, "origin": site, "sec-fetch-site": "same-origin"}
    reply = ask(site, "/runs/1/pause", method="POST", headers=headers, body=_form(session))
    assert (reply.status, reply.headers["location"]) == (303, "/runs/1")
    assert bakeoffs.get(db, 1).state == "paused"


def test_a_session_is_kept_from_scripts_and_other_sites(site: str) -> None:
    cookie = ask(site, "/").headers["set-cookie"]
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert cookie.startswith(f"evalq_session_{site.rpartition(':')[2]}=")
    assert "set-cookie" not in ask(site, "/", headers={"cookie": cookie.partition(";")[0]}).headers


def test_without_the_token_every_page_leads_to_the_sign_in(guarded: str) -> None:
    is_open = re.compile(r"/(login|static|review|favicon\.ico)(/|$)")
    for route in EVERY:
        if is_open.match(route.path):
            continue
        for query in ("", "?token=", "?token=wrong", "?token=" + "x" * 5000, "?token=%C3%A9"):
            reply = ask(guarded, route.at() + query, method=route.method)
            if route.method == "GET" and route.path != "/metrics":  # a scraper cannot sign in
                assert (reply.status, reply.headers["location"]) == (303, "/login"), route
            else:
                assert reply.status == 401, route
            require_safe(reply, route)


def test_the_token_opens_a_session_and_leaves_the_address(guarded: str) -> None:
    reply = ask(guarded, f"/runs/1?filter=all&token={OWNER}")
    assert (reply.status, reply.headers["location"]) == (303, "/runs/1?filter=all")
    cookie = reply.headers["set-cookie"].partition(";")[0]
    assert ask(guarded, "/runs/1", headers={"cookie": cookie}).status == 200
    double = ask(guarded, f"//evil.example/?token={OWNER}")
    assert double.headers["location"].startswith("/evil.example/")


def test_a_guest_of_the_review_desk_stays_a_guest(guarded: str) -> None:
    session = open_session(guarded)
    assert session.cookie.partition("=")[2].startswith("guest.")
    forged = session.cookie.replace("guest.", "owner.")
    for cookie in (session.cookie, forged):
        assert ask(guarded, "/", headers={"cookie": cookie}).headers["location"] == "/login"
    reply = ask(
        guarded, "/runs/1/pause", method="POST", headers={"cookie": session.cookie}, body=_form(session)
    )
    assert reply.status == 401


def test_an_address_that_others_reach_has_a_token_in_any_case(db: Database) -> None:
    with listen("127.0.0.1", 0) as here:
        endpoint = Endpoint(here.socket, "192.0.2.7")
        pages = Site(Session(db, "", is_embedded=True, settings=Settings()), lambda: False)
        served: Any = endpoint.pages(pages, token=None, hosts=())
        assert served.is_new_token
        assert len(served.token) >= 24
        assert endpoint.pages(pages, token=OWNER, hosts=()).token == OWNER


def test_connections_that_say_nothing_do_not_keep_others_out(site: str) -> None:
    silent = []
    try:
        for _ in range(MAX_WAITING * 2):
            manager = connection(site)
            silent.append((manager, manager.__enter__()))
        assert ask(site, "/login").status == 303
    finally:
        for manager, _ in silent:
            manager.__exit__(None, None, None)


def test_only_so_many_pages_update_by_themselves(site: str) -> None:
    target = STREAM.replace("{bakeoff}", "1")
    tabs = []
    try:
        for _ in range(MOST_STREAMS):
            manager = connection(site)
            tab = manager.__enter__()
            tabs.append(manager)
            tab.sendall(f"GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            seen = b""
            while b"retry: 2000" not in seen:
                seen += tab.recv(4096)
        reply = ask(site, target)
        assert reply.status == 503
        assert "does not update by itself" in reply.text
        require_safe(reply, "a tab too many")
    finally:
        for manager in tabs:
            manager.__exit__(None, None, None)


def test_a_bug_shows_the_client_nothing_of_our_insides(site: str, sql: Any) -> None:
    sql("DROP TABLE case_rollups CASCADE")
    sql("ALTER TABLE outcomes RENAME TO gone")
    session = open_session(site)
    seen = set()
    for route in READING:
        if route.path != STREAM:
            reply = ask(site, route.at(), headers={"cookie": session.cookie})
            require_safe(reply, route)
            seen.add(reply.status)
    assert 500 in seen


def test_a_database_that_is_away_is_said(db: Database) -> None:
    with served_pages(db) as url:
        db.close()
        reply = ask(url, "/")
        require_safe(reply, "away")
        assert reply.status == 503
