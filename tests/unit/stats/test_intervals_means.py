import math
from random import Random
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.stats.intervals import mean_ci

scores = st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=60)


def test_no_values_have_no_interval() -> None:
    assert all(math.isnan(end) for end in mean_ci([]))


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_equal_values_leave_no_room(value: float) -> None:
    assert mean_ci([value] * 9) == pytest.approx((value, value))
    assert mean_ci([value]) == (value, value)


@given(scores)
def test_the_interval_lies_within_the_values_and_is_ordered(values: list[float]) -> None:
    low, high = mean_ci(values, 200)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


@given(scores, st.randoms())
def test_the_order_of_the_values_does_not_matter(values: list[float], random: Random) -> None:
    mixed = values.copy()
    random.shuffle(mixed)
    assert mean_ci(mixed, 200) == mean_ci(values, 200)


def test_the_seed_repeats_it() -> None:
    values = [0.0, 0.5, 1.0, 1.0, 0.25] * 5
    assert mean_ci(values, seed=1) == mean_ci(values, seed=1) != mean_ci(values, seed=2)


def test_it_agrees_with_the_normal_interval_where_there_are_many_values() -> None:
    values = (np.arange(400) % 5 / 4).tolist()
    margin = 1.96 * float(np.std(values)) / math.sqrt(len(values))
    low, high = mean_ci(values, 10_000)
    assert (low, high) == pytest.approx((fmean(values) - margin, fmean(values) + margin), abs=0.003)


def test_it_agrees_with_resampling_row_by_row() -> None:
    values = np.array([0.0, 0.2, 1.0, 0.5, 1.0, 0.0, 0.25, 1.0])
    rows = np.random.default_rng(3).choice(values, size=(10_000, len(values))).mean(axis=1)
    low, high = np.quantile(rows, [0.025, 0.975])
    assert mean_ci(values.tolist(), 10_000) == pytest.approx((low, high), abs=0.02)


def test_less_certainty_is_asked_for_by_a_wider_alpha() -> None:
    values = [0.0, 0.5, 1.0] * 10
    narrow, wide = mean_ci(values, alpha=0.5), mean_ci(values, alpha=0.01)
    assert wide.low < narrow.low < narrow.high < wide.high
