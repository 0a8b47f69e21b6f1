"""A run page left open while a real bake-off runs: it shows the progress, the end, and obeys its buttons."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import SETTINGS, new_project, served  # noqa: F401 - fixtures

from .conftest import OpenPage

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "good,mute,held", "--detach")
HELD = """\
import pathlib
import time


def answer(inputs):
    while not pathlib.Path(__file__).with_name("go").exists():
        time.sleep(0.05)
    return "capital " + str(inputs).rsplit(" ", 1)[-1].strip("'}")
"""
PATIENCE_MS = PATIENCE_S * 1000


@dataclass(frozen=True)
class LivePages:
    """The pages of a project whose judge `held` answers once the file `go` is there."""

    project: Any
    url: str

    @property
    def go(self) -> Path:
        return Path(self.project.folder / "go")

    def start(self) -> str:
        """Start a bake-off that waits for `go`, and return the address of its page."""
        self.go.unlink(missing_ok=True)
        done = self.project.run(*BAKE)
        assert done.returncode == 0, done.stderr
        return f"{self.url}/runs/{done.stdout.strip()}"


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:  # noqa: F811 - the fixture imported above
    """Judges that answer at once, one that says nothing, and one that waits to be released."""
    held = "  held: {provider: python, callable: 'held:answer', price: {input: 0, output: 0}}\n"
    made = new_project(SETTINGS + held)
    made.write("held.py", HELD)
    return made


@pytest.fixture(scope="module")
def live(served: Any) -> Iterator[LivePages]:  # noqa: F811 - the fixture imported above
    """A real `evalq web` beside a fleet."""
    web = served.start("web", "--port", "0")
    assert web.says("serving pages on")
    found = re.search(r"http://127\.0\.0\.1:\d+", web.stderr.read_text("utf-8"))
    assert found
    yield LivePages(served, found[0])
    (served.folder / "go").touch()
    web.process.terminate()
    web.end()


def require_end(page: Page) -> None:
    """Wait until the page shows the end, and nothing of what it showed before."""
    expect(page.locator("[data-events]")).to_have_count(0, timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    expect(page.get_by_text("INTERIM")).to_have_count(0)


def test_a_page_left_open_shows_the_bakeoff_finish_without_reloading(
    live: LivePages, open_page: OpenPage
) -> None:
    page = open_page()
    page.goto(live.start())
    page.evaluate("window.isTheSame = true")
    head = page.locator("#live-head")
    expect(head).to_contain_text("24 of 36 verdicts", timeout=PATIENCE_MS)
    expect(head).to_contain_text("INTERIM")
    expect(head).to_contain_text("of $5.00, projected")
    expect(page.locator("#judge-1")).to_contain_text("12/12")
    expect(page.locator("#judge-2")).to_contain_text("12/12 empty outputs")
    expect(page.locator("#judge-3")).to_contain_text("0/12")
    live.go.touch()
    require_end(page)
    assert page.evaluate("window.isTheSame") is True
    expect(page.locator(".problem", has_text="mute")).to_contain_text("Broken, not bad")
    expect(page.locator("#cases [data-row]")).to_have_count(12)


def test_the_buttons_pause_resume_and_retry(live: LivePages, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(live.start())
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    live.go.touch()
    require_end(page)
    expect(page.get_by_text("12 answers were not graded.")).to_be_visible()
    page.get_by_role("button", name="Retry what errored").click()
    require_end(page)
    expect(page.locator("#cases [data-row]")).to_have_count(12)
    calls = "SELECT count(*) FROM call_journal WHERE judge = 'mute' AND bakeoff_id = %s"
    assert live.project.rows(calls, page.url.rpartition("/")[2]) == [(24,)]


def test_a_cancelled_bakeoff_says_so_and_may_go_on(live: LivePages, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(live.start())
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("p.soft", has_text="cancelled").first).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    live.go.touch()
    page.get_by_role("button", name="Resume").click()
    require_end(page)
