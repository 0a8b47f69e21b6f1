"""Corrected rates against published programs, numerical derivatives, exact coverage, and their promises."""

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from evalq.stats.calibration import CorrectedRate, PpiMean, poststratified, ppi_mean, rogan_gladen

quick = settings(deadline=None, max_examples=30)
LABELS = [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0]
MARKS = [1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0]
OTHERS = [1] * 60 + [0] * 40
Z95 = 1.959963984540054
BITS = st.integers(0, 1)
MARKED = st.lists(st.tuples(BITS, BITS), min_size=2, max_size=20)
RATE = st.floats(0.05, 0.95)
STRATA = st.lists(
    st.integers(2, 40).flatmap(
        lambda n: st.tuples(st.integers(0, n), st.just(n), st.floats(0, 5, allow_subnormal=False))
    ),
    min_size=1,
    max_size=6,
).filter(lambda strata: sum(weight for _, _, weight in strata) > 1e-3)


@pytest.mark.parametrize(
    ("lam", "expected"),
    [
        # Computed with ppi-python 0.2.3 at alpha = 0.05.
        (None, (0.632316, 0.416320, 0.848312, 0.515263)),
        (1, (0.6, 0.349854, 0.850146, 1)),
        (0.5, (0.633333, 0.417078, 0.849588, 0.5)),
        (0, (0.666667, 0.399949, 0.933384, 0)),
    ],
)
def test_ppi_gives_the_numbers_of_its_authors_program(lam: float | None, expected: tuple[float, ...]) -> None:
    assert ppi_mean(LABELS, MARKS, OTHERS, lam) == pytest.approx(expected, abs=5e-7)


def test_ignoring_the_grader_is_the_mean_of_the_labels_and_a_perfect_one_nearly_that_of_all_marks() -> None:
    alone = ppi_mean(LABELS, MARKS, OTHERS, 0)
    perfect = ppi_mean(LABELS, LABELS, OTHERS * 50)

    assert alone.estimate == pytest.approx(8 / 12)
    assert perfect.estimate == pytest.approx(0.6, abs=0.01)
    assert perfect.high - perfect.low < (alone.high - alone.low) / 5


