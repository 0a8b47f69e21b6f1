"""Two judges on the same cases: exact for single verdicts, by case means for several samples."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from evalq.stats.comparison import PairCounts, cases_needed, mcnemar_exact, tango
from evalq.stats.intervals import clustered_se
from evalq.summary.comparisons import ALPHA, Difference, comparisons, differences, of_case_means, of_counts


def test_single_verdicts_have_tangos_interval_and_mcnemars_test() -> None:
    found = of_counts(PairCounts(93, 50, 20, 10))
    assert (found.diff, found.low, found.high) == tango(20, 10, 93)
    assert found.p == mcnemar_exact(20, 10)
    assert found.var_d == pytest.approx(30 / 93 - (10 / 93) ** 2)


def test_case_means_have_the_clustered_error_of_cases_with_one_more_each_way() -> None:
    gaps = np.array([1 / 3, 0.0, -1 / 3, 2 / 3, 1.0, 0.0])
    found = of_case_means(gaps)
    smoothed = [*gaps, 1.0, -1.0]
    t = sum(smoothed) / 8 / clustered_se(smoothed, range(8))
    assert (found.n, found.a_only, found.b_only) == (6, 3, 1)
    assert found.diff == pytest.approx(gaps.mean())
    assert found.p == pytest.approx(
        2 * max(scipy.stats.t.sf(t, 7), scipy.stats.norm.sf((5 / 3) / 7**0.5 * 3**0.5))
    )


@pytest.mark.parametrize("gaps", [[0.0] * 30, [1.0, 0.0, -1.0, -1.0], [1.0], [-1.0, -1.0]])
def test_the_interval_is_never_narrower_than_tangos(gaps: list[float]) -> None:
    found, exact = of_case_means(np.array(gaps)), tango(gaps.count(1.0), gaps.count(-1.0), len(gaps))
    assert found.diff == pytest.approx(exact.diff)
    assert found.low <= exact.low + 1e-9
    assert found.high >= exact.high - 1e-9


def test_cases_that_flip_in_part_have_an_interval_around_their_mean() -> None:
    found = of_case_means(np.array([1 / 3, 0.0, -1 / 3, 2 / 3, 1.0, 0.0]))
    assert -1 <= found.low < found.diff < found.high <= 1


def test_a_drop_of_the_margin_is_seldom_called_harmless() -> None:
    rng, margin, n = np.random.default_rng(11), 0.1, 60
    drops = -(rng.random((1500, n)) < margin).astype(float)
    harmless = sum(of_case_means(gaps).low > -margin for gaps in drops)
    assert harmless / 1500 <= 0.025


def test_the_mirror_of_a_pair_is_the_pair_the_other_way_round() -> None:
    found, turned = of_counts(PairCounts(93, 50, 20, 10)), of_counts(PairCounts(93, 50, 10, 20))
    mirrored = found.mirrored()
    assert (mirrored.a_only, mirrored.b_only, mirrored.diff) == (10, 20, turned.diff)
    assert (mirrored.low, mirrored.high) == pytest.approx((turned.low, turned.high))
    assert (mirrored.p, mirrored.n) == (turned.p, turned.n)


def test_pairs_without_a_shared_case_are_left_out_either_way() -> None:
    shares = {"a": [1.0, None], "b": [None, 1.0], "c": [0.0, 0.0]}
    for is_sampled in (False, True):
        assert list(differences(shares, is_sampled=is_sampled)) == [("a", "c"), ("b", "c")]


def test_shares_of_samples_are_compared_by_their_means() -> None:
    found = differences({"a": [1.0, 0.5, None], "b": [0.5, 0.5, 1.0]}, is_sampled=True)
    assert (found["a", "b"].n, found["a", "b"].diff, found["a", "b"].method) == (
        2,
        0.25,
        "case_means_tango_t",
    )


def test_the_cases_needed_are_those_of_the_power_formula() -> None:
    found = of_counts(PairCounts(93, 50, 20, 14))
    assert found.cases_needed() == cases_needed(found.diff, found.var_d)
    assert found.cases_needed(21) == cases_needed(found.diff, found.var_d, 0.05 / 21)


@pytest.mark.parametrize(("n", "flips", "least"), [(3, 3, 6), (12, 5, 15), (5, 1, 30)])
def test_an_exact_test_takes_six_flips_however_large_the_difference(n: int, flips: int, least: int) -> None:
    assert (of_counts(PairCounts(n, 0, flips, 0)).cases_needed() or 0) >= least


def test_more_cases_than_there_are_are_needed_of_case_means_too() -> None:
    assert of_case_means(np.full(4, 0.5)).cases_needed() == 5


def test_no_difference_needs_no_number_of_cases() -> None:
    nearly = Difference(3, 1, 1, 1e-17, -0.5, 0.5, 1.0, 0.4, "case_means_tango_t")
    assert nearly.cases_needed() is None


SHARES = st.integers(-3, 3).map(lambda thirds: thirds / 3)


@given(st.lists(SHARES, min_size=1, max_size=120))
def test_with_samples_the_interval_excludes_zero_exactly_when_p_does(gaps: list[float]) -> None:
    found = of_case_means(np.array(gaps))
    assume(abs(found.p - ALPHA) > 1e-6)
    assert found.excludes_zero == (found.p < ALPHA)


@given(st.lists(SHARES, min_size=1, max_size=120), st.booleans())
def test_a_pair_is_separable_exactly_when_interval_and_p_say_so(gaps: list[float], is_sampled: bool) -> None:
    if not is_sampled:
        gaps = [float(round(gap)) for gap in gaps]
    shares = {"a": [max(gap, 0.0) for gap in gaps], "b": [max(-gap, 0.0) for gap in gaps]}
    found = differences(shares, is_sampled=is_sampled)["a", "b"]
    (pair,) = comparisons({("a", "b"): found}, ["a", "b"])
    assume(abs(found.p - ALPHA) > 1e-6)
    assert pair.separable == (found.excludes_zero and found.p < ALPHA)
    assert pair.separable == (pair.p_holm < ALPHA)


def test_the_pair_that_was_called_separable_around_zero_is_not() -> None:
    losses, gains = [-1 / 3] * 30, [1 / 3] * 12
    found = of_case_means(np.array([*losses, *gains, *[0.0] * 33]))
    assert (found.low < 0 < found.high) == (found.p >= ALPHA)
