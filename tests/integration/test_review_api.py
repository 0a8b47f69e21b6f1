"""The JSON API over a real socket: who may ask, what they get, what is refused."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
import uvicorn
from patience import PATIENCE_S
from review_scene import ended, human, task_of

from evalq.engines.processes import wait_until
from evalq.errors import InputError, Refused
from evalq.review.identity import invite
from evalq.store.database import Database
from evalq.web.reviews import MAX_BODY_BYTES, review_app
from evalq.web.server import is_loopback, listen, make_config

TOKEN = "a-token-of-the-test"
Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def ask(db: Database) -> Iterator[Ask]:
    """Sends a request and returns the status and the document."""
    with listen("127.0.0.1", 0) as endpoint:
        app = review_app(db, token=TOKEN, hosts=["127.0.0.1"])
        server = uvicorn.Server(make_config(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]})
        thread.start()
        assert wait_until(lambda: server.started, timeout_s=PATIENCE_S)
        port = int(endpoint.url.rpartition(":")[2])

        def send(
            method: str, path: str, body: object = None, token: str | None = TOKEN, **headers: str
        ) -> tuple[int, dict[str, Any]]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if token:
                sent["authorization"] = f"Bearer {token}"
            if body is not None:
                sent.setdefault("content-type", "application/json")
            text = body if isinstance(body, str) else json.dumps(body) if body is not None else None
            connection.request(method, path, text, sent)
            reply = connection.getresponse()
            assert reply.headers["content-type"] == "application/json"
            assert reply.headers["cache-control"] == "no-store"
            document = json.loads(reply.read())
            connection.close()
            return reply.status, document

        send.port = port  # type: ignore[attr-defined]
        yield send
        server.should_exit = True
        thread.join()


@pytest.fixture
def item(db: Database, ask: Ask) -> str:
    """An item in ann's hands."""
    bakeoff_id = ended(db, task_of(human(max_allowed=1)), 2)
    status, document = ask("GET", f"/api/reviews/next?reviewer=ann&bakeoff={bakeoff_id}")
    assert (status, document["schema"], document["left"]) == (200, "evalq.review/1", 2)
    return str(document["item"])


def test_an_item_is_taken_rated_and_taken_back(ask: Ask, item: str) -> None:
    rating = {"reviewer": "ann", "rating": True, "comment": "good"}
    status, document = ask("POST", f"/api/reviews/{item}", rating)
    assert (status, document["state"], document["n_pending"]) == (200, "decided", 1)
    status, document = ask("GET", "/api/reviews/status")
    assert (status, document["n_pending"], document["graders"][0]["reviewers"]) == (200, 1, {"ann": 1})
    status, document = ask("DELETE", f"/api/reviews/{item}?reviewer=ann")
    assert (status, document["was"], document["n_pending"]) == (200, "rated", 2)


def test_a_reviewers_own_token_names_them_and_no_name_is_borrowed(ask: Ask, db: Database, item: str) -> None:
    ann, bob = invite(db, "ann").token, invite(db, "bob").token
    path = f"/api/reviews/{item}"
    assert ask("POST", path, {"reviewer": "ann", "rating": True})[0] == 403
    assert ask("POST", path, {"reviewer": "ann", "rating": True}, token=bob)[0] == 403
    assert ask("GET", "/api/reviews/next?reviewer=ann")[0] == 403
    assert ask("POST", path, {"rating": True, "adjudicate": True}, token=ann)[0] == 409
    assert ask("POST", path, {"rating": True}, token=ann)[0] == 200
    assert ask("DELETE", f"{path}?reviewer=ann")[0] == 403


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x"])
def test_without_the_token_nothing_is_said(ask: Ask, token: str | None) -> None:
    status, document = ask("GET", "/api/reviews/status", token=token)
    assert (status, list(document)) == (401, ["error"])


def test_a_name_or_page_of_elsewhere_is_turned_away(ask: Ask) -> None:
    assert ask("GET", "/api/reviews/status", host="evil.example")[0] == 421
    assert ask("GET", "/api/reviews/status", origin="http://evil.example")[0] == 403
    assert ask("GET", "/api/reviews/status", origin="null")[0] == 403


