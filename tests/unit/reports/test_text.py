from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from evalq.definitions.money import money
from evalq.reports.text import clean, duration, fold, latency, one_line, percent, points, span, to_ascii

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


def test_hostile_text_loses_every_control_character_but_keeps_its_letters(
    hostile: str, forbidden: frozenset[str]
) -> None:
    cleaned = clean(hostile)
    assert not set(cleaned) & forbidden
    assert "[bold]x[/bold]" in cleaned


def test_tabs_and_line_ends_survive() -> None:
    assert clean("a\tb\r\nc\nd\u2028e") == "a\tb\nc\nd\ne"


@pytest.mark.parametrize(
    "code", [*range(9), 11, 27, 31, 127, 128, 155, 159, 0x61C, 0x200E, 0x202A, 0x2069, 0xDFFF]
)
def test_each_forbidden_character_is_made_visible(code: int) -> None:
    assert clean(f"a{chr(code)}b") == "a\N{REPLACEMENT CHARACTER}b"


@given(ANY_TEXT)
def test_cleaned_text_can_be_encoded_and_is_clean_already(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert clean(cleaned) == cleaned


@given(ANY_TEXT, st.integers(min_value=1, max_value=40))
def test_one_line_is_one_line_and_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line.splitlines()) <= 1
    assert cell_len(line) <= width


def test_one_line_says_that_it_was_cut() -> None:
    assert one_line("Source A:\n  launched", 12) == "Source A: l…"
    assert one_line("日本語テキスト", 6) == "日本…"
    assert one_line("short", 5) == "short"


@pytest.mark.parametrize(
    ("amount", "places", "shown"),
    [
        ("0.97", 2, "0.97"),
        ("5", 2, "5.00"),
        ("0", 2, "0.00"),
        ("0.0021", 2, "0.0021"),
        ("0.0021", 4, "0.0021"),
        ("0.00065", 4, "0.0006"),
        ("0.0000042", 4, "0.0000042"),
        ("1234.5", 2, "1234.50"),
    ],
)
def test_money_never_reads_as_nothing_when_something_was_spent(amount: str, places: int, shown: str) -> None:
    assert money(Decimal(amount), places) == shown


def test_a_percentage_has_two_decimals_only_from_a_thousand_cases_on() -> None:
    assert percent(0.82796, 93) == "82.8%"
    assert percent(0.82796, 999) == "82.8%"
    assert percent(0.82796, 1000) == "82.80%"
    assert percent(None, 0) == "n/a"


def test_intervals_and_differences_are_as_fine_as_their_n_allows() -> None:
    assert span(0.739, 0.891, 93) == "74–89"
    assert span(0.739, 0.891, 1000) == "73.9–89.1"
    assert span(None, None, 0) == "–"
    assert (points(-0.161, 93), points(0.03, 93), points(-0.001, 93)) == ("−16", "+3", "0")
    assert points(-0.001, 2000) == "−0.1"


def test_durations_and_latencies_read_like_a_clock() -> None:
    assert [duration(s) for s in (0, 161, 3600 + 161, None)] == ["0:00", "2:41", "1:02:41", "–"]
    shown = [latency(ms) for ms in (0, 4, 510, 1840, 12_340, 123_400, None)]
    assert shown == ["0ms", "4ms", "0.51s", "1.84s", "12.3s", "123s", "–"]


def test_ascii_has_a_letter_for_each_of_our_signs() -> None:
    assert to_ascii("·─●━╌–—−✓✗…κΔ↔\N{REPLACEMENT CHARACTER}").isascii()


def test_lines_are_folded_between_words_and_commands_stay_whole() -> None:
    assert fold("short\nlines", 10) == "short\nlines"
    assert fold("one two three", 8) == "one two\nthree"
    assert fold("run `evalq doctor --sandbox` now", 12) == "run\n`evalq doctor --sandbox`\nnow"
    assert fold("日本 日本 日本", 9) == "日本 日本\n日本"
    assert fold("an odd ` here and there", 12) == "an odd `\n here and\nthere"
