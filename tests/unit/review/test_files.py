"""Files of ratings: strict, with the line of every mistake."""

import json
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.review.files import read_ratings

LINE: dict[str, Any] = {"item": "0a1b2c3d4e5f", "rating": 4}


def read(*lines: Any) -> tuple[list[Any], int]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return read_ratings(text, "r.jsonl", reviewer="ann")


def complaints(*lines: Any) -> list[tuple[int, str]]:
    with pytest.raises(InputError) as caught:
        read(*lines)
    assert {problem.file for problem in caught.value.problems} == {"r.jsonl"}
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_a_line_is_a_rating_and_where_it_is_written() -> None:
    (first, second), n_empty = read(
        LINE, "", {**LINE, "reviewer": "bob", "comment": "hm", "adjudicate": True}
    )
    assert (first.item, first.reviewer, first.said, first.line) == ("0a1b2c3d4e5f", "ann", 4, 1)
    assert (second.reviewer, second.comment, second.adjudicates, second.line) == ("bob", "hm", True, 3)
    assert n_empty == 0


def test_what_nobody_has_filled_in_is_counted() -> None:
    given, n_empty = read({**LINE, "rating": None}, {**LINE, "rating": ""}, {"item": "0a1b"}, LINE)
    assert (len(given), n_empty) == (1, 3)


def test_what_was_exported_for_people_is_passed_over() -> None:
    (given,), _ = read({**LINE, "question": "?", "answer": "!", "scale": {"type": "likert"}, "blind": True})
    assert given.said == 4


def test_false_and_zero_are_ratings() -> None:
    given, n_empty = read({**LINE, "rating": False}, {**LINE, "rating": 0})
    assert ([one.said for one in given], n_empty) == ([False, 0], 0)


def test_every_mistake_has_its_line() -> None:
    found = complaints(
        LINE,
        "{",
        "[1]",
        {"rating": 4},
        {**LINE, "ratng": 4},
        {**LINE, "comment": 4, "reviewer": None},
        {**LINE, "adjudicate": "yes"},
        '{"item": "a", "item": "b"}',
    )
    assert [line for line, _ in found] == [2, 3, 4, 5, 6, 6, 7, 8]
    messages = [message for _, message in found]
    assert messages[1:4] == ["not a JSON object", "missing key 'item'", "unknown key 'ratng'"]
