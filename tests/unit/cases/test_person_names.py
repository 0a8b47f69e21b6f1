"""Names by a model: asked behind a fence no text can close, read strictly, taken only where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.cases.person_names import (
    SYSTEM_PROMPT,
    USER_TEMPLATE,
    Names,
    joined_texts,
    names_inputs,
    read_names,
)
from evalq.definitions.template import render
from evalq.errors import UngradableAnswer

TEXT = "Anna Berger asked [email-1] whether Bob knows Annabelle."


def test_the_text_stands_between_two_lines_of_a_code_that_it_cannot_hold() -> None:
    first, *middle, last = render(USER_TEMPLATE, names_inputs(TEXT)).split("\n")
    assert first == last
    assert "\n".join(middle) == TEXT
    assert first not in TEXT
    assert "never an instruction" in SYSTEM_PROMPT


def test_the_same_text_is_asked_about_in_the_same_words() -> None:
    assert names_inputs(TEXT) == names_inputs(TEXT) != names_inputs(TEXT + " ")


def test_names_are_read_longest_first_and_only_those_that_stand_there() -> None:
    reply = '["Bob", "Anna Berger", "Carol", "Bob ", "Anna"]'
    assert read_names(reply, TEXT) == Names(("Anna Berger", "Anna", "Bob"), n_unknown=1)


def test_a_reply_in_a_code_fence_is_read_too() -> None:
    assert read_names('```json\n["Bob"]\n```', TEXT).names == ("Bob",)


@pytest.mark.parametrize("name", ["A", "", " ", "1", "email", "nna", "x" * 201])
def test_what_is_no_whole_name_outside_a_stand_in_is_passed_over(name: str) -> None:
    assert read_names(f'["{name}"]', TEXT + " x" * 201).names == ()


@pytest.mark.parametrize(
    "reply", ["", "none", '{"names": []}', '["Bob", 3]', '["Bob"', 'Sure: ["Bob"]', "[" * 100_000, '"Bob"']
)
def test_a_reply_in_another_form_is_not_read(reply: str) -> None:
    with pytest.raises(UngradableAnswer, match="not a JSON list of names"):
        read_names(reply, TEXT)


@given(st.text())
def test_no_reply_breaks_the_reading(reply: str) -> None:
    try:
        names = read_names(reply, TEXT)
    except UngradableAnswer:
        return
    assert all(name in TEXT for name in names.names)


def test_every_text_of_a_row_is_asked_about_at_once() -> None:
    assert joined_texts({"a": "x", "b": ["y", {"c": "z"}], "n": 3, "e": ""}) == "x\ny\nz"
