"""Figures for the lead: items by the reviews they have, and graders beside the majority of people."""

import pytest

from evalq.review.figures import count_by_reviews, graders_beside_people
from evalq.review.files import beside_words
from evalq.store.reviewers import LabelBesideGrade
from evalq.store.reviews import ListedItem


def item(rated: int, min_required: int = 2) -> ListedItem:
    return ListedItem(1, "0a1b", "human", "c", 1, True, rated, rated, 1, min_required, "grade", None)


def beside(passed: bool, ayes: int, votes: int = 1) -> LabelBesideGrade:
    return LabelBesideGrade("llm", passed, ayes, votes)


def test_items_are_counted_by_the_reviews_they_have() -> None:
    assert count_by_reviews([item(0), item(2), item(3), item(1)]) == {0: 1, 1: 1, 2: 2}
    assert count_by_reviews([]) == {}


def test_a_grader_is_compared_with_the_majority_and_ties_are_left_out() -> None:
    rows = [beside(True, 1), beside(True, 2, 3), beside(False, 0), beside(False, 1), beside(True, 1, 2)]
    (found,) = graders_beside_people(rows)
    assert (found.grader, found.n, found.share, found.kappa) == ("llm", 4, 0.75, 0.5)
    assert found.kappa_low is not None
    assert found.kappa_low < 0.5
    assert beside_words(found).startswith("κ 0.50 [")


@pytest.mark.parametrize("ayes", [0, 1])
def test_kappa_of_one_who_never_varies_is_undefined(ayes: int) -> None:
    (found,) = graders_beside_people([beside(True, ayes), beside(True, ayes)])
    assert (found.kappa, found.share) == (None, float(ayes))
    assert beside_words(found).startswith("κ n/a (one never varies)")
    assert graders_beside_people([]) == ()
