"""Cards: every rating of a scale has a button, and no key means two things."""

from typing import Any

import pytest

from evalq.definitions.graders import Human
from evalq.grading.people import LETTERS, read_rating
from evalq.review.items import Answer, ItemView
from evalq.web.review_cards import Card, make_card


def card_of(scale: Any, n_answers: int = 1) -> Card:
    grader = Human.model_validate({"type": "human", "rating_scale": scale})
    answers = tuple(Answer(letter, "text") for letter in LETTERS[:n_answers])
    return make_card(
        ItemView(
            item="0a1b2c3d4e5f",
            bakeoff_id=7,
            task="essays",
            grader="human",
            case_id="case-1",
            interface=None,
            instructions="",
            question="?",
            reference="",
            answers=answers,
            rubric="",
            scale=grader.rating_scale,
            is_blind=True,
            rated=0,
            min_required=1,
            max_allowed=1,
        )
    )


@pytest.mark.parametrize(
    ("scale", "n_answers", "kind", "keys"),
    [
        ("binary", 1, "buttons", ["1", "2"]),
        ("likert", 1, "buttons", ["1", "2", "3", "4", "5"]),
        ({"type": "likert", "range": [0, 10]}, 1, "buttons", [*"0123456789", ""]),
        ({"type": "likert", "range": [0, 50]}, 1, "number", None),
        ({"type": "likert", "criteria": ["a", "b"]}, 1, "criteria", None),
        ({"type": "likert", "range": [0, 50], "criteria": ["a", "b"]}, 1, "ranking", None),
        ("pairwise", 2, "buttons", ["ArrowLeft", "=", "ArrowRight"]),
        ("ranking", 2, "buttons", ["ArrowLeft", "ArrowRight"]),
        ("ranking", 3, "ranking", []),
    ],
)
def test_a_scale_becomes_buttons_with_keys(
    scale: Any, n_answers: int, kind: str, keys: list[str] | None
) -> None:
    card = card_of(scale, n_answers)
    assert card.kind == kind
    if keys is not None:
        assert [choice.key for choice in card.choices] == keys
    if kind == "buttons":
        for choice in card.choices:
            assert read_rating(card.item.scale, choice.value, n_answers=n_answers)


@pytest.mark.parametrize("n_answers", [1, 3, 7, 26])
def test_no_key_means_an_answer_and_an_action(n_answers: int) -> None:
    card = card_of("ranking" if n_answers > 1 else "binary", n_answers)
    actions = [key.key for key in card.keys.values()]
    assert len(set(actions)) == len(actions)
    assert not set(actions) & set(card.letters.lower())


def test_an_action_that_needs_shift_says_so() -> None:
    assert card_of("ranking", 3).keys["comment"].printed == "⇧C"
    assert card_of("ranking", 3).keys["undo"].printed == "u"
