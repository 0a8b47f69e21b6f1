"""Paired counts, McNemar, Tango, adjusted p and power against published numbers and libraries."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from evalq.stats.comparison import (
    PairCounts,
    benjamini_hochberg,
    cases_needed,
    holm,
    mcnemar_exact,
    mde_paired,
    paired_counts,
    tango,
)

quick = settings(deadline=None, max_examples=60)
DISCORDANT = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 200)).map(
    lambda cells: (cells[0], cells[1], sum(cells))
)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)
Z95 = 1.959963984540054


def score(b: int, c: int, n: int, delta: float) -> float:
    """Tango's statistic with the nuisance probability found by maximising the likelihood numerically."""

    def loss(q: float) -> float:
        cells = [(c, q), (b, q + delta), (n - b - c, 1 - 2 * q - delta)]
        return -sum(count * math.log(max(p, 1e-300)) for count, p in cells if count)

    bounds = (max(0.0, -delta), (1 - delta) / 2)
    q = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    return (b - c - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


def test_paired_counts_skip_the_cases_where_a_verdict_is_missing() -> None:
    vectors = {"a": [True, True, False, None, True], "b": [True, False, True, True, None]}

    assert paired_counts(vectors) == {("a", "b"): PairCounts(n=3, both=1, a_only=1, b_only=1)}


@quick
@given(st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 3), max_size=150))
def test_paired_counts_are_what_a_plain_loop_counts(rows: list[tuple[bool | None, ...]]) -> None:
    vectors = {name: [row[i] for row in rows] for i, name in enumerate("xyz")}

    for (a, b), counts in paired_counts(vectors).items():
        shared = [pair for pair in zip(vectors[a], vectors[b], strict=True) if None not in pair]
        assert counts == (
            len(shared),
            shared.count((True, True)),
            shared.count((True, False)),
            shared.count((False, True)),
        )


def test_paired_counts_keep_the_input_order_of_the_judges() -> None:
    assert list(paired_counts({"z": [], "a": [], "m": []})) == [("z", "a"), ("z", "m"), ("a", "m")]


def test_paired_counts_take_numpy_vectors_and_stay_exact_over_many_cases() -> None:
    passed = np.ones(20_000_001, dtype=bool)  # beyond 2^24, where a float32 counter would stop

    assert paired_counts({"a": passed, "b": passed})["a", "b"] == (20_000_001, 20_000_001, 0, 0)


@pytest.mark.parametrize("vectors", [{}, {"alone": [True]}])
def test_fewer_than_two_judges_have_no_pairs(vectors: dict[str, list[bool | None]]) -> None:
    assert paired_counts(vectors) == {}


def test_vectors_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="same cases"):
        paired_counts({"a": [True], "b": [True, False]})


def test_mcnemar_gives_the_published_p_of_the_consolidation_trial() -> None:
    assert mcnemar_exact(6, 16) == pytest.approx(0.052479, abs=5e-7)


@quick
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_agrees_with_statsmodels_and_is_symmetric(b: int, c: int) -> None:
    p = mcnemar_exact(b, c)

    assert p == mcnemar_exact(c, b)
    assert p == pytest.approx(min(1.0, mcnemar([[0, b], [c, 0]], exact=True).pvalue), rel=1e-9)


@pytest.mark.parametrize(("b", "c", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 5, 1.0), (0, 10, 2**-9)])
def test_mcnemar_at_the_edges_is_exact(b: int, c: int, p: float) -> None:
    assert mcnemar_exact(b, c) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(("b", "c"), [(-1, 3), (3, -1), (-2, -2)])
def test_mcnemar_refuses_negative_counts(b: int, c: int) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        mcnemar_exact(b, c)


@pytest.mark.parametrize(
    ("b", "c", "n", "alpha", "expected"),
    [
        # Fagerland, Lydersen and Laake 2014, doi.org/10.1002/sim.6148: Bentur 2009, then Cavo 2012.
        (1, 7, 21, 0.05, (-0.286, -0.517, -0.026)),
        (6, 16, 161, 0.05, (-0.0621, -0.1240, -0.0054)),
        # Computed with R's PropCIs::scoreci.mp, whose arguments stand the other way round.
        (60, 20, 1000, 0.05, (0.0400, 0.0231, 0.0584)),
        (28, 25, 618, 0.10, (0.0049, -0.0148, 0.0247)),
    ],
)
def test_tango_gives_the_published_intervals(
    b: int, c: int, n: int, alpha: float, expected: tuple[float, float, float]
) -> None:
    places = 5e-4 if n == 21 else 5.5e-5

    assert tango(b, c, n, alpha) == pytest.approx(expected, abs=places)


@pytest.mark.parametrize("n", [1, 10, 5000])
def test_tango_without_discordant_cases_is_the_closed_form(n: int) -> None:
    end = Z95**2 / (n + Z95**2)

    assert tango(0, 0, n) == pytest.approx((0.0, -end, end), abs=1e-10)


