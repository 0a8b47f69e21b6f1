"""Hit@k and mean reciprocal rank by hand, against the seed's table, and by their own promises."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.stats.ranking import first_rank, hit_at_k, mrr

RANKS = st.lists(st.none() | st.integers(1, 50), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("ranked", "relevant", "rank"),
    [
        (["a", "b", "c"], {"b", "c"}, 2),
        (["a"], {"a"}, 1),
        (["a"], {"z"}, None),
        ([], {"a"}, None),
        (["a"], set(), None),
    ],
)
def test_the_first_relevant_id_counts(ranked: list[str], relevant: set[str], rank: int | None) -> None:
    assert first_rank(ranked, relevant) == rank


def test_ranks_that_fit_the_first_row_of_the_retrieval_table_give_its_numbers() -> None:
    ranks = [1] * 80 + [2] * 10 + [3] + [None] * 2

    assert round(hit_at_k(ranks, 1), 3) == 0.860
    assert round(hit_at_k(ranks, 3), 3) == 0.978
    assert round(mrr(ranks), 3) == 0.918


def test_nothing_found_scores_zero_and_all_on_top_one() -> None:
    assert (hit_at_k([None, None], 10), mrr([None, None])) == (0.0, 0.0)
    assert (hit_at_k([1, 1], 1), mrr([1, 1])) == (1.0, 1.0)


@given(RANKS, st.randoms(use_true_random=False))
def test_reciprocal_ranks_lie_between_the_hits_that_bound_them_in_any_order(
    ranks: list[int | None], shuffler: random.Random
) -> None:
    first, third, mean = hit_at_k(ranks, 1), hit_at_k(ranks, 3), mrr(ranks)
    mixed = shuffler.sample(ranks, len(ranks))

    assert (
        first + (third - first) / 3 - 1e-12 <= mean <= first + (third - first) / 2 + (1 - third) / 4 + 1e-12
    )
    assert (hit_at_k(mixed, 3), mrr(mixed)) == (third, mean)


def test_no_query_has_no_score() -> None:
    assert math.isnan(hit_at_k([], 1))
    assert math.isnan(mrr([]))


def test_places_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="k counts from 1"):
        hit_at_k([1], 0)
    with pytest.raises(ValueError, match="a rank counts from 1"):
        mrr([0])
    with pytest.raises(ValueError, match="a rank counts from 1"):
        hit_at_k([-2], 1)
