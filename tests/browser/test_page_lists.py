"""The lists of runs and cases in Chromium: filters, pages, keys, the case inspector, and hostile texts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from pages_scene import CONTENDER, HOSTILE_JUDGE, PagesScene, pages_scene
from playwright.sync_api import Page, expect
from report_scene import HOSTILE

from .conftest import OpenPage


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesScene]:
    """One server for all tests of this file."""
    with pages_scene(tmp_path_factory.mktemp("e") / "d") as made:
        yield made


@pytest.mark.parametrize("has_script", [True, False])
def test_every_filter_and_page_of_cases_is_an_address(
    scene: PagesScene, open_page: OpenPage, has_script: bool
) -> None:
    page = open_page(java_script_enabled=has_script)
    page.goto(scene.url(f"/runs/{scene.second}"))
    first = page.locator("#cases [data-open]").first
    expect(first).to_have_text("case-00000")
    page.get_by_role("link", name="Next ›").click()
    expect(first).to_have_text("case-00050")
    assert re.search(r"after=49", page.url)
    page.reload()
    expect(first).to_have_text("case-00050")
    page.get_by_role("link", name="‹ Previous").click()
    expect(first).to_have_text("case-00000")
    page.get_by_role("link", name=re.compile("^Judges disagree")).click()
    chosen = page.locator("#cases .chips [aria-current]")
    expect(chosen).to_contain_text("Judges disagree")
    expect(chosen).to_have_count(1)
    assert "filter=disagree" in page.url
    page.go_back()
    expect(chosen).to_contain_text("All")
    page.get_by_role("link", name=re.compile(f"^Flipped vs {scene.first} ")).click()
    expect(chosen).to_contain_text("Flipped")
    n_flipped = int(chosen.inner_text().split()[-1])
    assert 0 < n_flipped < 120
    expect(page.locator("#cases [data-row]")).to_have_count(min(n_flipped, 50))


def test_runs_are_searched_filtered_and_two_of_them_compared(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(scene.url())
    page.get_by_label("Search").fill(CONTENDER)
    page.get_by_label("Status").select_option("concluded")
    page.get_by_role("button", name="Filter").click()
    assert "search=grok-4.3%40short" in page.url
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(3)
    page.get_by_label("Task").select_option("knowledge_audit")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(2)
    for bakeoff_id in (scene.first, scene.second):
        page.get_by_label(f"Compare bake-off {bakeoff_id}", exact=True).check()
    page.get_by_role("button", name="Compare the selected two").click()
    expect(page.locator("[data-row]")).to_have_count(8)
    row = page.locator("[data-row]", has_text=CONTENDER)
    expect(row).to_contain_text("pp [")
    row.get_by_role("link", name="cases").click()
    expect(page.locator("#command")).to_have_text(
        f"evalq compare {scene.first}/{CONTENDER} {scene.second}/{CONTENDER}"
    )
    expect(page.locator(".sentence")).to_contain_text("on n=")


def test_no_run_matches_and_the_page_says_so(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(scene.url("/?search=no+such+thing"))
    expect(page.get_by_text("No bake-off is like that.")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    assert page.url == scene.url()


def test_lists_are_walked_and_opened_by_keys(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(scene.url())
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.press("Tab")
    page.locator("h1").click()
    n_rows = page.locator("[data-row]").count()
    for _ in range(n_rows - 1):
        page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("c")
    page.wait_for_url("**/compare?bakeoff=2&bakeoff=1")
    page.goto(scene.url(f"/runs/{scene.second}"))
    page.keyboard.press("n")
    expect(page.locator("#cases [data-open]").first).to_have_text("case-00050")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="case-00050")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="case-00051")).to_be_visible()


def test_a_case_shows_what_every_judge_answered(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(scene.url(f"/runs/{scene.second}?filter=disagree"))
    page.locator("#cases [data-open]").first.click()
    expect(page.get_by_text(re.compile(r"^1 of \d+ · Judges disagree$"))).to_be_visible()
    cards = page.locator(".card")
    expect(cards).to_have_count(8)
    card = page.get_by_label(CONTENDER, exact=True)
    for words in ("strict_substring", "812+60 tokens", "$0.0021", f"evalq replay {scene.second}/{CONTENDER}"):
        expect(card).to_contain_text(words)
    card.get_by_text("1 call").click()
    expect(card.locator("li")).to_contain_text("answer 1: ")
    expect(page.get_by_label("gemini-2.5-flash")).to_contain_text("! not graded")
    expect(page.locator(".panel", has_text="History")).to_contain_text(str(scene.first))
    page.get_by_role("link", name="expected", exact=True).click()
    expect(page.locator(".card.f mark").first).to_be_visible()
    page.get_by_role("link", name="Next ›").click()
    assert "filter=disagree" in page.url
    assert "against=expected" in page.url


def test_the_raw_answer_of_a_broken_judge_is_one_click_away(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(scene.url(f"/runs/{scene.second}"))
    line = page.locator(".problem", has_text="gemini-2.5-flash")
    expect(line).to_contain_text("Broken, not bad")
    line.get_by_role("link", name="See the raw answer").click()
    expect(page.get_by_label("gemini-2.5-flash")).to_contain_text("the answer is empty")
    page.get_by_role("link", name="Raw JSON").click()
    answers = json.loads(page.locator("pre").inner_text())["answers"]
    assert [one["completion_state"] for one in answers if one["judge"] == "gemini-2.5-flash"] == ["empty"]


def test_the_report_is_downloaded_and_opens_by_itself(
    scene: PagesScene, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page()
    page.goto(scene.url(f"/runs/{scene.hostile}"))
    with page.expect_download() as downloading:
        page.get_by_role("link", name="HTML").click()
    assert downloading.value.suggested_filename == f"evalq-report-{scene.hostile}.html"
    path = tmp_path / "report.html"
    downloading.value.save_as(path)
    report = open_page(offline=True)
    watch_for_harm(report)
    report.goto(path.as_uri())
    expect(report.locator("#answer")).to_contain_text(CONTENDER)


def test_a_case_is_sent_to_review(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(scene.url(f"/runs/{scene.first}/cases/case-00003"))
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    expect(page.locator("tr", has_text="knowledge_audit")).to_contain_text("7 of 7")


def watch_for_harm(page: Page) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))


def require_harmless(page: Page) -> None:
    """The page has its own script only, and nothing that a text brought along."""
    assert "owned" not in page.title()
    assert (
        page.locator("script:not([src^='/static/']), img, iframe, object, base, meta[http-equiv]").count()
        == 0
    )
    assert page.locator("[onerror], [onmouseover], [onload], a:not([href^='/'], [href^='#'])").count() == 0
    assert page.locator("main").is_visible()
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b\x07]", page.locator("body").inner_text())


def test_hostile_names_are_text_in_every_list(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    watch_for_harm(page)
    pair = f"a={scene.hostile}/{CONTENDER}&b="
    for path in (
        "/",
        "/?search=%3Cscript%3Ealert(1)%3C/script%3E&task=%22%3E%3Cimg+src=x+onerror=alert(1)%3E",
        f"/runs/{scene.hostile}",
        f"/runs/{scene.hostile}?filter=disagree",
        f"/compare?{pair}{scene.hostile}/{quote(HOSTILE_JUDGE)}",
        "/cost",
        "/review",
    ):
        page.goto(scene.url(path))
        require_harmless(page)
    page.goto(scene.url(f"/runs/{scene.hostile}"))
    expect(page.locator("#cases [data-row]")).to_have_count(len(HOSTILE))
    expect(page.locator("td", has_text=HOSTILE_JUDGE).first).to_be_visible()


def test_every_hostile_answer_is_text_in_the_case_inspector(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page()
    watch_for_harm(page)
    page.goto(scene.url(f"/runs/{scene.hostile}"))
    links = [link.get_attribute("href") for link in page.locator("#cases [data-open]").all()]
    assert len(links) == len(HOSTILE)
    for link in links:
        page.goto(scene.url(f"{link}"))
        expect(page.locator(".card")).to_have_count(2)
        require_harmless(page)
    page.goto(scene.url(f"{links[0]}?against=expected"))
    expect(page.locator(".card pre").first).to_have_text(HOSTILE["script"])


def test_hostile_addresses_are_text_on_the_error_page(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page(forgives="Failed to load resource")
    watch_for_harm(page)
    for path in (
        "/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        f"/runs/{scene.first}?filter=%3Cimg+src=x+onerror=alert(1)%3E",
        f"/runs/{scene.first}/cases/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/compare?a=%3Cscript%3E&b=%22onmouseover=alert(1)",
        "/drift/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    ):
        page.goto(scene.url(path))
        require_harmless(page)
