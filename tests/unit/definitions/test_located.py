import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.located import load_json
from evalq.errors import InputError, Problem

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
scalars = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | texts
finite = scalars.filter(lambda value: value not in (float("inf"), float("-inf")))
values = st.recursive(finite, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


def problem_in(text: str, **options: Any) -> Problem:
    with pytest.raises(InputError) as caught:
        load_json(text, "f.json", **options)
    (problem,) = caught.value.problems
    assert problem.remedy
    return problem


@given(values, st.sampled_from([None, 2]), st.booleans())
def test_every_json_value_is_read_as_json_reads_it(value: Any, indent: int | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert load_json(text, "f.json").value == value


def test_parts_have_their_lines() -> None:
    located = load_json('{\n "a": [\n  1,\n  {"b": "x\\ny"}\n ]\n}', "f.json")
    assert located.value == {"a": [1, {"b": "x\ny"}]}
    assert located.line_of(("a", 1, "b")) == 4


def test_one_line_needs_no_positions() -> None:
    located = load_json('{"a": [1]}', "f.jsonl", first_line=7)
    assert located.line_of(("a", 0)) == 7


def test_an_empty_text_is_none() -> None:
    assert load_json(" \n", "f.json").value is None


@pytest.mark.parametrize(("text", "line"), [("[\n1,\n]", 3), ('{"a": 1', 1), ("'a'", 1), ('"a', 1)])
def test_syntax_errors_have_their_line(text: str, line: int) -> None:
    problem = problem_in(text)
    assert problem.message.startswith("not JSON: ")
    assert problem.line == line


def test_syntax_errors_count_from_the_first_line() -> None:
    assert problem_in("{oops}", first_line=12).line == 12


@pytest.mark.parametrize(("text", "line"), [('{"a": 1, "a": 2}', 1), ('[{"a": 1,\n"a": 2}]', 2)])
def test_a_key_written_twice_is_refused(text: str, line: int) -> None:
    problem = problem_in(text)
    assert "'a' is written twice" in problem.message
    assert problem.line == line


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_not_finite_are_refused(number: str) -> None:
    assert problem_in(f'{{"a": {number}}}').message == "not a finite number"
    assert problem_in(f'{{"a":\n {number}}}').line == 2


@pytest.mark.parametrize("opening", ["[", '{"a":', '[\n{"a":'])
def test_deep_nesting_is_refused(opening: str) -> None:
    assert "deeper than 50" in problem_in(opening * 100_000).message


def test_brackets_inside_a_string_are_no_nesting() -> None:
    assert load_json(json.dumps("[" * 100), "f.json").value == "[" * 100


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\uDFFF"])
def test_what_postgres_cannot_hold_is_refused(escape: str) -> None:
    assert "NUL or half a surrogate" in problem_in(f'["a{escape}"]').message


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert load_json('["\\ud83d\\ude00"]', "f.json").value == ["😀"]


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    assert "digits" in problem_in("9" * 5000).message
