"""The review desk in Chromium: by keys alone, two at once, without the script, and with hostile answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Page, expect
from review_scene import conclude_all, end, ended, human, job_ids, start, task_of
from served_site import ServedSite, served_site

from evalq.records import Grade
from evalq.review import Given, next_item, rate, status
from evalq.review.identity import invite
from evalq.review.label_queue import queue_labels
from evalq.store import reviews
from evalq.store.database import Database

OpenPage = Callable[..., Page]

N_CASES = 20
HOSTILE = (
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
    "</pre><form action=https://evil.example><a href=javascript:alert(1)>{{ 7*7 }} \u202egnp.exe \x1b[2J"
)
AUTHOR = 'grok-4.3@short "<b>'
CRITERIA = {"type": "likert", "criteria": ["accurate", "complete"], "labels": {1: "wrong", 5: "perfect"}}


@dataclass(frozen=True)
class Desk:
    """The site with its bake-offs and reviewers' tokens."""

    site: ServedSite
    queues: dict[str, int]
    tokens: dict[str, str]

    def url(self, queue: str, rest: str = "") -> str:
        return f"{self.site.url}/review/{self.queues[queue]}{rest}"

    def sign_in(self, page: Page, name: str) -> None:
        page.goto(f"{self.site.url}/review/sign-in#{self.tokens[name]}")
        page.wait_for_url("**/review")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One server with a queue of every kind."""
    with served_site(tmp_path_factory.mktemp("e") / "d") as site:
        db = site.db
        two = {"min_required": 2, "max_allowed": 2}
        rankers = ("sim-a", "sim-b", "sim-c")
        queues = {
            "binary": ended(db, task_of(human(rubric="valid = true AND brief", **two)), N_CASES),
            "likert": ended(db, task_of(human(rating_scale="likert")), 3),
            "criteria": ended(db, task_of(human(rating_scale=CRITERIA)), 2),
            "ranking": ended(
                db, task_of(human(rating_scale={"type": "ranking", "tie_allowed": True})), 2, rankers
            ),
            "pair": ended(
                db, task_of(human(rating_scale="pairwise", **two)), 2, ("sim-x", "sim-y"), "so it is"
            ),
            "hostile": ended(db, task_of(human(rubric=HOSTILE, **two)), 2, says=HOSTILE),
            "labels": graded(db),
        }
        with psycopg.connect(db.url) as connection:
            connection.execute("UPDATE evalq.runs SET judge = %s WHERE judge = 'sim-x'", [AUTHOR])
        tokens = {name: invite(db, name).token for name in ("ann", "bob")}
        tokens["eve"] = invite(db, "eve", role="lead").token
        yield Desk(site, queues, tokens)


def graded(db: Database) -> int:
    """A bake-off that a check has graded, some answers of which people should label."""
    task = task_of({"type": "exact_match"})
    bakeoff_id = start(db, task, 4, ("sim-a", "sim-b"))
    for number, job_id in enumerate(job_ids(db, bakeoff_id)):
        passed = number % 3 == 0
        end(
            db,
            task,
            job_id,
            Grade("exact_match", passed, float(passed), "so it is", True, 1.0, "exact_match"),
        )
    conclude_all(db, bakeoff_id)
    queue_labels(db, bakeoff_id, count=4)
    return bakeoff_id


def shown(page: Page) -> str:
    """The name of the item on the screen."""
    return str(page.locator("#card [data-item]").get_attribute("data-item"))


def press(page: Page, key: str) -> None:
    """Press a key and wait for another card, or for none to be left."""
    before = shown(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.querySelector('#card [data-item]')?.dataset.item !== before", arg=before
    )


def said(desk: Desk, queue: str) -> list[tuple[str, Any]]:
    return [(one.reviewer, one.rating) for one in reviews.list_reviews(desk.site.db, desk.queues[queue])]


def test_two_at_once_rate_twenty_answers_each_by_keys_and_meet_the_quotas(
    desk: Desk, open_page: OpenPage
) -> None:
    ann, bob = open_page(), open_page()
    for page, name in ((ann, "ann"), (bob, "bob")):
        desk.sign_in(page, name)
        page.goto(desk.url("binary"))
    for number in range(N_CASES):
        press(ann, "2" if number == 0 else "1")
        press(bob, "1")
    for page in (ann, bob):
        expect(page.locator("#saved")).to_have_text("saved ✓")
        expect(page.locator("#counts")).to_have_text("20 of 20")
        expect(page.get_by_role("heading", name="Nothing is left for you here")).to_be_visible()
    (grader,) = status(desk.site.db, desk.queues["binary"]).graders
    assert grader.by_reviews == {0: 0, 1: 0, 2: N_CASES}
    assert grader.reviewers == {"ann": N_CASES, "bob": N_CASES}
    assert (grader.decided, grader.disputed) == (19, 1)
    lead = open_page()
    desk.sign_in(lead, "eve")
    lead.goto(desk.url("binary", "/lead"))
    expect(lead.get_by_text("2 of 2 reviews")).to_be_visible()
    lead.get_by_role("link", name="Adjudicate").click()
    expect(lead.get_by_label("What reviewers said")).to_contain_text("ann: Fail")
    lead.keyboard.press("1")
    lead.wait_for_url("**/lead")
    assert status(desk.site.db, desk.queues["binary"]).graders[0].disputed == 0


def test_undo_brings_the_last_card_back_and_its_rating_is_gone(desk: Desk, open_page: OpenPage) -> None:
    page = open_page()
    desk.sign_in(page, "ann")
    page.goto(desk.url("likert"))
    first = shown(page)
    press(page, "4")
    expect(page.locator("#last")).to_contain_text("sim-a")
    press(page, "u")
    assert shown(page) == first
    assert said(desk, "likert") == []
    page.keyboard.press("c")
    page.keyboard.type("s is the best")
    page.keyboard.press("Escape")
    press(page, "2")
    press(page, "s")
    press(page, "f")
    assert said(desk, "likert") == [("ann", 2)]
    declined = status(desk.site.db, desk.queues["likert"]).declined
    assert sorted(one.declined for one in declined) == ["broken", "unsure"]
    press_undo_when_done(page)


def press_undo_when_done(page: Page) -> None:
    expect(page.get_by_role("heading", name="Nothing is left for you here")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("#card [data-item]")).to_be_visible()


def test_rankings_pairs_and_criteria_are_rated_by_keys(desk: Desk, open_page: OpenPage) -> None:
    page = open_page()
    desk.sign_in(page, "ann")
    page.goto(desk.url("ranking"))
    for key in ("b", "=", "a", "Backspace", "Backspace", "c", "=", "a", "b"):
        page.keyboard.press(key)
    expect(page.locator("[data-ranking]")).to_have_value("C = A > B")
    press(page, "Enter")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.goto(desk.url("pair"))
    press(page, "ArrowRight")
    press(page, "=")
    page.goto(desk.url("criteria"))
    page.keyboard.press("5")
    page.keyboard.press("3")
    press(page, "Enter")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    assert said(desk, "ranking") == [("ann", [["A", "C"], "B"])]
    assert sorted(str(rating) for _, rating in said(desk, "pair")) == ["['B', 'A']", "[['A', 'B']]"]
    assert said(desk, "criteria") == [("ann", {"accurate": 5, "complete": 3})]


def test_without_the_script_plain_forms_do_the_same(desk: Desk, open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"{desk.site.url}/review")
    page.get_by_label("Reviewer token").fill(desk.tokens["bob"])
    page.get_by_role("button", name="Sign in").click()
    page.goto(desk.url("labels"))
    first = shown(page)
    page.get_by_label("comment").fill("as the reference has it")
    page.get_by_role("button", name="Right").click()
    expect(page.get_by_label("The last card, no longer hidden")).to_contain_text("You said Right")
    assert shown(page) != first
    page.get_by_role("button", name="undo last").click()
    assert shown(page) == first
    page.get_by_role("button", name="unsure").click()
    assert [one.declined for one in status(desk.site.db, desk.queues["labels"]).declined] == ["unsure"]
    page.get_by_role("button", name="Sign out").click()
    page.goto(desk.url("labels"))
    expect(page.get_by_role("heading", name="Sign in to review")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_answers_are_text_in_both_themes(desk: Desk, open_page: OpenPage, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    desk.sign_in(page, "eve")
    page.goto(desk.url("hostile"))
    item = shown(page)
    expect(page.get_by_label("Answer A")).to_contain_text("<script>document.title = 'owned'</script>")
    page.keyboard.press("g")
    expect(page.locator(".guide")).to_contain_text("{{ 7*7 }}")
    assert "\u202e" not in page.locator("#card").inner_text()
    for path in (
        "/review",
        f"/review/{desk.queues['hostile']}/lead",
        f"/review/{desk.queues['hostile']}/lead/{item}",
    ):
        page.goto(desk.site.url + path)
        assert "owned" not in page.title()
    page.goto(desk.url("hostile"))
    assert page.locator("#card script, #card img, #card a[href^=javascript]").count() == 0


def test_nothing_tells_the_author_before_the_rating(desk: Desk, open_page: OpenPage) -> None:
    page = open_page()
    desk.sign_in(page, "bob")
    replies: list[str] = []
    page.on("response", lambda reply: replies.append(reply.text()) if "/card" in reply.url else None)
    page.goto(desk.url("pair"))
    page.wait_for_load_state("networkidle")
    assert "(author hidden)" in page.content()
    for text in (page.content(), *replies):
        assert "grok" not in text
        assert "sim-y" not in text
    press(page, "ArrowLeft")
    expect(page.locator("#last")).to_contain_text(AUTHOR)


def test_the_lead_view_is_for_leads_and_a_rating_needs_a_page_of_ours(
    desk: Desk, open_page: OpenPage
) -> None:
    page = open_page()
    desk.sign_in(page, "bob")
    reply = page.request.get(desk.url("binary", "/lead"))
    assert reply.status == 409
    item = next_item(desk.site.db, desk.queues["hostile"], "bob").item
    assert item is not None
    path = desk.url("hostile", f"/items/{item.item}")
    fields = {"rating": "true"}
    assert page.request.post(path, form=fields).status == 403
    assert page.request.post(path, form=fields, headers={"origin": "http://evil.example"}).status == 403
    assert said(desk, "hostile") == []
    rate(desk.site.db, Given(item.item, "bob", True, HOSTILE))
