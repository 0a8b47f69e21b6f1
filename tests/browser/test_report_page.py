"""The report opened from disk with the network off: both themes, the case browser, print, no JavaScript."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_scene import HOSTILE, make_case, make_report

from evalq.reports.html_page import render_html
from tests.acceptance.conftest import new_project, project  # noqa: F401 - fixtures

from .conftest import OpenPage


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Writes a report and returns its address on disk."""

    def write(report: Any) -> str:
        path = tmp_path / "report.html"
        path.write_text(render_html(report), "utf-8")
        return path.as_uri()

    return write


def make_two_cases() -> Any:
    """A case that judges disagree on and one that all pass."""
    report = make_report("the capital is Hanoi")
    disputed = make_case(1, "the capital is Hanoi")
    wrong = replace(disputed.answers[1], answer_text="the capital is Hue")
    first = replace(disputed, answers=(disputed.answers[0], wrong, disputed.answers[2]))
    second = replace(make_case(2, "Paris", stratum="DE"), answers=(disputed.answers[0],))
    cases = replace(report.cases, cases=(first, second), n_cases=2, disagreements=("case-001",))
    return replace(report, cases=cases)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_report_of_the_demo_opens_with_the_network_off(
    theme: str, open_page: OpenPage, demo_report: Path
) -> None:
    page = open_page(color_scheme=theme, offline=True, viewport={"width": 1280, "height": 900})
    page.goto(demo_report.as_uri())
    assert "sim-grok-4.3" in page.locator("#answer").inner_text()
    assert page.locator("svg[role=img]").count() >= 5
    assert page.locator("details.case").count() == 93
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[theme]


@pytest.fixture(scope="module")
def demo_report(project: Any) -> Path:  # noqa: F811 - the fixture imported above
    """The demo's report, written by the command."""
    assert project.run("demo").returncode == 3
    done = project.run("report", "last")
    assert done.returncode == 0, done.stderr
    path: Path = project.folder / "evalq-report-1.html"
    assert path.stat().st_size <= 2_000_000
    return path


def test_cases_are_filtered_by_verdict_judge_stratum_and_text(
    open_page: OpenPage, written: Callable[..., str]
) -> None:
    page = open_page(offline=True)
    page.goto(written(make_two_cases()))
    shown = page.locator("details.case:not([hidden])")
    page.locator("#shown", has_text="2 of 2 cases").wait_for()
    page.select_option("[name=verdict]", "disagree")
    page.locator("#shown", has_text="1 of 2 cases").wait_for()
    assert "case-001" in shown.inner_text()
    page.get_by_role("button", name="Clear").click()
    page.locator("#shown", has_text="2 of 2 cases").wait_for()
    page.select_option("[name=stratum]", label="DE")
    page.locator("#shown", has_text="1 of 2 cases").wait_for()
    assert "case-002" in shown.inner_text()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Text").fill("hue")
    page.locator("#shown", has_text="1 of 2 cases").wait_for()
    page.select_option("[name=judge]", "poor")
    page.select_option("[name=verdict]", "passed")
    page.locator("#shown", has_text="0 of 2 cases").wait_for()


def test_two_answers_side_by_side_have_their_differing_words_marked(
    open_page: OpenPage, written: Callable[..., str]
) -> None:
    page = open_page(offline=True)
    page.goto(written(make_two_cases()))
    card = page.locator("#case-0")
    card.locator("summary").click()
    page.select_option("[name=judge]", "poor")
    page.select_option("[name=diff]", "j good@short")
    card.locator('.text[data-judge="mute"]').wait_for(state="hidden")
    assert card.locator('.text[data-judge="good@short"]').is_visible()
    assert card.locator('.text[data-judge="poor"] mark').all_inner_texts() == ["Hue"]
    page.select_option("[name=diff]", "")
    card.locator("mark").wait_for(state="detached")


def test_without_javascript_cases_unfold_and_no_filter_is_shown(
    open_page: OpenPage, written: Callable[..., str]
) -> None:
    page = open_page(java_script_enabled=False, offline=True)
    page.goto(written(make_two_cases()))
    assert not page.locator("#filters").is_visible()
    page.locator("#case-0 summary").click()
    assert page.locator('#case-0 .text[data-judge="poor"] mark').inner_text() == "Hue"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_answers_are_inert(text: str, open_page: OpenPage, written: Callable[..., str]) -> None:
    page = open_page(offline=True)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(written(make_report(text, judge=text[:200] or "x", stratum=text[:200])))
    page.locator("#shown", has_text="3 of 3 cases").wait_for()
    page.locator("#case-0 summary").click()
    page.select_option("[name=diff]", index=2)
    page.select_option("[name=verdict]", "failed")
    page.locator("#shown", has_text="3 of 3 cases").wait_for()
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, [onerror], [onmouseover]").count() == 0


def test_the_report_prints_on_a4_without_its_controls(
    open_page: OpenPage, written: Callable[..., str]
) -> None:
    page = open_page(offline=True, color_scheme="dark")
    page.goto(written(make_two_cases()))
    page.emulate_media(media="print")
    assert not page.locator("#filters").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
