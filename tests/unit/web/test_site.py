"""Addresses of cases whatever their name is, ages, and texts that pages clean."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from report_scene import HOSTILE

from evalq.web.site import case_url, format_age, quote_part, templates


def named(url: str) -> str:
    """The case that an address names, as the page reads it."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query, keep_blank_values=True)
    return unquote(parts.path.removeprefix("/runs/7/cases/")) or asked["case"][0]


@pytest.mark.parametrize(
    "case_id",
    ["case-1", "grok-4.3@short", "a/b", "/a", ".", "..", "../..", "a?b#c", "a b%20", "ü", "one\ntwo", '"<b>'],
)
def test_an_address_names_its_case(case_id: str) -> None:
    url = case_url(7, case_id, filter="disagree", against="")
    assert named(url) == case_id
    assert parse_qs(urlsplit(url).query)["filter"] == ["disagree"]
    assert not set(url) & set(" \"'<>\n")


@pytest.mark.parametrize("text", [text for text in HOSTILE.values() if text and "\ud800" not in text])
def test_a_hostile_name_stays_one_part_of_an_address(text: str) -> None:
    assert named(case_url(7, text)) == text
    assert not set(quote_part(text)) & set("/?#\"'<> \n")


def test_all_cases_are_no_filter() -> None:
    assert case_url(7, "a", filter="all") == "/runs/7/cases/a"


@pytest.mark.parametrize(
    ("seconds", "age"), [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3600, "1h"), (86_400 * 3, "3d")]
)
def test_an_age_is_in_one_unit(seconds: int, age: str) -> None:
    assert format_age(datetime.now(UTC) - timedelta(seconds=seconds, milliseconds=200)) == age


@pytest.mark.parametrize("text", [text for text in HOSTILE.values() if text])
def test_whatever_is_put_into_a_template_is_text(text: str) -> None:
    shown = templates().from_string("{{ text }}").render(text=text)
    assert not set(shown) & set("<>\"'\x1b\x07\x00\u202e\u2066\ud800")
