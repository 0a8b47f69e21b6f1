"""Nearest-rank latency quantiles: the textbook list, the edges, and the float trap."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.stats.intervals import latency_quantile


@pytest.mark.parametrize(("q", "value"), [(0.05, 15), (0.3, 20), (0.4, 20), (0.5, 35), (1, 50), (0, 15)])
def test_the_textbook_list_has_its_nearest_ranks(q: float, value: int) -> None:
    assert latency_quantile([50, 15, 35, 20, 40], q) == value


def test_no_values_have_no_quantile() -> None:
    assert latency_quantile([], 0.95) is None


@pytest.mark.parametrize("q", [0, 0.5, 0.95, 1])
def test_a_single_value_is_every_quantile(q: float) -> None:
    assert latency_quantile([7], q) == 7


@pytest.mark.parametrize("percent", range(1, 101))
def test_a_whole_rank_is_not_rounded_up_by_binary_fractions(percent: int) -> None:
    assert latency_quantile(range(1, 101), percent / 100) == percent


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(1, 100))
def test_a_quantile_is_the_smallest_value_that_enough_values_reach(values: list[int], percent: int) -> None:
    found = latency_quantile(values, percent / 100)

    assert found in values
    assert 100 * sum(value <= found for value in values) >= percent * len(values)
    assert 100 * sum(value < found for value in values) < percent * len(values)


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_a_quantile_outside_zero_to_one_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        latency_quantile([1, 2], q)
