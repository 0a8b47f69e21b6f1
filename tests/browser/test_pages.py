"""Every page in Chromium: both themes, wide and narrow, with and without the script, and its focus."""

import shlex
from collections.abc import Iterator

import pytest
from commands import walk_commands
from page_checks import find_cut_off, find_faint_text, find_out_of_reach, find_unnamed, walk_by_tab
from pages_scene import PagesScene, pages_scene
from playwright.sync_api import Page, expect
from served_site import served_pages

from evalq.cli.main import evalq

from .conftest import OpenPage

NAMES = (
    "runs",
    "run",
    "running",
    "filtered",
    "case",
    "compare form",
    "compare bake-offs",
    "compare runs",
    "drift list",
    "drift",
    "fleet",
    "cost",
    "review queues",
    "review desk",
    "review lead",
    "review sign-in",
    "error",
)
TOKEN = "a token of the test's own"
BACKS = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 27)"}
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesScene]:
    """One server for all tests of this file."""
    with pages_scene(tmp_path_factory.mktemp("e") / "d") as made:
        assert tuple(made.pages) == NAMES
        yield made


def require_command(line: str) -> None:
    """The command line that a page shows is one that evalq takes."""
    program, *words = shlex.split(line)
    assert program == "evalq"
    known = dict(walk_commands(evalq))
    depth = max(place for place in (1, 2) if " ".join(words[:place]) in known)
    command = known[" ".join(words[:depth])]
    command.make_context(command.name, words[depth:]).close()


def require_whole(page: Page) -> None:
    """Nothing is cut off at 1440 px or out of reach at 400 px, all is named, and readable in both themes."""
    expect(page.locator("h1")).to_have_count(1)
    assert find_cut_off(page) == []
    assert find_unnamed(page) == []
    for theme, back in BACKS.items():
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == back
        assert find_faint_text(page) == []
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert find_out_of_reach(page) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "filtered"])
def test_a_page_is_whole_named_and_readable_in_both_themes(
    scene: PagesScene, open_page: OpenPage, name: str
) -> None:
    page = open_page(viewport=WIDE, forgives="404" if name == "error" else None)
    page.goto(scene.url(scene.pages[name]))
    require_whole(page)


def test_every_page_is_usable_without_the_script_and_shows_its_command(
    scene: PagesScene, open_page: OpenPage
) -> None:
    page = open_page(java_script_enabled=False, viewport=WIDE, forgives="404")
    for name, path in scene.pages.items():
        page.goto(scene.url(path))
        expect(page.locator("h1"), name).to_be_visible()
        expect(page.locator("#theme, [data-copy], .keys").filter(visible=True), name).to_have_count(0)
        if name != "error":
            require_command(page.locator("#command").inner_text())
    page.get_by_role("link", name="All bake-offs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()


@pytest.mark.parametrize("name", ["runs", "run", "case", "compare bake-offs", "drift", "review desk"])
def test_the_focus_goes_down_the_page_and_is_seen(scene: PagesScene, open_page: OpenPage, name: str) -> None:
    page = open_page(viewport=WIDE)
    page.goto(scene.url(scene.pages[name]))
    walked = walk_by_tab(page, 14)
    assert walked[0]["name"] == "Skip to the content"
    places = [step["place"] for step in walked]
    assert places == sorted(places)  # type: ignore[type-var]
    assert len(set(places)) == len(places)
    assert [step for step in walked if not step["seen"] or step["outline"] < 2] == []  # type: ignore[operator]


def test_the_owner_signs_in_with_the_token(scene: PagesScene, open_page: OpenPage) -> None:
    with served_pages(scene.site.db, token=TOKEN) as url:
        page = open_page(viewport=WIDE)
        page.goto(f"{url}/runs/{scene.first}")
        assert page.url == f"{url}/login"
        require_whole(page)
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        assert TOKEN not in page.url


def test_the_theme_is_chosen_and_kept(scene: PagesScene, open_page: OpenPage) -> None:
    page = open_page(color_scheme="dark")
    page.goto(scene.url())
    page.get_by_role("button", name="Theme: auto").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.goto(scene.url("/cost"))
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