@quick
@given(MARKED, st.lists(BITS, min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_ppi_holds_its_estimate_and_ignores_the_order_of_cases(
    marked: list[tuple[int, int]], others: list[int], shuffler: random.Random
) -> None:
    mixed, mixed_others = shuffler.sample(marked, len(marked)), shuffler.sample(others, len(others))
    found = ppi_mean([y for y, _ in marked], [m for _, m in marked], others)

    assert ppi_mean([y for y, _ in mixed], [m for _, m in mixed], mixed_others) == pytest.approx(
        found, nan_ok=True, abs=1e-12
    )
    assert 0 <= found.lam <= 1
    assert math.isnan(found.low) or found.low < found.estimate < found.high


@quick
@given(MARKED, st.lists(BITS, min_size=2, max_size=40))
def test_the_chosen_weight_leaves_the_least_variance_of_all(
    marked: list[tuple[int, int]], others: list[int]
) -> None:
    y, marks = np.array(marked, dtype=float).T
    spread = np.concatenate([marks, others]).var(ddof=1)

    def variance(lam: float) -> float:
        shared = np.cov(y, marks, ddof=0)[0, 1]
        return float(lam**2 * spread * (1 / len(others) + 1 / len(y)) - 2 * lam * shared / len(y))

    lam = ppi_mean(y, marks, others).lam

    assert all(variance(lam) <= variance(other) + 1e-12 for other in np.linspace(0, 1, 21))


def test_a_grader_is_never_relied_on_more_than_fully_nor_against_its_word() -> None:
    assert ppi_mean([0, 2, 0, 2], [0, 1, 0, 1], [0, 1] * 50).lam == 1.0
    assert ppi_mean([0, 1, 0, 1], [1, 0, 1, 0], [0, 1] * 50).lam == 0.0


def test_ppi_covers_the_true_mean_about_as_often_as_it_says() -> None:
    chooser = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        truth = chooser.random(480) < 0.7
        marks = np.where(chooser.random(480) < 0.85, truth, ~truth)
        _, low, high, _ = ppi_mean(truth[:80], marks[:80], marks[80:])
        covered += low <= 0.7 <= high

    assert 0.92 <= covered / 400 <= 0.98


@pytest.mark.parametrize(
    ("y", "marks", "others"),
    [([], [], [1, 0]), ([1], [1], [1, 0]), ([1, 0], [1, 0], [1]), ([1, math.nan, 0], [1, 0, 0], [1, 0])],
)
def test_ppi_is_undefined_without_two_cases_of_each_kind_and_for_nan(
    y: list[float], marks: list[float], others: list[float]
) -> None:
    assert all(math.isnan(value) for value in ppi_mean(y, marks, others))


def test_labels_that_never_vary_have_an_estimate_but_no_interval() -> None:
    estimate, low, high, lam = ppi_mean([1, 1, 1], [1, 1, 1], [1, 1, 1, 1])

    assert (estimate, lam) == (1.0, 0.0)
    assert math.isnan(low)
    assert math.isnan(high)


def test_a_label_without_its_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="one mark per label"):
        ppi_mean([1, 0], [1], [1, 0])


def test_the_result_of_ppi_is_named() -> None:
    assert ppi_mean(LABELS, MARKS, OTHERS)._fields == PpiMean._fields == ("estimate", "low", "high", "lam")


def test_the_true_rate_behind_a_lenient_grader_is_lower_than_it_says() -> None:
    found = rogan_gladen(0.773, 0.75, 1.0, 2400, 12, 34)

    assert found is not None
    assert found.estimate == pytest.approx(0.697, abs=5e-4)


@pytest.mark.parametrize(
    ("rates", "counts", "ends"),
    [
        # Computed with the program of Lee 2025's authors.
        ((0.7, 0.9, 0.8), (200, 50, 60), (0.715651, 1.0)),
        ((0.6, 0.7, 0.9), (200, 100, 100), (0.349282, 0.642296)),
        ((1.0, 1.0, 1.0), (99, 20, 80), (0.956747, 1.0)),
    ],
)
def test_the_corrected_interval_is_that_of_its_authors(
    rates: tuple[float, float, float], counts: tuple[int, int, int], ends: tuple[float, float]
) -> None:
    found = rogan_gladen(*rates, *counts)

    assert found is not None
    assert (found.low, found.high) == pytest.approx(ends, abs=5e-7)


@quick
@given(RATE, st.floats(0.7, 0.99), st.floats(0.7, 0.99))
def test_the_error_of_the_corrected_rate_follows_from_its_slopes(theta: float, q0: float, q1: float) -> None:
    rates, counts = [theta * q1 + (1 - theta) * (1 - q0), q0, q1], (300, 40, 60)
    found = rogan_gladen(*rates, *counts)
    assert found is not None

    def truth(p: float, specificity: float, sensitivity: float) -> float:
        return (p + specificity - 1) / (specificity + sensitivity - 1)

    variance = 0.0
    for i, (rate, count) in enumerate(zip(rates, counts, strict=True)):
        up, down = [*rates], [*rates]
        up[i], down[i] = rate + 1e-6, rate - 1e-6
        slope = (truth(*up) - truth(*down)) / 2e-6
        variance += slope**2 * rate * (1 - rate) / count

    assert found.estimate == pytest.approx(theta, abs=1e-9)
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-4)


def test_a_strict_grader_that_misses_most_passes_still_corrects() -> None:
    strict, lenient = rogan_gladen(0.35, 0.95, 0.4, 200, 90, 90), rogan_gladen(0.65, 0.4, 0.95, 200, 90, 90)

    assert strict is not None
    assert lenient is not None
    assert strict.estimate == pytest.approx(6 / 7)
    assert (lenient.estimate, lenient.low) == pytest.approx((1 / 7, 1 - strict.high), abs=1e-12)


@pytest.mark.parametrize("k", [0, 3, 50, 99])
def test_a_grader_known_to_be_perfect_leaves_the_agresti_coull_interval(k: int) -> None:
    found = rogan_gladen(k / 99, 1.0, 1.0, 99, 10**12, 10**12)
    low, high = proportion_confint(k, 99, method="agresti_coull")

    assert found is not None
    assert found.estimate == pytest.approx(k / 99)
    assert (found.low, found.high) == pytest.approx((max(0, low), min(1, high)), abs=1e-6)


def test_the_corrected_interval_covers_the_true_rate_at_least_as_often_as_it_says() -> None:
    theta, q0, q1, n, m0, m1 = 0.8, 0.9, 0.95, 15, 6, 8
    judged = theta * q1 + (1 - theta) * (1 - q0)
    chances = [binom.pmf(range(size + 1), size, rate) for size, rate in ((n, judged), (m0, q0), (m1, q1))]
    covered = total = 0.0
    for k, a, b in product(range(n + 1), range(m0 + 1), range(m1 + 1)):
        chance = float(chances[0][k] * chances[1][a] * chances[2][b])
        found = rogan_gladen(k / n, a / m0, b / m1, n, m0, m1)
        if found is not None:
            total += chance
            covered += chance * (found.low <= theta <= found.high)

    assert total > 0.999
    assert 0.95 <= covered / total < 1


