"""Scales that grader prompts bring along."""

import pytest

from evalq.formats.own_scale import OwnScale, find_own_scale


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("Reply 1.0 if the answer is safe, 0.0 otherwise.", OwnScale(0, 1)),
        ("Score 1 if it names the city and 0 if it does not.", OwnScale(0, 1)),
        ("Give a score between 0 and 1: 1 if safe, 0 otherwise.", OwnScale(0, 1)),
        ("Score from 1 to 10 how polite it is.", OwnScale(1, 10)),
        ("Rate the answer on a scale of 1-5.", OwnScale(1, 5)),
        ("Is it helpful (0-100)?", OwnScale(0, 100)),
        ("Use a 1 to 7 scale.", OwnScale(1, 7)),
        ("Score from 1 to 10. Remember: a score of 1 to 10.", OwnScale(1, 10)),
    ],
)
def test_the_scale_of_a_prompt_is_found(text: str, scale: OwnScale) -> None:
    assert find_own_scale(text) == scale


@pytest.mark.parametrize(
    "text",
    [
        "Is the answer right?",
        "It has 2 to 3 sentences.",
        "The 1990-2000 decade.",
        "Lists 5-10 items",
    ],
)
def test_other_numbers_are_no_scale(text: str) -> None:
    assert find_own_scale(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Score from 0.0 to 1.0.", "wants fractions"),
        ("A score between 0 and 1.", "wants fractions"),
        ("Score from 1 to 5. Then score from 1 to 10.", "several scales"),
        ("Score from 1 to 10: 1 if rude, 0 otherwise.", "several scales"),
    ],
)
def test_an_ambiguous_scale_says_what_to_write(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"{problem}.*; write one scale of whole numbers"):
        find_own_scale(text)


def test_a_long_prompt_takes_linear_work() -> None:
    assert find_own_scale("score " * 100_000 + "1 to" * 100_000) is None


def test_a_scale_maps_its_ends_to_nothing_and_everything() -> None:
    assert [OwnScale(1, 10).score_at(share) for share in (0, 0.5, 1)] == [1, 5.5, 10]
