"""Rows scrubbed: overlaps merged, stand-ins the same for the same value, nothing of a value left anywhere."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.cases.scrub import RANKING
from evalq.cases.scrub.scrub import Pseudonyms, find_spans, mask, renumber, replace_spans, scrub_row
from evalq.cases.scrub.span import Span, merge_spans

VALUES = ["anna@mail.example", "0171/2345678", "4000 0000 0000 1232", "203.0.113.7", "078-05-1120"]


def after(text: str, pseudonyms: Pseudonyms | None = None, **how: Any) -> str:
    return replace_spans("", text, find_spans(text, **how), pseudonyms or Pseudonyms()).after


def test_the_same_value_has_the_same_stand_in_however_it_is_written() -> None:
    text = "Anna@mail.example, anna@MAIL.example; +49 30 901820, +49-30-901820; 4000 0000 0000 1232"
    assert (
        after(f"{text} 4000000000001232") == "[email-1], [email-1]; [phone-1], [phone-1]; [card-1] [card-1]"
    )


def test_stand_ins_count_through_a_file_by_kind() -> None:
    pseudonyms = Pseudonyms()
    rows = [scrub_row({"a": f"{name}@mail.example"}, pseudonyms) for name in ("x", "y", "x")]
    assert [row.values["a"] for row in rows] == ["[email-1]", "[email-2]", "[email-1]"]


def test_with_a_key_a_value_has_the_same_stand_in_in_every_file_and_another_with_another_key() -> None:
    first, second, other = (
        Pseudonyms(key).stand_in("email", "x@y.example") for key in (b"k" * 16, b"k" * 16, b"o")
    )
    assert first == second != other
    assert after(f"see {first}") == f"see {first}"


def test_numbers_in_use_are_passed_over() -> None:
    pseudonyms = Pseudonyms(taken=["was [email-3] and [phone-1]", "[email-2] [email-0123456789ab]"])
    assert after("a@b.example 0171/2345678", pseudonyms) == "[email-4] [phone-2]"


def test_overlapping_spans_become_one_of_the_kind_listed_first() -> None:
    spans = [Span(4, 9, "phone"), Span(0, 6, "email"), Span(9, 12, "ip"), Span(7, 8, "iban")]
    assert merge_spans(spans, RANKING) == [Span(0, 9, "iban"), Span(9, 12, "ip")]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20), st.sampled_from(RANKING))))
def test_merging_leaves_no_character_uncovered_and_none_covered_twice(found: list[Any]) -> None:
    spans = [Span(start, start + size, kind) for start, size, kind in found]
    merged = merge_spans(spans, RANKING)
    assert {at for span in spans for at in range(span.start, span.end)} == {
        at for span in merged for at in range(span.start, span.end)
    }
    assert all(one.end <= other.start for one, other in pairwise(merged))


def test_texts_are_found_at_any_depth_and_card_numbers_as_numbers() -> None:
    row = scrub_row(
        {"m": {"to": ["x", "a@b.example"]}, "card": 4000000000001232, "n": 42, "no": None}, Pseudonyms()
    )
    assert row.values == {"m": {"to": ["x", "[email-1]"]}, "card": "[card-1]", "n": 42, "no": None}
    assert [text.field for text in row.texts] == ["m.to[1]", "card"]


def test_fields_of_the_same_name_are_not_mistaken_for_each_other() -> None:
    row = scrub_row({"a.b": "a@b.example", "a": {"b": "c@d.example"}}, Pseudonyms())
    assert row.values == {"a.b": "[email-1]", "a": {"b": "[email-2]"}}


def test_keys_are_left_but_named_masked() -> None:
    row = scrub_row({"by": {"a@b.example": "call 0171/2345678"}}, Pseudonyms())
    assert row.values == {"by": {"a@b.example": "call [phone-1]"}}
    assert row.suspect_keys == (("by.a…(11)", "email"),)
    assert row.texts[0].field == "by.a…(11)"


def test_a_password_known_by_its_label_is_replaced_in_the_whole_row() -> None:
    row = scrub_row({"text": "password: geheim4711", "expected": "geheim4711 it is"}, Pseudonyms())
    assert row.values == {"text": "password: [secret-1]", "expected": "[secret-1] it is"}


def test_names_are_replaced_as_whole_words_the_longest_first() -> None:
    text = "Ann and Ann Berger met Anna; Ann's mail is ann@b.example"
    assert after(text, names=["Ann", "Ann Berger"]) == (
        "[name-1] and [name-2] met Anna; [name-1]'s mail is [email-1]"
    )


def test_stand_ins_that_are_there_already_stay_as_they_are() -> None:
    once = after("password=geheim4711, a@b.example, Bearer f4ke0000A1b2C3d4E5f6G7h8")
    assert after(once, names=["email", "secret"]) == once


@pytest.mark.parametrize("value", VALUES)
def test_of_a_value_only_the_first_character_and_the_length_are_kept(value: str) -> None:
    row = scrub_row({"text": f"so: {value}."}, Pseudonyms())
    assert value not in repr(row)
    assert row.texts[0].before == f"so: ‹{mask(value)}›."
    assert mask(value) == f"{value[0]}…({len(value)})"


@given(st.lists(st.sampled_from([*VALUES, " and ", "\n", "x", "né", "[email-1]", " 12 "]), max_size=12))
def test_what_was_scrubbed_once_is_never_changed_again(parts: list[str]) -> None:
    once = after(" ".join(parts))
    assert find_spans(once) == []


def test_texts_compare_alike_however_their_stand_ins_are_counted() -> None:
    one, other = "[email-7] wrote to [email-3], [email-7]", "[email-1] wrote to [email-2], [email-1]"
    assert renumber(one, {}) == renumber(other, {})
    assert renumber(one, {}) != renumber("[email-1] wrote to [email-1], [email-2]", {})
