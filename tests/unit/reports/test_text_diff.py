"""The words in which two texts differ: exact on ordinary texts, bounded on hostile ones."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.reports import text_diff
from evalq.reports.text_diff import Span, diff_words

WORDS = st.lists(st.sampled_from(["a", "b", "c", " ", "\n", ".", "ü", "語"]), max_size=40).map("".join)


def differing(spans: list[Span]) -> list[str]:
    return [span.text for span in spans if not span.same]


def test_only_the_words_that_differ_are_marked() -> None:
    expected, answer = diff_words("Source A says 2021, not 2023.", "Source A says 2022, not 2023!")

    assert differing(expected) == ["2021", "."]
    assert differing(answer) == ["2022", "!"]


def test_equal_texts_are_one_span() -> None:
    assert diff_words("the same", "the same") == ([Span("the same", True)], [Span("the same", True)])


def test_a_gap_between_two_different_words_belongs_to_the_difference() -> None:
    expected, answer = diff_words("ask billing team now", "ask sales group now")

    assert differing(expected) == ["billing team"]
    assert differing(answer) == ["sales group"]


def test_an_empty_side_has_no_spans() -> None:
    assert diff_words("", "all of it") == ([], [Span("all of it", False)])


def test_letters_of_a_script_without_gaps_are_compared_one_by_one() -> None:
    expected, answer = diff_words("今日は晴れ", "今日は雨")

    assert differing(expected) == ["晴れ"]
    assert differing(answer) == ["雨"]


@given(WORDS, WORDS)
def test_the_spans_join_to_the_texts_and_their_common_parts_are_alike(expected: str, answer: str) -> None:
    left, right = diff_words(expected, answer)

    assert "".join(span.text for span in left) == expected
    assert "".join(span.text for span in right) == answer
    for spans in (left, right):
        assert all(one.same != other.same for one, other in pairwise(spans))
    kept = ["".join("".join(span.text for span in spans if span.same).split()) for spans in (left, right)]
    assert kept[0] == kept[1]


HOSTILE = {
    "a megabyte of one letter": ("x" * 1_000_000, "x" * 999_999),
    "a megabyte of blanks": (" " * 1_000_000, "\t" * 1_000_000),
    "words that repeat": ("a b " * 250_000, "b a " * 250_000),
    "nothing in common": ("a " * 100_000, "b " * 100_000),
    "signs only": ("." * 500_000, "," * 500_000),
    "control characters": ("\x00\x1b[31m\u202e" * 10_000, "\x1b]8;;x\x07" * 10_000),
    "lone surrogates": ("\ud800" * 1_000, "\udfff" * 1_000),
    "a script without gaps": ("語" * 500_000, "言" * 500_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_bounded_and_kept_whole(name: str) -> None:
    expected, answer = HOSTILE[name]

    left, right = diff_words(expected, answer)

    assert "".join(span.text for span in left) == expected
    assert "".join(span.text for span in right) == answer
    assert len(left) + len(right) <= 2 * (text_diff.MAX_TOKENS + 1)


def test_what_follows_the_last_compared_word_is_compared_as_a_whole() -> None:
    start = "a " * text_diff.MAX_TOKENS

    expected, answer = diff_words(start + "x tail", start + "y tail")

    assert differing(expected)[0].endswith("x tail")
    assert differing(answer)[0].endswith("y tail")
    assert diff_words(start, start)[0] == [Span(start, True)]


def test_texts_with_too_many_edits_differ_between_their_common_ends() -> None:
    expected = " ".join(f"e{number}" for number in range(200))
    answer = " ".join(f"a{number}" for number in range(200))

    left, right = diff_words(f"start {expected} end", f"start {answer} end")

    assert left == [Span("start ", True), Span(expected, False), Span(" end", True)]
    assert right == [Span("start ", True), Span(answer, False), Span(" end", True)]
