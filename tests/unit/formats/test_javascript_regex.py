"""Patterns written for JavaScript find in Python what they would find there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.regexes import compile_regex
from evalq.formats.javascript_regex import to_python


def found(pattern: str, text: str, flags: str = "") -> str | None:
    translated, names = to_python(pattern, flags)
    match = compile_regex(translated, tuple(names)).search(text)  # type: ignore[arg-type]
    return match[0] if match else None


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "wanted"),
    [
        ("^Dear User", "", "Dear User, hello", "Dear User"),
        (r"(?<year>\d{4})-\k<year>", "", "2020-2020", "2020-2020"),
        ("HELLO", "i", "hello", "hello"),
        ("a.c", "s", "a\nc", "a\nc"),
        ("a.c", "", "a\rc", None),
        ("^b$", "m", "a\nb\nc", "b"),
        ("a$", "", "a\n", None),
        ("a", "y", "ba", None),
        ("a", "gu", "ba", "a"),
        (r"\d", "", "٣", None),
        (r"[\d-]+", "", "1-2", "1-2"),
        (r"[\w-.]+", "", "a-b.c", "a-b.c"),
        (r"\w", "", "é", None),
        (r"caf\b", "", "café", "caf"),
        (r"[\b]", "", "\b", "\b"),
        ("[^]x", "", "\nx", "\nx"),
        ("[]x", "", "x", None),
        ("[[&|~]+", "", "[&|~", "[&|~"),
        ("a{,2}", "", "a{,2}", "a{,2}"),
        ("a{2,3}?", "", "aaa", "aa"),
        (r"\u{1F600}", "u", "😀", "😀"),
        (r"\u00e9\x41", "", "éA", "éA"),
        (r"\cJ", "", "\n", "\n"),
        (r"\/\-\e\A", "", "/-eA", "/-eA"),
        ("(?i:a)b", "", "Ab", "Ab"),
        ("(?<!x)a(?=b)", "", "ab", "a"),
        (r"\D[\D]", "", "ab", "ab"),
    ],
)
def test_a_pattern_finds_the_same(pattern: str, flags: str, text: str, wanted: str | None) -> None:
    assert found(pattern, text, flags) == wanted


@pytest.mark.parametrize(
    ("pattern", "flags", "reason"),
    [
        ("a", "v", "flag 'v'"),
        (r"\p{L}", "u", "no counterpart"),
        ("a++", "", "two repeats"),
        ("(?>a)", "", "a group that begins"),
        ("[a", "", "not closed"),
        ("[a\\", "", "not closed"),
        ("a\\", "", "backslash at the end"),
        (r"\u{110000}", "u", "code point"),
    ],
)
def test_what_has_no_counterpart_is_refused(pattern: str, flags: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        to_python(pattern, flags)


@given(st.text(max_size=30), st.text("gimsuyv", max_size=3))
def test_no_pattern_crashes_the_translation(pattern: str, flags: str) -> None:
    try:
        translated, names = to_python(pattern, flags)
    except ValueError:
        return
    assert isinstance(translated, str)
    assert set(names) <= {"ignorecase", "multiline", "dotall"}


@given(st.text("abc 123_\n", max_size=20), st.from_regex(r"[abc1-3 .]{0,8}", fullmatch=True))
def test_plain_patterns_mean_themselves(text: str, pattern: str) -> None:
    import re

    match = re.search(pattern, text)
    assert found(pattern, text) == (match[0] if match else None)
