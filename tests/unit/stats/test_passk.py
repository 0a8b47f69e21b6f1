"""pass@k and pass^k against counting every draw, the reference values, and their own promises."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.stats.passk import (
    Estimator,
    SuiteMean,
    pass_at_k,
    pass_hat_k,
    pass_hat_k_unbiased,
    suite_mean,
    suite_pass_at_k,
)

quick = settings(deadline=None, max_examples=30)
SAMPLES = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, min(n, 20)))
)
SUITE = st.lists(st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=12)
ESTIMATORS: list[Estimator] = [pass_at_k, pass_hat_k, pass_hat_k_unbiased]


@pytest.mark.parametrize(("k", "chance"), [(1, 0.3), (5, 11 / 12), (10, 1.0)])
def test_three_passes_in_ten_give_the_pass_at_k_of_the_formula(k: int, chance: float) -> None:
    assert pass_at_k(10, 3, k) == pytest.approx(chance, rel=1e-15)


@pytest.mark.parametrize(("k", "chance"), [(1, 0.8), (3, 0.512), (5, 0.328)])
def test_eight_passes_in_ten_give_the_published_pass_hat_k(k: int, chance: float) -> None:
    assert pass_hat_k(10, 8, k) == pytest.approx(chance, abs=5e-4)


@pytest.mark.parametrize(("n", "c"), [(1, 0), (1, 1), (5, 2), (7, 6), (8, 0), (8, 8)])
def test_the_unbiased_forms_are_the_shares_of_all_draws_of_k_samples(n: int, c: int) -> None:
    verdicts = [True] * c + [False] * (n - c)

    for k in range(1, n + 1):
        draws = list(combinations(verdicts, k))
        assert pass_at_k(n, c, k) == float(Fraction(sum(map(any, draws)), len(draws)))
        assert pass_hat_k_unbiased(n, c, k) == float(Fraction(sum(map(all, draws)), len(draws)))


@quick
@given(SAMPLES)
def test_pass_at_k_is_the_product_form_of_its_paper(samples: tuple[int, int, int]) -> None:
    n, c, k = samples
    product = math.prod(1 - k / j for j in range(n - c + 1, n + 1)) if n - c >= k else 0.0

    assert pass_at_k(n, c, k) == pytest.approx(1 - product, abs=1e-12)


@quick
@given(SAMPLES)
def test_all_passing_is_the_mirror_of_any_failing(samples: tuple[int, int, int]) -> None:
    n, c, k = samples

    assert pass_hat_k_unbiased(n, c, k) == pytest.approx(1 - pass_at_k(n, n - c, k), abs=1e-12)


@quick
@given(SAMPLES)
def test_any_is_likelier_than_one_and_one_than_all(samples: tuple[int, int, int]) -> None:
    n, c, k = samples

    assert 0 <= pass_hat_k_unbiased(n, c, k) <= pass_hat_k(n, c, k) + 1e-15
    assert pass_hat_k(n, c, k) <= c / n + 1e-15
    assert c / n <= pass_at_k(n, c, k) + 1e-15
    assert pass_at_k(n, c, k) <= 1


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n", [1, 7])
def test_none_passing_is_exactly_zero_and_all_passing_exactly_one(estimator: Estimator, n: int) -> None:
    assert [estimator(n, 0, k) for k in range(1, n + 1)] == [0.0] * n
    assert [estimator(n, n, k) for k in range(1, n + 1)] == [1.0] * n


@pytest.mark.parametrize("estimator", [pass_at_k, pass_hat_k_unbiased])
@pytest.mark.parametrize(("n", "c"), [(0, 0), (2, 0), (2, 2), (4, 1)])
def test_fewer_samples_than_k_leave_it_undefined(estimator: Estimator, n: int, c: int) -> None:
    assert math.isnan(estimator(n, c, 5))


def test_the_plain_form_reaches_beyond_its_samples_but_not_without_any() -> None:
    assert pass_hat_k(2, 1, 5) == 0.5**5
    assert math.isnan(pass_hat_k(0, 0, 1))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (-1, 0, 1), (3, 2, 0)])
def test_counts_that_cannot_be_are_refused(estimator: Estimator, n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="0 <= c <= n"):
        estimator(n, c, k)


def test_a_suite_averages_its_cases_and_does_not_pool_their_samples() -> None:
    suite = [(8, 8), (8, 4), (8, 0), (8, 7)]

    assert suite_mean(suite, 4, pass_hat_k_unbiased).mean == pytest.approx(0.378571, abs=5e-7)
    assert suite_mean(suite, 4, pass_hat_k).mean == pytest.approx(0.412170, abs=5e-7)
    assert pass_hat_k(32, 19, 4) == pytest.approx(0.124284, abs=5e-7)
    assert suite_pass_at_k(suite, 4) == pytest.approx((1 + 69 / 70 + 0 + 1) / 4)


def test_cases_with_too_few_samples_are_left_out_and_counted() -> None:
    found = suite_mean([(4, 2), (1, 1), (4, 4), (0, 0)], 2, pass_at_k)

    assert found == SuiteMean(pytest.approx((5 / 6 + 1) / 2), n_cases=2, n_skipped=2)


@pytest.mark.parametrize("suite", [[], [(1, 1)]])
def test_a_suite_without_a_usable_case_is_undefined(suite: list[tuple[int, int]]) -> None:
    assert math.isnan(suite_pass_at_k(suite, 2))


@quick
@given(SUITE, st.integers(1, 4))
def test_a_suite_lies_between_its_cases_and_ignores_their_order(suite: list[tuple[int, int]], k: int) -> None:
    found = suite_mean(suite, k, pass_at_k)
    values = [pass_at_k(n, c, k) for n, c in suite if n >= k]

    assert found.n_cases + found.n_skipped == len(suite)
    assert math.isnan(found.mean) if not values else min(values) <= found.mean + 1e-12 <= max(values) + 2e-12
    assert suite_mean(suite[::-1], k, pass_at_k) == pytest.approx(found, nan_ok=True)
