"""The report as one HTML file: whole, inert, small enough, and without a way out."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_scene import HOSTILE, JUDGES, make_case, make_report

from evalq.reports.html_page import MAX_BYTES, encode_for_script, is_own_page, render_html
from evalq.reports.report_parts import ReportCases

FRAME = "html head meta title style body header main nav section footer script"
TEXT = "h1 h2 p a ul li b span pre mark code br dl dt dd div details summary figure"
TABLE = "table caption thead tbody tr th td"
FORM = "form label select option input button output"
CHART = "svg desc defs pattern line rect text circle polygon polyline g"
ALLOWED = set(" ".join((FRAME, TEXT, TABLE, FORM, CHART)).split())


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.shown: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        (self.raw[self._inside] if self._inside else self.shown).append(data)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_stays_text(text: str) -> None:
    page = Page(render_html(make_report(text, judge=text[:200] or "x", stratum=text[:200])))
    tags = [tag for tag, _ in page.elements]
    assert set(tags) <= ALLOWED, set(tags) - ALLOWED
    assert tags.count("script") == 2
    assert tags.count("style") == 1
    for _, attributes in page.elements:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "style", "srcdoc")
        ]
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "".join(page.shown)
    )
    json.loads(page.raw["script"][0])


def test_nothing_may_be_loaded_and_only_our_own_script_and_style_apply() -> None:
    page = Page(render_html(make_report()))
    [policy] = [found["content"] for tag, found in page.elements if found.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for text, name in ((page.raw["script"][1], "script-src"), (page.raw["style"][0], "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_answer_comes_first_and_every_section_follows() -> None:
    text = render_html(make_report())
    places = [text.index(f'id="{key}"') for key in ("answer", "caveats", "leaderboard", "frontier", "cost")]
    places += [text.index(f'id="{key}"') for key in ("strata", "agreement", "latency", "cases")]
    places += [text.index(f'id="{key}"') for key in ("disagreements", "method")]
    assert places == sorted(places)


def test_two_hundred_cases_of_eight_judges_stay_under_two_megabytes() -> None:
    case = make_case(0, "a sentence of some length that a model may well write. " * 60)
    answers = tuple(replace(case.answers[0], judge=f"judge-{number}") for number in range(8))
    cases = tuple(replace(case, case_id=f"case-{number}", answers=answers) for number in range(200))
    names = tuple(f"judge-{number}" for number in range(8))
    report = replace(make_report(), cases=ReportCases(names, cases, 1204, 1204, (), "evalq inspect 142"))
    text = render_html(report)
    assert len(text.encode()) <= MAX_BYTES
    assert text.count('<details class="case"') == 200
    assert "more characters" in text
    assert re.search("texts longer than [0-9,]+ characters are cut", text)


def test_when_even_short_texts_are_too_many_cases_are_left_out() -> None:
    answers = tuple(replace(make_case(0, "x" * 900).answers[0], judge=f"j{number}") for number in range(60))
    cases = tuple(replace(make_case(number, "x"), answers=answers) for number in range(200))
    report = replace(make_report(), cases=ReportCases(("j0",), cases, 200, 200, (), "evalq inspect 142"))
    text = render_html(report)
    assert len(text.encode()) <= MAX_BYTES
    assert 0 < text.count('<details class="case"') < 200


def test_the_footer_says_how_many_cases_are_left_out_and_where_they_are() -> None:
    report = make_report(n_cases=3)
    few = replace(report.cases, n_cases=5000, n_not_passed=1204)
    text = render_html(replace(report, cases=few))
    footer = text[text.index("<footer>") :]
    assert "3 of 1,204 non-passing cases included; rest: evalq inspect 142 --show-failures" in footer


def test_a_report_without_cases_says_why() -> None:
    text = render_html(replace(make_report(), cases=ReportCases(JUDGES, withheld="dev-20 is a holdout")))
    assert "dev-20 is a holdout" in text
    assert "<details" not in text
    assert "<form" not in text


def test_no_disagreement_is_said() -> None:
    report = make_report()
    text = render_html(replace(report, cases=replace(report.cases, disagreements=())))
    assert "No case on which judges with verdicts differ." in text


def test_words_that_were_not_expected_are_marked_in_a_failed_answer() -> None:
    case = make_case(0, "the capital is Hanoi")
    wrong = replace(case.answers[1], answer_text="the capital is Hue")
    found = replace(make_report().cases, cases=(replace(case, answers=(wrong,)),), n_cases=1)
    assert "the capital is <mark>Hue</mark>" in render_html(replace(make_report(), cases=found))


def test_a_waiting_grade_and_a_second_sample_are_told() -> None:
    case = make_case(0, "x")
    grade = case.answers[0].grades[0]._replace(passed=None, pending=True)
    waiting = replace(case.answers[0], verdict="pending_review", sample=2, grades=(grade,))
    found = replace(make_report().cases, cases=(replace(case, answers=(waiting,)),), n_cases=1)
    text = render_html(replace(make_report(), cases=found))
    assert "good@short #2" in text
    assert "? strict_substring waits for review" in text


def test_our_own_page_is_recognised() -> None:
    assert is_own_page(render_html(make_report()))
    assert not is_own_page("<html><body>mine</body></html>")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_data_in_a_script_element_cannot_leave_it(text: str) -> None:
    encoded = encode_for_script({"text": text})
    assert not re.search("[<>&\u2028\u2029]", encoded)
    assert json.loads(encoded) == {"text": text}
