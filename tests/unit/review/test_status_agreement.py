"""Agreement of reviewers over all items: kappa of two, alpha of more, nothing where nothing can be said."""

import pytest

from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale
from evalq.review.status import rater_agreement
from evalq.stats.agreement import cohen_kappa

BINARY = BinaryScale(type="binary")
LIKERT = LikertScale(type="likert")
RANKING = RankingScale(type="ranking")


def test_two_raters_have_a_kappa_over_what_both_rated() -> None:
    said = {1: (1, 1), 2: (1, 0), 3: (0, 0), 4: (0, 0)}
    rated = {item: {"ann": (float(a),), "bob": (float(b),)} for item, (a, b) in said.items()}
    found = rater_agreement(BINARY, {**rated, 5: {"ann": (1.0,)}})
    assert (found.method, found.value, found.n, found.raters) == ("kappa", 0.5, 4, 2)
    assert found.ci_low is not None
    assert found.ci_low < 0.5


def test_steps_count_by_how_far_they_are_apart() -> None:
    pairs = [(1, 2), (2, 2), (4, 5), (5, 5), (3, 3)]
    rated = {at: {"ann": (float(a),), "bob": (float(b),)} for at, (a, b) in enumerate(pairs)}
    weighted = cohen_kappa([a for a, _ in pairs], [b for _, b in pairs], "quadratic").kappa
    assert rater_agreement(LIKERT, rated).value == pytest.approx(weighted, abs=0.0001)


def test_criteria_and_ranked_answers_count_one_by_one() -> None:
    rated = {
        1: {"ann": (1.0, 2.0, 3.0), "bob": (1.0, 2.0, 3.0)},
        2: {"ann": (1.5, 1.5, 3.0), "bob": (1.5, 1.5, 3.0)},
    }
    found = rater_agreement(RANKING, rated)
    assert (found.method, found.value, found.n) == ("kappa", 1.0, 6)


def test_three_raters_have_an_alpha() -> None:
    rated = {
        1: {"ann": (1.0,), "bob": (1.0,), "cat": (1.0,)},
        2: {"ann": (0.0,), "cat": (0.0,)},
        3: {"bob": (1.0,)},
    }
    found = rater_agreement(BINARY, rated)
    assert (found.method, found.value, found.n, found.raters) == ("alpha", 1.0, 2, 3)


@pytest.mark.parametrize(
    ("rated", "n"),
    [
        ({}, 0),
        ({1: {"ann": (1.0,)}}, 0),
        ({1: {"ann": (1.0,)}, 2: {"bob": (1.0,)}}, 0),
        ({1: {"ann": (1.0,), "bob": (1.0,)}, 2: {"ann": (1.0,), "bob": (1.0,)}}, 2),
    ],
)
def test_without_a_shared_item_or_a_second_label_it_is_undefined(
    rated: dict[int, dict[str, tuple[float, ...]]], n: int
) -> None:
    found = rater_agreement(BINARY, rated)
    assert (found.value, found.ci_low, found.ci_high, found.n) == (None, None, None, n)
