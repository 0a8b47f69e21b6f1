"""Rank correlation against scipy, and what ties are worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from evalq.stats.ranking import mid_ranks, rank_correlation

several = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def test_tied_things_share_their_mean_place() -> None:
    assert mid_ranks([[1], [0, 2], [3]], 4) == (2.5, 1, 2.5, 4)


@given(several)
def test_it_is_spearmans_rho(pair: tuple[list[int], list[int]]) -> None:
    a, b = (tuple(rankdata(values).tolist()) for values in pair)
    found = rank_correlation(a, b)
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert found == pytest.approx(spearmanr(a, b).statistic)
    else:
        assert found == (1 if a == b else 0)
    assert found == rank_correlation(b, a)
    assert -1 - 1e-9 <= found <= 1 + 1e-9
