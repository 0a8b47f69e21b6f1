"""What holds for every answer, whatever it is."""

import re

import regex
from answers import grade, passed
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.definitions.regexes import compile_regex
from evalq.grading.checks.text import edit_distance
from evalq.grading.compare_json import StructureOptions, differences, numeric_differences

TEXT = st.text(max_size=40)
WORDS = st.text(alphabet="abé ß", min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=4), below, max_size=4),
    max_leaves=12,
)
PATTERNS = st.text(alphabet=r"ab1.*+?|()[]{}^$\-,:<>=eidsw #", max_size=10)
unhurried = settings(deadline=None, max_examples=50)


@given(WORDS, TEXT)
@unhurried
def test_what_contains_passes_not_contains_fails(value: str, answer: str) -> None:
    has = passed({"type": "contains", "value": value}, answer)
    assert has is not passed({"type": "not_contains", "value": value}, answer)
    assert has is not passed({"type": "contains", "value": value, "negate": True}, answer)


@given(WORDS, TEXT)
@unhurried
def test_minding_letter_case_finds_no_more_than_not_minding_it(value: str, answer: str) -> None:
    if passed({"type": "contains", "value": value}, answer):
        assert passed({"type": "icontains", "value": value}, answer)


@given(TEXT, TEXT, st.booleans(), st.booleans(), st.booleans())
@unhurried
def test_equality_has_no_direction(one: str, other: str, case: bool, trim: bool, newlines: bool) -> None:
    options = {"case_sensitive": case, "trim_whitespace": trim, "normalize_newlines": newlines}
    forth = passed({"type": "equals", "value": one, **options}, other)
    assert forth is passed({"type": "equals", "value": other, **options}, one)
    assert passed({"type": "equals", "value": one, **options}, one) is True


@given(st.lists(WORDS, min_size=1, max_size=4), TEXT)
@unhurried
def test_all_of_some_are_any_of_them(values: list[str], answer: str) -> None:
    if passed({"type": "contains_all", "values": values}, answer):
        assert passed({"type": "contains_any", "values": values}, answer)


@given(WORDS, WORDS, WORDS)
@unhurried
def test_edit_distance_is_a_distance(one: str, other: str, third: str) -> None:
    distance = edit_distance(one, other)
    assert distance == edit_distance(other, one)
    assert (distance == 0) == (one == other)
    assert edit_distance(one, third) <= distance + edit_distance(other, third)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))


@given(TEXT, TEXT)
@unhurried
def test_edit_distance_is_that_of_the_table(one: str, other: str) -> None:
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        below = [i]
        for j, wanted in enumerate(other, start=1):
            below.append(min(row[j] + 1, below[-1] + 1, row[j - 1] + (letter != wanted)))
        row = below
    assert edit_distance(one, other) == row[-1]


@given(JSON, st.booleans())
@unhurried
def test_a_value_has_its_own_structure(value: object, strict: bool) -> None:
    assert differences(value, value, StructureOptions(strict=strict)) == []
    assert numeric_differences(value, value, {}) == []


@given(JSON, JSON)
@unhurried
def test_a_place_that_differs_can_be_ignored(one: object, other: object) -> None:
    assert differences(one, other, StructureOptions(ignore_fields=["**"])) == []
    strictly = differences(one, other, StructureOptions(strict=True))
    assert len(differences(one, other)) <= len(strictly)


@given(PATTERNS, st.text(alphabet="ab1 {}e,<=", max_size=12))
@settings(deadline=None, max_examples=300)
def test_a_pattern_means_what_it_means_to_python(pattern: str, text: str) -> None:
    try:
        ours = compile_regex(pattern)
    except ValueError:
        return
    found, wanted = ours.search(text), re.search(pattern, text)
    assert (found and found.span()) == (wanted and wanted.span())


def test_the_engine_alone_would_read_braces_otherwise() -> None:
    assert regex.search("a{e<=1}", "b") is not None
    assert compile_regex("a{e<=1}").search("b") is None


@given(TEXT, st.integers(0, 9))
@unhurried
def test_word_counts_complement_each_other(answer: str, value: int) -> None:
    fewer = passed({"type": "max_words", "value": value}, answer)
    assert fewer is not passed({"type": "min_words", "value": value + 1}, answer)


@given(TEXT)
@unhurried
def test_any_answer_gets_a_mark_or_an_error_from_every_form_of_check(answer: str) -> None:
    for kind, config in {
        "is_json": {},
        "refusal": {},
        "numeric": {"value": 1, "extract": "last"},
        "json_schema": {"schema": {"type": "object"}},
        "structural_match": {"value": {"a": "{{any_uuid}}"}},
    }.items():
        found = grade({"type": kind, **config}, answer)
        assert found.passed is None or found.score == float(found.passed)
