"""Who may ask: names of the server, origins of changes, open paths, and sessions nobody can forge."""

import pytest
from starlette.datastructures import Headers

from evalq.web.security import AccessPolicy, SessionSigner

POLICY = AccessPolicy.of(("localhost", "127.0.0.1", "::1", "Evals.Example"), None, ("/login", "/review"))


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8400", "127.0.0.1:1", "[::1]", "[::1]:8400", "evals.example"]
)
def test_the_server_knows_its_names(host: str) -> None:
    assert POLICY.knows_host(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "localhost.evil.example", "localhost@evil.example", "evil#localhost", "[::1", "[x]"],
)
def test_the_server_has_no_other_name(host: str) -> None:
    assert not POLICY.knows_host(host)


def test_open_paths_are_those_and_what_is_below_them() -> None:
    assert all(POLICY.is_open(path) for path in ("/login", "/review", "/review/7/card"))
    assert not any(POLICY.is_open(path) for path in ("/", "/reviewers", "/login.txt", "/runs/1", "//review"))


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({"host": "localhost:1"}, True),
        ({"host": "localhost:1", "origin": "http://localhost:1"}, True),
        ({"host": "Localhost:1", "origin": "http://LOCALHOST:1"}, True),
        ({"host": "localhost:1", "origin": "http://localhost:2"}, False),
        ({"host": "localhost:1", "origin": "null"}, False),
        ({"host": "localhost:1", "origin": "http://localhost:1.evil.example"}, False),
        ({"host": "localhost:1", "sec-fetch-site": "cross-site"}, False),
        ({"host": "localhost:1", "sec-fetch-site": "same-site"}, False),
        ({"host": "localhost:1", "sec-fetch-site": "same-origin"}, True),
    ],
)
def test_a_change_comes_from_our_own_pages(headers: dict[str, str], is_own: bool) -> None:
    assert POLICY.is_own_origin(Headers(headers)) is is_own


def test_a_session_tells_its_role_to_the_process_that_made_it() -> None:
    signer = SessionSigner()
    assert signer.read_role(signer.start("owner")) == "owner"
    assert signer.read_role(signer.start("guest")) == "guest"
    assert signer.start("owner") != signer.start("owner")
    assert SessionSigner().read_role(signer.start("owner")) is None


@pytest.mark.parametrize("session", ["", ".", "owner", "owner.x", "owner.x.", "owner.x.00", "ö.ö.ö"])
def test_a_made_up_session_has_no_role(session: str) -> None:
    assert SessionSigner().read_role(session) is None


def test_a_changed_session_has_no_role_and_another_form_token() -> None:
    signer = SessionSigner()
    session = signer.start("guest")
    assert signer.read_role(session.replace("guest.", "owner.")) is None
    assert signer.csrf_token(session) != signer.csrf_token(signer.start("guest"))