@pytest.mark.parametrize("n", [1, 10, 5000])
def test_tango_with_only_wins_ends_at_one_and_starts_at_the_closed_form(n: int) -> None:
    start = (n - Z95**2) / (n + Z95**2)

    assert tango(n, 0, n) == pytest.approx((1.0, start, 1.0), abs=1e-10)
    assert tango(n, 0, n).high == 1.0


@quick
@given(DISCORDANT.filter(lambda counts: 0 < counts[0] + counts[1] < counts[2]))
def test_the_ends_of_tango_solve_the_score_equation(counts: tuple[int, int, int]) -> None:
    _, low, high = tango(*counts)

    assert score(*counts, low) == pytest.approx(Z95, abs=1e-3)
    assert score(*counts, high) == pytest.approx(-Z95, abs=1e-3)


@quick
@given(DISCORDANT.filter(lambda counts: counts[2] > 0), st.sampled_from([0.01, 0.05, 0.2]))
def test_tango_holds_the_difference_and_mirrors_when_the_judges_swap(
    counts: tuple[int, int, int], alpha: float
) -> None:
    b, c, n = counts
    diff, low, high = tango(b, c, n, alpha)

    assert -1 <= low <= diff <= high <= 1
    assert low < high
    assert tango(c, b, n, alpha) == (-diff, -high, -low)


@pytest.mark.parametrize("cells", [(0.1, 0.1), (0.3, 0.1), (0.02, 0.15), (0.01, 0.01)])
def test_tango_covers_the_true_difference_about_as_often_as_it_says(cells: tuple[float, float]) -> None:
    n, (p, q) = 25, cells
    tables = [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    chances = multinomial(n, [p, q, 1 - p - q]).pmf([(b, c, n - b - c) for b, c in tables])
    intervals = [tango(b, c, n) for b, c in tables]

    covered = sum(
        chance for chance, (_, low, high) in zip(chances, intervals, strict=True) if low <= p - q <= high
    )

    assert covered >= 0.925


def test_tango_without_cases_is_undefined() -> None:
    assert all(math.isnan(value) for value in tango(0, 0, 0))


@pytest.mark.parametrize(("b", "c", "n"), [(-1, 0, 5), (0, -1, 5), (3, 3, 5)])
def test_impossible_counts_are_refused(b: int, c: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"b \+ c <= n"):
        tango(b, c, n)


def test_holm_and_benjamini_hochberg_adjust_a_small_family_as_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@settings(deadline=None, max_examples=10)  # the oracle takes 35 ms a call
@given(P_VALUES)
def test_adjusted_p_agree_with_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist())
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1].tolist())


@quick
@given(P_VALUES, st.randoms(use_true_random=False))
def test_adjusted_p_never_fall_nor_pass_one_nor_depend_on_order(
    p: list[float], shuffler: random.Random
) -> None:
    order = shuffler.sample(range(len(p)), len(p))

    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p)
        assert all(before <= after <= 1 for before, after in zip(p, adjusted, strict=True))
        assert adjust([p[i] for i in order]) == [adjusted[i] for i in order]


def test_a_p_that_is_not_a_number_is_kept_apart() -> None:
    for adjust in (holm, benjamini_hochberg):
        first, undefined, second = adjust([0.01, math.nan, 0.02])
        assert [first, second] == adjust([0.01, 0.02])
        assert math.isnan(undefined)


@pytest.mark.parametrize("p", [-0.01, 1.01])
def test_what_is_no_p_is_not_adjusted(p: float) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjust([0.5, p])


def test_no_tests_need_no_adjustment() -> None:
    assert holm([]) == benjamini_hochberg([]) == []
    assert math.isnan(holm([math.nan])[0])


@pytest.mark.parametrize(("n", "difference"), [(30, 0.2287), (99, 0.1259), (1000, 0.0396)])
def test_the_detectable_difference_is_the_reference_value(n: int, difference: float) -> None:
    assert mde_paired(n, 0.2) == pytest.approx(difference, abs=5e-5)


@pytest.mark.parametrize(("samples", "difference"), [(1, 0.17808), (5, 0.11263)])
def test_more_samples_of_each_case_shrink_the_detectable_difference(samples: int, difference: float) -> None:
    assert mde_paired(99, 0.1 + 0.3 / samples) == pytest.approx(difference, abs=5e-6)


def test_no_cases_detect_nothing() -> None:
    assert math.isnan(mde_paired(0, 0.2))


def test_the_cases_needed_are_those_of_miller_2024() -> None:
    assert cases_needed(0.03, 1 / 9) == 969
    assert cases_needed(-0.03, 1 / 9) == 969


@quick
@given(st.integers(1, 10**6), st.floats(0.01, 1), st.sampled_from([0.8, 0.9]))
def test_the_cases_needed_for_the_detectable_difference_are_the_cases_given(
    n: int, var_d: float, power: float
) -> None:
    assert cases_needed(mde_paired(n, var_d, power=power), var_d, power=power) == n


def test_identical_judges_need_one_case_and_a_zero_difference_is_refused() -> None:
    assert cases_needed(0.1, 0.0) == 1
    with pytest.raises(ValueError, match="difference of zero"):
        cases_needed(0.0, 0.2)
