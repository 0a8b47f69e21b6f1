"""Intervals of mean scores against scipy, the closed form of BCa's corrections, and their own promises."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, norm

from evalq.stats.intervals import bca_ci, mean_ci

quick = settings(deadline=None, max_examples=30)
SCORES = st.lists(st.integers(1, 5), min_size=2, max_size=40)
SKEWED = [1, 1, 1, 1, 1, 1, 2, 1, 1, 5, 1, 2, 1, 1, 4]


@pytest.mark.parametrize("n", [15, 60])
def test_the_corrected_bootstrap_agrees_with_scipy(n: int) -> None:
    values = (np.random.default_rng(8).exponential(size=n) ** 1.5).tolist()
    oracle = bootstrap((values,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(1))
    width = oracle.confidence_interval.high - oracle.confidence_interval.low

    assert bca_ci(values, 40_000) == pytest.approx(tuple(oracle.confidence_interval), abs=width / 50)


def test_the_corrected_bootstrap_reads_the_quantiles_that_bias_and_skew_call_for() -> None:
    data = np.array(SKEWED, dtype=float)
    draws = np.random.default_rng(6).multinomial(15, [11 / 15, 2 / 15, 1 / 15, 1 / 15], size=5000)
    means = draws @ np.array([1.0, 2.0, 4.0, 5.0]) / 15
    bias = norm.ppf(np.mean(means < data.mean() - 1e-9) + np.mean(np.isclose(means, data.mean())) / 2)
    jackknife = (data.sum() - data) / 14
    gaps = jackknife.mean() - jackknife
    skew = (gaps**3).sum() / (6 * (gaps**2).sum() ** 1.5)
    levels = [norm.cdf(bias + (bias + z) / (1 - skew * (bias + z))) for z in norm.ppf([0.05, 0.95])]

    assert bca_ci(SKEWED, 5000, 0.1, rng=6) == pytest.approx(tuple(np.quantile(means, levels)), abs=1e-12)


def test_correcting_moves_the_interval_towards_the_long_tail() -> None:
    plain, corrected = mean_ci(SKEWED, 20_000), bca_ci(SKEWED, 20_000)

    assert corrected.low > plain.low
    assert corrected.high > plain.high + 0.1


@quick
@given(SCORES, st.randoms(use_true_random=False))
def test_the_corrected_interval_lies_within_the_scores_in_any_order(
    scores: list[int], shuffler: random.Random
) -> None:
    low, high = bca_ci(scores, 300)
    mixed = shuffler.sample(scores, len(scores))

    assert bca_ci(mixed, 300) == pytest.approx((low, high), nan_ok=True)
    assert math.isnan(low) if len(set(scores)) == 1 else min(scores) <= low <= high <= max(scores)


@quick
@given(SCORES.filter(lambda scores: len(set(scores)) > 1))
def test_the_corrected_interval_moves_and_stretches_with_the_scores(scores: list[int]) -> None:
    low, high = bca_ci(scores, 300)

    assert bca_ci([0.1 * score + 7 for score in scores], 300) == pytest.approx(
        (0.1 * low + 7, 0.1 * high + 7), abs=1e-9
    )


def test_the_same_seed_repeats_the_corrected_bootstrap_and_another_does_not() -> None:
    assert bca_ci(SKEWED) == bca_ci(SKEWED)
    assert bca_ci(SKEWED, 200, rng=5) == bca_ci(SKEWED, 200, rng=np.random.default_rng(5))
    assert bca_ci(SKEWED, 200, rng=5) != bca_ci(SKEWED, 200, rng=6)


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0, 2.0], [1.0, math.nan, 2.0]])
def test_values_that_cannot_say_how_far_others_lie_have_no_corrected_interval(values: list[float]) -> None:
    assert all(math.isnan(end) for end in bca_ci(values))


def test_resamples_all_on_one_side_or_a_level_beyond_them_leave_no_corrected_interval() -> None:
    rare = [0.0] * 99 + [1.0]

    for seed in range(8):  # one resample, now above the mean and now below
        assert all(math.isnan(end) for end in bca_ci([0.0, 1.1, 7.3, 2.9, 4.7], 1, rng=seed))
    assert all(math.isnan(end) for end in bca_ci(rare, 2000, 1e-9))
    assert not math.isnan(bca_ci(rare, 2000).low)


@pytest.mark.parametrize(("n_resamples", "alpha"), [(0, 0.05), (100, 0.0), (100, 1.0), (100, math.nan)])
def test_no_resamples_and_impossible_levels_are_refused(n_resamples: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="0 < alpha < 1"):
        bca_ci([1.0, 2.0], n_resamples, alpha)


def test_many_different_values_are_drawn_in_parts_without_changing_the_result() -> None:
    values = np.random.default_rng(4).random(3000)
    shares = np.full(3000, 1 / 3000)
    draws = np.random.default_rng(0).multinomial(3000, shares, size=700)  # 333 at once are a million cells
    expected = np.quantile(draws @ np.sort(values) / 3000, [0.025, 0.975])

    assert mean_ci(values.tolist(), 700) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("values", [[], [0.5, math.nan]])
def test_no_values_and_values_that_are_none_have_no_interval(values: list[float]) -> None:
    assert all(math.isnan(end) for end in mean_ci(values))
