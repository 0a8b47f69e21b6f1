"""Ratings as people type them and as JSON has them, read into the same numbers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.graders.human import BinaryOption, BinaryScale, LikertScale, RankingScale, RatingScale
from evalq.grading.people import LETTERS, rating_form, rating_json, rating_words, read_rating

LIKERT = LikertScale(type="likert", labels={"4": "Good", "5": "Excellent"})
CRITERIA = LikertScale(type="likert", criteria=["The output is accurate", "Tone"])
BINARY = BinaryScale(type="binary")
SHIP = BinaryScale(
    type="binary", options=[BinaryOption(value=True, label="Ship"), BinaryOption(value=False, label="Hold")]
)
RANKING = RankingScale(type="ranking")
TIES = RankingScale(type="ranking", tie_allowed=True)


@pytest.mark.parametrize(
    ("scale", "said", "values", "canonical", "words"),
    [
        (LIKERT, 4, (4,), 4, "4 (Good)"),
        (LIKERT, " 4 ", (4,), 4, "4 (Good)"),
        (LIKERT, 4.0, (4,), 4, "4 (Good)"),
        (LIKERT, "excellent", (5,), 5, "5 (Excellent)"),
        (LIKERT, 2, (2,), 2, "2"),
        (
            CRITERIA,
            "4, 5",
            (4, 5),
            {"The output is accurate": 4, "Tone": 5},
            "The output is accurate 4, Tone 5",
        ),
        (
            CRITERIA,
            [4, 5],
            (4, 5),
            {"The output is accurate": 4, "Tone": 5},
            "The output is accurate 4, Tone 5",
        ),
        (
            CRITERIA,
            {"tone": "5", "1": 4},
            (4, 5),
            {"The output is accurate": 4, "Tone": 5},
            "The output is accurate 4, Tone 5",
        ),
        (BINARY, True, (1,), True, "Pass"),
        (BINARY, "PASS", (1,), True, "Pass"),
        (BINARY, "n", (0,), False, "Fail"),
        (BINARY, 0, (0,), False, "Fail"),
        (SHIP, "hold", (0,), False, "Hold"),
        (SHIP, "yes", (1,), True, "Ship"),
        (RANKING, "B > A > C", (2, 1, 3), ["B", "A", "C"], "B > A > C"),
        (RANKING, "bac", (2, 1, 3), ["B", "A", "C"], "B > A > C"),
        (RANKING, ["B", "A", "C"], (2, 1, 3), ["B", "A", "C"], "B > A > C"),
        (TIES, "B > A = C", (2.5, 1, 2.5), ["B", ["A", "C"]], "B > A = C"),
        (TIES, ["B", ["A", "C"]], (2.5, 1, 2.5), ["B", ["A", "C"]], "B > A = C"),
        (TIES, "a=b=c", (2, 2, 2), [["A", "B", "C"]], "A = B = C"),
    ],
)
def test_a_rating_is_read_and_shown(
    scale: RatingScale, said: Any, values: tuple[float, ...], canonical: Any, words: str
) -> None:
    assert read_rating(scale, said, n_answers=3) == values
    assert rating_json(scale, values) == canonical
    assert read_rating(scale, canonical, n_answers=3) == values
    assert rating_words(scale, values) == words


@pytest.mark.parametrize(
    ("scale", "said", "words"),
    [
        (LIKERT, 6, "'6' is not on the scale; write 1 to 5"),
        (LIKERT, 0, "not on the scale"),
        (LIKERT, True, "not on the scale"),
        (LIKERT, 3.5, "not on the scale"),
        (LIKERT, None, "not on the scale"),
        (LIKERT, [4], "not on the scale"),
        (LIKERT, "04", "not on the scale"),
        (CRITERIA, 4, "not one rating for each criterion"),
        (CRITERIA, "4", "not one rating for each criterion"),
        (CRITERIA, {"Tone": 4}, "no rating of 'The output is accurate'"),
        (CRITERIA, {"Tone": 4, "2": 4}, "two ratings of criterion '2'"),
        (CRITERIA, {"Style": 4}, "unknown criterion 'Style'"),
        (CRITERIA, "4 9", "'9' is not on the scale"),
        (BINARY, "maybe", "'maybe' is neither side; write Pass or Fail"),
        (BINARY, 1.0, "neither side"),
        (BINARY, 2, "neither side"),
        (BINARY, None, "neither side"),
        (RANKING, "A B", "not every answer once; write the letters A to C, best first"),
        (RANKING, "A B C D", "not every answer once"),
        (RANKING, "A A B", "not every answer once"),
        (RANKING, "A > B > =", "not every answer once"),
        (RANKING, "= A B C", "not every answer once"),
        (RANKING, "A1B2C", "not every answer once"),
        (RANKING, {"A": 1}, "not every answer once"),
        (RANKING, None, "not every answer once"),
        (RANKING, "A = B C", "a tie, and the scale allows none"),
    ],
)
def test_what_is_no_rating_is_refused_with_what_to_write(scale: RatingScale, said: Any, words: str) -> None:
    with pytest.raises(ValueError, match="; ") as caught:
        read_rating(scale, said, n_answers=3)
    assert words in str(caught.value)


def test_what_to_type_is_said() -> None:
    assert rating_form(LIKERT) == "1 to 5"
    assert rating_form(CRITERIA) == "1 to 5 for each of 2 criteria: 4,5,…"
    assert rating_form(SHIP) == "Ship or Hold"
    assert rating_form(TIES, 4) == "the letters A to D, best first: B > A, = for a tie"


@given(st.lists(st.integers(0, 4), min_size=2, max_size=6))
def test_any_ranking_survives_being_written_and_read(places: list[int]) -> None:
    groups = [[LETTERS[at] for at, place in enumerate(places) if place == rank] for rank in range(5)]
    text = " > ".join(" = ".join(group) for group in groups if group)
    values = read_rating(TIES, text, n_answers=len(places))
    assert sum(values) == len(places) * (len(places) + 1) / 2
    assert rating_words(TIES, values) == text
    assert read_rating(TIES, rating_json(TIES, values), n_answers=len(places)) == values
