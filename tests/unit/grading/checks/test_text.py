"""Words in the answer: contained, at its ends, all of it, said and not said, counted."""

import sys
import unicodedata
from typing import Any

import pytest
from answers import grade, passed

from evalq.grading.checks.text import fold

DECOMPOSED = "Ha\u0300 No\u0323\u0302i"


@pytest.mark.parametrize(
    ("grader", "answer", "is_passed"),
    [
        ({"type": "contains", "value": "Rome"}, "rome", False),
        ({"type": "contains", "value": "Rome", "alternatives": ["Roma"]}, "It is Roma.", True),
        ({"type": "not_contains", "value": "Rome", "alternatives": ["Roma"]}, "It is Roma.", False),
        ({"type": "contains", "value": "Hà Nội"}, DECOMPOSED, True),
        ({"type": "icontains", "value": "STRASSE"}, "Die Straße", True),
        ({"type": "contains_any", "value": "one"}, "one text stands for a list", True),
        ({"type": "contains_any", "values": ["a"], "alternatives": ["b"]}, "b", True),
        ({"type": "contains_all", "values": ["a", "b"], "alternatives": [["c"], ["d", "e"]]}, "ed", True),
        ({"type": "contains_all", "values": ["a", "b"], "alternatives": [["c"], ["d", "e"]]}, "ae", False),
        ({"type": "starts_with", "value": " a "}, "\n abc", True),
        ({"type": "starts_with", "value": "A"}, "abc", False),
        ({"type": "starts_with", "value": "A", "case_sensitive": False}, "abc", True),
        ({"type": "ends_with", "value": "c", "alternatives": ["d"]}, "abd \n", True),
    ],
)
def test_words_are_found_as_the_check_says(grader: dict[str, Any], answer: str, is_passed: bool) -> None:
    assert passed(grader, answer) is is_passed


@pytest.mark.parametrize(
    ("options", "answer", "is_passed"),
    [
        ({}, "  two\r\nlines \n", True),
        ({"trim_whitespace": False}, "two\nlines ", False),
        ({"trim_whitespace": False}, "two\r\nlines", True),
        ({"normalize_newlines": False}, "two\r\nlines", False),
        ({"normalize_newlines": False}, "two\nlines", True),
        ({}, "Two\nlines", False),
        ({"case_sensitive": False}, "Two\nLINES", True),
    ],
)
def test_equality_has_its_options(options: dict[str, bool], answer: str, is_passed: bool) -> None:
    assert passed({"type": "equals", "value": "two\nlines", **options}, answer) is is_passed


@pytest.mark.parametrize(
    ("kind", "expected", "answer"),
    [
        ("contains", {"answer": "b"}, "abc"),
        ("contains", {"answer": "x", "alternatives": ["b"]}, "abc"),
        ("equals", {"answer": "x", "alternatives": "abc"}, "abc"),
        ("contains_any", {"any_of": ["x", "b"]}, "abc"),
        ("icontains_any", {"answer": "x", "alternatives": ["B"]}, "abc"),
        ("contains_all", {"all_of": ["a", "b"]}, "abc"),
        ("starts_with", {"answer": "a"}, "abc"),
        ("not_contains", {"must_not_include": ["of it"]}, "abc"),
        ("semantic", {"must_include": ["a", ["x", "b"]], "must_not_include": ["z"]}, "abc"),
        ("levenshtein", {"answer": "abd!", "alternatives": ["abc"]}, "abc"),
    ],
)
def test_what_the_grader_does_not_say_the_case_does(kind: str, expected: dict[str, Any], answer: str) -> None:
    assert passed({"type": kind}, answer, expected) is True
    assert passed({"type": kind}, "nothing of it", expected) is False


def test_a_grader_s_own_value_goes_before_the_case_s() -> None:
    grader = {"type": "contains", "value": "mine"}
    assert passed(grader, "yours", {"answer": "yours"}) is False


def test_the_score_of_meaning_is_the_share_of_demands_that_hold() -> None:
    grader = {"type": "semantic", "must_include": ["a", "b", ["c", "d"]], "must_not_include": ["x"]}
    found = grade(grader, "A  and\nd, then x")
    assert (found.passed, found.score) == (False, 0.5)
    assert found.reason == "does not say 'b'; says 'x'"


def test_line_breaks_do_not_hide_what_is_said() -> None:
    assert passed({"type": "semantic", "must_include": ["PostgreSQL 14+"]}, "postgresql\n  14+ or so") is True
    assert passed({"type": "semantic", "must_include": ["A"], "case_sensitive": True}, "a") is False


def test_a_reason_says_what_was_missing_in_a_few_words() -> None:
    grader = {"type": "contains_all", "values": [f"word{i}" for i in range(9)]}
    found = grade(grader, "word0")
    assert found.reason == ("does not contain 'word1', 'word2', 'word3', 'word4', 'word5' and 3 more")
    assert len(grade({"type": "equals", "value": "v" * 999}, "a" * 999).reason) < 200


@pytest.mark.parametrize(
    ("options", "answer", "is_passed", "score"),
    [
        ({"value": "kitten"}, "sitting", False, 1 - 3 / 7),
        ({"value": "kitten", "threshold": 0.5}, "sitting", True, 1 - 3 / 7),
        ({"value": "kitten", "max_distance": 3}, "sitting", True, 1.0),
        ({"value": "kitten", "max_distance": 2}, "sitting", False, 0.0),
        ({"value": "dog", "alternatives": ["sitting"]}, "sittinG", True, 1 - 1 / 7),
        ({"value": "KITTEN", "case_sensitive": False}, " kitten\n", True, 1.0),
        ({"value": "abcde", "threshold": 0.8}, "abcdx", True, 0.8),
        ({"value": "dog", "alternatives": ["a" * 40], "max_distance": 2}, "a" * 37, False, 0.0),
    ],
)
def test_nearness_is_counted_in_edits(
    options: dict[str, Any], answer: str, is_passed: bool, score: float
) -> None:
    found = grade({"type": "levenshtein", **options}, answer)
    assert (found.passed, found.score) == (is_passed, pytest.approx(score))


def test_an_answer_of_accents_alone_is_not_sorted() -> None:
    accents = "\u0301" * 500_000 + "\u0327" * 500_000  # sorting these takes Python half an hour
    assert fold(accents) == accents
    assert passed({"type": "contains", "value": "Hà Nội"}, f"{accents} {DECOMPOSED}") is True


def test_a_run_of_any_accent_is_long_enough_to_be_left_alone() -> None:
    for code in range(sys.maxunicode + 1):
        accent = chr(code)
        first = unicodedata.normalize("NFD", accent)[0]
        if unicodedata.combining(first):
            mixed = (accent + "\u0301\u0327") * 30
            assert fold(mixed) == mixed, f"U+{code:04X}"
