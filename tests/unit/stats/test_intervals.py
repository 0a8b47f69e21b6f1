"""Intervals of a pass rate against published numbers, statsmodels, and their own promises."""

import math
import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom
from statsmodels.stats.proportion import proportion_confint

from evalq.stats.intervals import beta_interval, bootstrap_ci, clopper_pearson
from evalq.stats.score_interval import Interval, wilson

CLOSED_FORMS = [wilson, clopper_pearson, beta_interval]
ANY_COUNT = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
VERDICTS = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=40)

quick = settings(deadline=None, max_examples=60)


def exact_coverage(intervals: list[Interval], p: float) -> float:
    n = len(intervals) - 1
    return sum(binom.pmf(k, n, p) for k, (low, high) in enumerate(intervals) if low <= p <= high)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_numbers_of_newcombe_1998(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_clopper_pearson_gives_the_numbers_of_newcombe_1998(k: int, n: int, low: float, high: float) -> None:
    assert clopper_pearson(k, n) == pytest.approx((low, high), abs=5e-5)


@quick
@given(ANY_COUNT, st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_closed_forms_agree_with_the_libraries(counts: tuple[int, int], alpha: float) -> None:
    k, n = counts
    near = {"rel": 1e-9, "abs": 1e-12}

    assert wilson(k, n, alpha) == pytest.approx(proportion_confint(k, n, alpha, "wilson"), **near)
    assert clopper_pearson(k, n, alpha) == pytest.approx(proportion_confint(k, n, alpha, "beta"), **near)
    assert beta_interval(k, n, alpha) == pytest.approx(beta(k + 1, n - k + 1).interval(1 - alpha), **near)


@pytest.mark.parametrize("interval", CLOSED_FORMS)
@quick
@given(counts=ANY_COUNT)
def test_an_interval_is_ordered_and_mirrors_when_passes_become_fails(
    interval: Callable[..., Interval], counts: tuple[int, int]
) -> None:
    k, n = counts
    low, high = interval(k, n)

    assert 0 <= low < high <= 1
    assert interval(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("interval", CLOSED_FORMS)
def test_an_interval_rises_with_the_passes_and_narrows_with_the_cases(
    interval: Callable[..., Interval],
) -> None:
    rising = [interval(k, 30) for k in range(31)]
    widths = [high - low for low, high in (interval(m * 3, m * 4) for m in (1, 5, 25, 125))]

    assert all(a.low <= b.low and a.high <= b.high for a, b in pairwise(rising))
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("interval", CLOSED_FORMS)
def test_no_observation_has_no_interval(interval: Callable[..., Interval]) -> None:
    assert all(math.isnan(end) for end in interval(0, 0))


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize("n", [1, 3, 99, 10**6])
def test_all_fail_starts_at_exactly_zero_and_all_pass_ends_at_exactly_one(
    interval: Callable[..., Interval], n: int
) -> None:
    assert interval(0, n).low == 0.0
    assert interval(n, n).high == 1.0


@pytest.mark.parametrize("interval", CLOSED_FORMS)
@pytest.mark.parametrize(("k", "n", "alpha"), [(-1, 5, 0.05), (6, 5, 0.05), (1, 5, 0.0), (1, 5, 1.0)])
def test_impossible_counts_and_levels_are_refused(
    interval: Callable[..., Interval], k: int, n: int, alpha: float
) -> None:
    with pytest.raises(ValueError, match="0 <= k <= n"):
        interval(k, n, alpha)


@pytest.mark.parametrize(
    ("interval", "n", "p", "coverage"),
    [
        (wilson, 30, 0.95, 0.939),
        (clopper_pearson, 30, 0.95, 0.984),
        (wilson, 30, 0.99, 0.964),
        (wilson, 99, 0.99, 0.922),
        (clopper_pearson, 99, 0.99, 0.982),
    ],
)
def test_exact_coverage_is_the_reference_value(
    interval: Callable[..., Interval], n: int, p: float, coverage: float
) -> None:
    assert exact_coverage([interval(k, n) for k in range(n + 1)], p) == pytest.approx(coverage, abs=5e-4)


def test_98_of_99_has_the_reference_interval() -> None:
    assert wilson(98, 99) == pytest.approx((0.944985, 0.998215), abs=5e-7)


def test_clopper_pearson_never_covers_less_than_it_says() -> None:
    intervals = [clopper_pearson(k, 17) for k in range(18)]

    assert min(exact_coverage(intervals, p) for p in np.linspace(0.01, 0.99, 99)) >= 0.95


def test_the_percentile_bootstrap_covers_little_near_the_end_which_is_why_wilson_is_the_default() -> None:
    intervals = [bootstrap_ci([True] * k + [False] * (30 - k)) for k in range(31)]

    assert exact_coverage(intervals, 0.99) == pytest.approx(0.260, abs=1e-3)


@pytest.mark.parametrize("n", [1, 99])
def test_the_bootstrap_of_a_constant_vector_has_no_width(n: int) -> None:
    assert bootstrap_ci([True] * n) == (1.0, 1.0)
    assert bootstrap_ci([False] * n) == (0.0, 0.0)


def test_the_bootstrap_of_98_in_99_is_the_reference_value() -> None:
    assert bootstrap_ci([True] * 98 + [False]) == pytest.approx((0.969697, 1.0), abs=1e-6)


def test_the_bootstrap_converges_to_the_binomial_quantiles() -> None:
    ends = bootstrap_ci([True] * 70 + [False] * 30, 200_000)

    assert ends == pytest.approx(tuple(binom.ppf([0.025, 0.975], 100, 0.7) / 100), abs=1e-9)


@pytest.mark.parametrize("vector", [[], [None, None]])
@pytest.mark.parametrize("grouping", [None, "cluster", "strata"])
def test_a_bootstrap_without_verdicts_is_undefined(vector: list[bool | None], grouping: str | None) -> None:
    labels = {grouping: ["x"] * len(vector)} if grouping else {}

    assert all(math.isnan(end) for end in bootstrap_ci(vector, **labels))


def test_the_same_seed_repeats_the_bootstrap_and_another_does_not() -> None:
    vector = [True, False] * 200
    generator = np.random.default_rng(5)

    assert bootstrap_ci(vector) == bootstrap_ci(vector)
    assert bootstrap_ci(vector, rng=5) == bootstrap_ci(vector, rng=generator)
    assert bootstrap_ci(vector, 50, rng=5) != bootstrap_ci(vector, 50, rng=6)


def test_a_numpy_vector_is_taken_as_it_is() -> None:
    vector = [True, False, True, True]

    assert bootstrap_ci(np.array(vector)) == bootstrap_ci(vector)


@quick
@given(VERDICTS, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_the_bootstrap_ignores_order_and_missing_verdicts(
    verdicts: list[bool | None], shuffler: random.Random, is_clustered: bool, is_stratified: bool
) -> None:
    rows = [(verdict, shuffler.randrange(5), shuffler.choice("xy")) for verdict in verdicts]

    def ends(chosen: list[tuple[bool | None, int, str]]) -> Interval:
        cluster = [row[1] for row in chosen] if is_clustered else None
        strata = [row[2] for row in chosen] if is_stratified else None
        return bootstrap_ci([row[0] for row in chosen], 50, cluster=cluster, strata=strata)

    kept = [row for row in rows if row[0] is not None]
    expected = ends(rows)
    shuffler.shuffle(kept)

    assert ends(kept) == pytest.approx(expected, nan_ok=True)
    assert math.isnan(expected.low) or 0 <= expected.low <= expected.high <= 1


def test_repeats_of_a_case_widen_the_interval_to_that_of_the_cases() -> None:
    verdicts = [True] * 70 + [False] * 30
    repeated = [verdict for verdict in verdicts for _ in range(4)]
    cases = [case for case in range(100) for _ in range(4)]

    assert bootstrap_ci(repeated, cluster=cases) == bootstrap_ci(verdicts)


def test_unequal_clusters_match_a_plain_resampling_of_clusters() -> None:
    chooser = np.random.default_rng(1)
    groups = [
        [bool(v) for v in chooser.random(size) < chooser.random()] for size in chooser.integers(1, 6, 40)
    ]
    totals = np.array([(sum(group), len(group)) for group in groups])
    resampled = totals[chooser.integers(0, 40, (40_000, 40))].sum(axis=1)
    expected = np.quantile(resampled[:, 0] / resampled[:, 1], [0.025, 0.975])
    labels = [label for label, group in enumerate(groups) for _ in group]

    ends = bootstrap_ci([v for group in groups for v in group], 40_000, cluster=labels)

    assert ends == pytest.approx(tuple(expected), abs=0.006)


def test_strata_take_the_difference_between_kinds_out_of_the_interval() -> None:
    verdicts = [True] * 50 + [False] * 50
    kinds = ["easy"] * 50 + ["hard"] * 50

    assert bootstrap_ci(verdicts, strata=kinds) == (0.5, 0.5)
    assert bootstrap_ci(verdicts, strata=kinds, cluster=list(range(100))) == (0.5, 0.5)
    assert bootstrap_ci(verdicts, strata=["one"] * 100) == bootstrap_ci(verdicts)


def test_the_same_cluster_label_in_two_strata_names_two_clusters() -> None:
    verdicts = [True, True, False, False]

    assert bootstrap_ci(verdicts, cluster=[1, 1, 1, 1]) == (0.5, 0.5)
    assert bootstrap_ci(verdicts, cluster=[1, 1, 1, 1], strata=["a", "a", "b", "b"]) == (0.5, 0.5)
    assert bootstrap_ci(verdicts, cluster=[1, 1, 2, 2]) == (0.0, 1.0)


@pytest.mark.parametrize("grouping", ["cluster", "strata"])
def test_labels_that_do_not_match_the_verdicts_are_refused(grouping: str) -> None:
    with pytest.raises(ValueError, match="one label per verdict"):
        bootstrap_ci([True, False], **{grouping: ["only one"]})