def test_what_is_wrong_with_a_rating_is_said(ask: Ask, item: str) -> None:
    path = f"/api/reviews/{item}"
    for body, code in (
        ({"reviewer": "ann", "rating": "perhaps"}, 400),
        ({"reviewer": "ann"}, 400),
        ({"rating": True}, 400),
        ({"reviewer": " ", "rating": True}, 400),
        ({"reviewer": "ann", "rating": True, "more": 1}, 400),
        ([True], 400),
        ("{", 400),
        ({"reviewer": "bob", "rating": True}, 409),
    ):
        status, document = ask("POST", path, body)
        assert (status, list(document)) == (code, ["error"]), body
    assert ask("POST", path, {"rating": True}, content_type="text/plain")[0] == 415
    assert ask("POST", path, "x" * (MAX_BODY_BYTES + 1))[0] == 413


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/reviews/next?reviewer=ann&grader=%00", None),
        ("GET", "/api/reviews/next?reviewer=a%00n", None),
        ("GET", "/api/reviews/status?bakeoff=%00", None),
        ("DELETE", "/api/reviews/%00?reviewer=ann", None),
        ("POST", "/api/reviews/ITEM", {"reviewer": "a\0n", "rating": True}),
        ("POST", "/api/reviews/ITEM", {"reviewer": "ann", "rating": True, "comment": "\ud800"}),
        ("POST", "/api/reviews/ITEM", {"reviewer": "ann", "rating": ["\0"]}),
    ],
)
def test_a_text_that_cannot_be_stored_is_the_senders_mistake(
    ask: Ask, item: str, method: str, path: str, body: Any
) -> None:
    assert ask(method, path.replace("ITEM", item), body)[0] == 400


LARGE = b"x" * (MAX_BODY_BYTES + 1)
SMUGGLED = [
    b"content-length: 00000000000000%d\r\n\r\n%s" % (len(LARGE), LARGE),
    b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(LARGE), LARGE),
    b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(LARGE), LARGE),
]


@pytest.mark.parametrize("rest", SMUGGLED, ids=["leading zeros", "chunked with a length", "chunked"])
def test_a_body_is_as_large_as_the_bytes_that_come(ask: Any, item: str, rest: bytes) -> None:
    head = f"POST /api/reviews/{item} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"
    head += "content-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", ask.port), timeout=PATIENCE_S) as sent:
        sent.sendall(head.encode() + rest)
        assert sent.recv(100).split()[1] in (b"400", b"411", b"413")


def test_requests_that_are_never_finished_keep_nobody_out(ask: Any) -> None:
    half = b"POST /api/reviews/x HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    started = [b"", half, half + b"content-length: 9\r\n\r\n{"]
    with ExitStack() as stack:
        for number in range(300):
            one = socket.create_connection(("127.0.0.1", ask.port), timeout=PATIENCE_S)
            stack.enter_context(one)
            with suppress(OSError):  # closed already, to make room
                one.sendall(started[number % 3])
        assert ask("GET", "/api/reviews/status")[0] in (200, 400)


def test_what_is_not_there_is_said(ask: Ask, item: str) -> None:
    assert ask("POST", "/api/reviews/ffffffffffff", {"reviewer": "ann", "rating": True})[0] == 404
    assert ask("GET", "/api/elsewhere")[0] == 404
    assert ask("PUT", f"/api/reviews/{item}", {})[0] == 405
    assert ask("GET", "/api/reviews/next")[0] == 400
    assert ask("GET", "/api/reviews/next?reviewer=ann&bakeoff=99")[0] == 400


def test_the_token_is_left_out_on_loopback_only(db: Database) -> None:
    with listen("127.0.0.1", 0) as endpoint:
        assert endpoint.app(db, token=None, hosts=(), no_auth=True).token is None
        made = endpoint.app(db, token=None, hosts=(), no_auth=False)
        assert made.is_new_token
        assert len(made.token or "") >= 32
        with pytest.raises(InputError, match="too short"):
            endpoint.app(db, token="short", hosts=(), no_auth=False)
    with listen("0.0.0.0", 0) as endpoint, pytest.raises(Refused, match="not loopback"):
        endpoint.app(db, token=None, hosts=(), no_auth=True)
    assert [is_loopback(name) for name in ("localhost", "::1", "10.0.0.1", "example.org")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_port_in_use_is_the_users_to_mend() -> None:
    with listen("127.0.0.1", 0) as endpoint:
        port = int(endpoint.url.rpartition(":")[2])
        with pytest.raises(InputError, match="cannot listen"), listen("127.0.0.1", port):
            pass