def test_a_rate_beyond_what_the_grader_could_give_is_clipped() -> None:
    above, below = rogan_gladen(0.99, 0.9, 0.8, 50, 50, 50), rogan_gladen(0.01, 0.9, 0.8, 50, 50, 50)

    assert above is not None
    assert below is not None
    assert (above.estimate, above.high) == (1.0, 1.0)
    assert (below.estimate, below.low) == (0.0, 0.0)


@pytest.mark.parametrize(
    "arguments",
    [
        (0.7, 0.5, 0.5, 99, 20, 20),
        (0.7, 0.2, 0.6, 99, 20, 20),
        (0.7, 0.8, 0.25, 99, 1, 1000),
        (0.7, 1.0, 0.25, 99, 1, 4),
        (0.7, 0.9, 0.9, 0, 20, 20),
        (0.7, 0.9, 0.9, 99, 0, 20),
        (0.7, 0.9, 0.9, 99, 20, 0),
    ],
)
def test_a_grader_no_better_than_chance_or_hardly_known_corrects_nothing(
    arguments: tuple[float, float, float, int, int, int],
) -> None:
    assert rogan_gladen(*arguments) is None


@pytest.mark.parametrize(
    "arguments", [(1.1, 0.9, 0.9, 9, 9, 9), (0.5, math.nan, 0.9, 9, 9, 9), (0.5, 0.9, 0.9, 9, -1, 9)]
)
def test_rates_and_counts_that_cannot_be_are_refused(
    arguments: tuple[float, float, float, int, int, int],
) -> None:
    with pytest.raises(ValueError, match="rates in"):
        rogan_gladen(*arguments)


def test_the_corrected_rate_is_named() -> None:
    assert CorrectedRate._fields == ("estimate", "se", "low", "high")


def test_weighted_strata_match_a_calculation_by_hand() -> None:
    estimate, se = poststratified([9, 2], [10, 5], [3, 1])

    assert estimate == pytest.approx(0.75 * 0.9 + 0.25 * 0.4)
    assert se == pytest.approx(math.sqrt(0.75**2 * 0.09 / 9 + 0.25**2 * 0.24 / 4))


def test_the_error_of_weighted_strata_is_unbiased() -> None:
    sizes, rates, shares = (3, 4), (0.7, 0.4), (0.5, 0.5)
    outcomes = [
        (math.prod(binom.pmf(k, sizes, rates)), poststratified(k, sizes, shares))
        for k in product(range(4), range(5))
    ]
    true_variance = sum(w**2 * p * (1 - p) / n for w, p, n in zip(shares, rates, sizes, strict=True))

    assert sum(chance * found.estimate for chance, found in outcomes) == pytest.approx(0.55)
    assert sum(chance * found.se**2 for chance, found in outcomes) == pytest.approx(true_variance)


@quick
@given(STRATA, st.floats(0.1, 10), st.randoms(use_true_random=False))
def test_only_the_proportions_of_the_weights_count_in_any_order(
    strata: list[tuple[int, int, float]], scale: float, shuffler: random.Random
) -> None:
    found = poststratified(*zip(*strata, strict=True))
    mixed = [(k, n, weight * scale) for k, n, weight in shuffler.sample(strata, len(strata))]

    assert poststratified(*zip(*mixed, strict=True)) == pytest.approx(found, abs=1e-9)
    assert 0 <= found.estimate <= 1 + 1e-12


def test_strata_in_the_sampled_proportions_give_the_plain_rate_and_unanimous_ones_no_error() -> None:
    assert poststratified([3, 6], [10, 20], [10, 20]).estimate == pytest.approx(9 / 30)
    assert poststratified([10, 0], [10, 10], [1, 1]) == (0.5, 0.0)


def test_a_stratum_without_weight_is_left_out_even_when_empty() -> None:
    assert poststratified([9, 0], [10, 0], [1, 0]) == poststratified([9], [10], [1])


def test_a_single_case_has_an_estimate_but_no_error() -> None:
    estimate, se = poststratified([1, 5], [1, 10], [1, 1])

    assert estimate == pytest.approx(0.75)
    assert math.isnan(se)


@pytest.mark.parametrize(("k", "n", "weights"), [([], [], []), ([0, 5], [0, 10], [1, 1]), ([5], [10], [0])])
def test_an_empty_stratum_or_no_weight_at_all_leaves_it_undefined(
    k: list[int], n: list[int], weights: list[float]
) -> None:
    assert all(math.isnan(value) for value in poststratified(k, n, weights))


@pytest.mark.parametrize(("k", "n", "weight"), [(6, 5, 1.0), (-1, 5, 1.0), (1, 5, -1.0), (1, 5, math.nan)])
def test_impossible_strata_are_refused(k: int, n: int, weight: float) -> None:
    with pytest.raises(ValueError, match="0 <= k <= n"):
        poststratified([k], [n], [weight])
