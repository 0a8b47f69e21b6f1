"""Sequential evidence against closed forms, its defining integral, and the promise to hold at any time."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betainc, betaln
from scipy.stats import binom

from evalq.stats.drift import bernoulli_cs, sign_evalue
from evalq.stats.score_interval import wilson

quick = settings(deadline=None, max_examples=30)
COUNTS = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@quick
@given(st.integers(0, 300), st.integers(0, 300))
def test_the_e_value_is_the_closed_form_of_its_mixture(wins: int, losses: int) -> None:
    upper = betainc(losses + 1, wins + 1, 0.5)
    log_e = (wins + losses + 1) * math.log(2) + betaln(wins + 1, losses + 1) + math.log(upper)

    assert math.log(sign_evalue(wins, losses)) == pytest.approx(log_e, abs=1e-8)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 1), (2, 7)])
def test_the_e_value_is_the_mean_likelihood_ratio_over_win_rates_above_a_half(wins: int, losses: int) -> None:
    mean, _ = quad(lambda q: 2 * (2 * q) ** wins * (2 * (1 - q)) ** losses, 0.5, 1)

    assert sign_evalue(wins, losses) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("n", [0, 1, 6, 60])
def test_the_e_value_is_one_on_average_when_neither_judge_is_better(n: int) -> None:
    assert sum(binom.pmf(w, n, 0.5) * sign_evalue(w, n - w) for w in range(n + 1)) == pytest.approx(1.0)


@pytest.mark.parametrize("losses", [0, 9, 5000])
def test_only_losses_leave_the_least_e_value_and_no_underflow(losses: int) -> None:
    assert sign_evalue(0, losses) == pytest.approx(1 / (losses + 1), rel=1e-15)


@quick
@given(st.integers(0, 200), st.integers(0, 200))
def test_a_win_raises_the_e_value_and_a_loss_lowers_it(wins: int, losses: int) -> None:
    assert sign_evalue(wins + 1, losses) > sign_evalue(wins, losses) > sign_evalue(wins, losses + 1)


def test_evidence_beyond_the_floats_is_infinite() -> None:
    assert sign_evalue(5000, 0) == math.inf


@pytest.mark.parametrize(("wins", "losses"), [(-1, 0), (0, -1)])
def test_negative_counts_are_refused(wins: int, losses: int) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        sign_evalue(wins, losses)


@pytest.mark.parametrize("n", [1, 30, 99, 10**6])
def test_the_sequence_of_nothing_but_passes_or_fails_is_the_closed_form(n: int) -> None:
    end = -math.expm1(math.log(0.05 / (n + 1)) / n)

    assert bernoulli_cs(0, n) == pytest.approx((0.0, end), rel=1e-6)
    assert bernoulli_cs(n, n) == pytest.approx((1 - end, 1.0), rel=1e-6)
    assert (bernoulli_cs(0, n).low, bernoulli_cs(n, n).high) == (0.0, 1.0)


@quick
@given(COUNTS, st.sampled_from([0.01, 0.05, 0.3]))
def test_at_the_ends_of_the_sequence_the_mixture_ratio_is_one_over_alpha(
    counts: tuple[int, int], alpha: float
) -> None:
    k, n = counts
    low, high = bernoulli_cs(k, n, alpha)

    for end in (low, high):
        if 0 < end < 1:
            log_ratio = betaln(k + 1, n - k + 1) - k * math.log(end) - (n - k) * math.log1p(-end)
            assert log_ratio == pytest.approx(-math.log(alpha), abs=1e-4)
    assert low < k / n < high or k in (0, n)
    assert bernoulli_cs(n - k, n, alpha) == pytest.approx((1 - high, 1 - low), abs=1e-11)


@quick
@given(COUNTS)
def test_looking_at_any_time_costs_width(counts: tuple[int, int]) -> None:
    at_any_time, once = bernoulli_cs(*counts), wilson(*counts)

    assert at_any_time.high - at_any_time.low > once.high - once.low


@pytest.mark.parametrize("p", [0.3, 0.5, 0.95])
def test_the_sequence_ever_misses_the_true_rate_no_oftener_than_alpha(p: float) -> None:
    alive, missed = {0: 1.0}, 0.0
    for n in range(1, 61):
        reached = {k: alive.get(k, 0.0) * (1 - p) + alive.get(k - 1, 0.0) * p for k in range(n + 1)}
        intervals = {k: bernoulli_cs(k, n, 0.2) for k in reached}
        alive = {k: chance for k, chance in reached.items() if intervals[k].low <= p <= intervals[k].high}
        missed += sum(chance for k, chance in reached.items() if k not in alive)

    assert 0 < missed <= 0.2


def test_before_the_first_case_there_is_no_interval() -> None:
    assert all(math.isnan(end) for end in bernoulli_cs(0, 0))


@pytest.mark.parametrize(("k", "n", "alpha"), [(-1, 5, 0.05), (6, 5, 0.05), (1, 5, 0.0), (1, 5, 1.0)])
def test_impossible_counts_and_levels_have_no_sequence(k: int, n: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="0 <= k <= n"):
        bernoulli_cs(k, n, alpha)
