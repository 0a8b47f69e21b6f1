"""Who gets to the review desk over HTTP: the local user, invited reviewers, nobody else."""

import getpass
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from urllib.parse import urlencode

import pytest
from patience import PATIENCE_S
from review_scene import ended, human, task_of
from served_site import served_pages

from evalq.review import next_item
from evalq.review.identity import invite, revoke
from evalq.store.database import Database

OWNER = "the-token-of-the-owner"


class Visitor:
    """A browser without a screen: keeps cookies, follows redirects, sends forms with their CSRF token."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, path: str, **fields: str) -> tuple[int, str, str]:
        """The status, the path it ended at, and the text of a page."""
        data = urlencode(fields).encode() if fields else None
        try:
            with self._opener.open(self.url + path, data, timeout=PATIENCE_S) as reply:
                return reply.status, reply.url.removeprefix(self.url), reply.read().decode()
        except urllib.error.HTTPError as reply:
            return reply.code, path, reply.read().decode()

    def send(self, page: str, path: str, **fields: str) -> tuple[int, str, str]:
        """Send a form of a page."""
        found = re.search('name="csrf" value="([^"]+)"', self.open(page)[2])
        assert found
        return self.open(path, csrf=found[1], **fields)


@pytest.fixture
def site(db: Database) -> Iterator[str]:
    with served_pages(db) as url:
        yield url


@pytest.fixture
def guarded(db: Database) -> Iterator[str]:
    with served_pages(db, OWNER) as url:
        yield url


def test_the_local_user_reviews_under_their_login_name_until_somebody_is_invited(
    db: Database, site: str
) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    visitor = Visitor(site)
    assert f"{getpass.getuser()} <span" in visitor.open("/review")[2]
    assert visitor.open(f"/review/{bakeoff_id}/lead")[0] == 200
    invite(db, "ann")
    assert visitor.open("/review")[1] == "/review/sign-in"
    assert visitor.open(f"/review/{bakeoff_id}")[1] == "/review/sign-in"


def test_a_reviewer_needs_no_token_of_the_owner_and_sees_the_desk_alone(db: Database, guarded: str) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    visitor = Visitor(guarded)
    assert visitor.open("/review")[1] == "/review/sign-in"
    assert visitor.send("/review/sign-in", "/review/sign-in", token="evr_wrong")[0] == 403
    assert visitor.send("/review/sign-in", "/review/sign-in", token=invite(db, "ann").token)[1] == "/review"
    assert visitor.open(f"/review/{bakeoff_id}")[0] == 200
    assert visitor.open("/")[1] == "/login"
    cookie = next(one for one in visitor.jar if one.name.startswith("evalq_reviewer"))
    assert (cookie.path, cookie.get_nonstandard_attr("SameSite")) == ("/review", "strict")
    assert cookie.has_nonstandard_attr("HttpOnly")
    revoke(db, "ann")
    assert visitor.open(f"/review/{bakeoff_id}")[1] == "/review/sign-in"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/review/0", 404),
        ("/review/999", 404),
        ("/review/x%27--", 404),
        ("/review/99999999999999999999", 404),
        ("/review/1?grader=%3Cscript%3E", 200),
        ("/review/1?after=%3Cscript%3E", 200),
        ("/review/1/card?beside=%27--", 404),
        ("/review/1/lead/ffff", 404),
        ("/review/1/lead/..%2f..%2fetc", 404),
        ("/review/1?grader=%00", 400),
    ],
)
def test_a_strange_address_is_answered_with_a_page(db: Database, site: str, path: str, status: int) -> None:
    assert ended(db, task_of(human()), 1) == 1
    found, _, text = Visitor(site).open(path)
    assert found == status
    assert "<script>" not in text.replace("<script src", "")
    assert "Traceback" not in text


@pytest.mark.parametrize("rating", ["", "perhaps", "9" * 5000, "<b>", "{x}", "\u202e", "true\nfalse"])
def test_a_rating_that_is_not_on_the_scale_stores_nothing(db: Database, site: str, rating: str) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    visitor = Visitor(site)
    visitor.open(f"/review/{bakeoff_id}")
    item = next_item(db, bakeoff_id, getpass.getuser()).item
    assert item is not None
    page = f"/review/{bakeoff_id}"
    status, _, text = visitor.send(page, f"{page}/items/{item.item}", rating=rating)
    assert status in (400, 404)
    assert "neither side" in text
    assert next_item(db, bakeoff_id, getpass.getuser()).done == 0
