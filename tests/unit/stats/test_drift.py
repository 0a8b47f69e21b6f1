"""The drift tests against enumeration, scipy, the reference rates of alarm, and their own promises."""

import math
import random
from collections.abc import Iterator
from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, fisher_exact, hypergeom

from evalq.stats.drift import DriftEvidence, confirm_test, drift_exact_paired, drift_seed_rule, e_detector

quick = settings(deadline=None, max_examples=30)
WEEK = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=9)
FRESH = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


def middle_pairs(n: int, p: float) -> Iterator[tuple[int, int, float]]:
    """The two middle counts of four runs of n cases, each passing with chance p, and how likely they are."""
    chances = binom.pmf(range(n + 1), n, p)
    weights: dict[tuple[int, int], float] = {}
    # Two runs and then two more: enough to know the sorted four, without looking at 31^4 of them.
    pairs = [
        (a, b, chances[a] * chances[b] * (2 - (a == b)))
        for a, b in product(range(n + 1), repeat=2)
        if a <= b and chances[a] * chances[b] > 1e-9
    ]
    for (a, b, first), (c, d, second) in product(pairs, repeat=2):
        lower, upper = sorted((max(a, c), min(b, d)))
        weights[lower, upper] = weights.get((lower, upper), 0.0) + first * second
    return ((lower, upper, weight) for (lower, upper), weight in weights.items())


def alarm_rate(n: int, before: float, now: float) -> float:
    current = binom.pmf(range(n + 1), n, now)
    return sum(
        weight * float(sum(current[x] for x in range(n + 1) if drift_seed_rule([lower, 0, n, upper], x, n)))
        for lower, upper, weight in middle_pairs(n, before)
    )


def test_a_drop_of_exactly_five_points_is_seen_where_floats_miss_half_of_them() -> None:
    cells = [(b, c, (b + c - 3) // 2) for b in range(31) for c in range(b, 31) if (b + c) % 2 and b + c >= 3]
    in_floats = [np.median([b / 30, b / 30, c / 30, c / 30]) - x / 30 >= 0.05 for b, c, x in cells]

    assert (len(cells), in_floats.count(False)) == (239, 127)
    assert all(drift_seed_rule([b, b, c, c], x, 30) for b, c, x in cells)
    assert not any(drift_seed_rule([b, b, c, c], x + 1, 30) for b, c, x in cells)


@pytest.mark.parametrize(("now", "rate"), [(0.9, 0.2548), (0.85, 0.542), (0.8, 0.773), (0.7, 0.969)])
def test_the_seed_rule_at_thirty_cases_alarms_as_often_as_computed(now: float, rate: float) -> None:
    assert alarm_rate(30, 0.9, now) == pytest.approx(rate, abs=6e-4)


@pytest.mark.parametrize(
    ("n", "current", "is_watch"), [(99, 85, True), (99, 86, False), (200, 80, True), (200, 81, False)]
)
def test_the_seed_rule_asks_for_a_whole_twentieth_of_larger_sets_too(
    n: int, current: int, is_watch: bool
) -> None:
    assert drift_seed_rule([90, 90, 91, 91], current, n) is is_watch


def test_the_seed_rule_takes_the_median_of_the_runs_in_any_order() -> None:
    assert drift_seed_rule([30, 0, 27, 28], 26, 30) is True
    assert drift_seed_rule([28, 27, 0, 30], 27, 30) is False
    assert drift_seed_rule([0, 0, 0, 0], 0, 30) is False


@pytest.mark.parametrize(("last4", "n"), [([27, 27, 27], 30), ([], 30), ([0, 0, 0, 0], 0)])
def test_the_seed_rule_says_nothing_before_four_runs_or_without_cases(last4: list[int], n: int) -> None:
    assert drift_seed_rule(last4, 0, n) is None


@pytest.mark.parametrize(
    ("last4", "current"), [([31, 1, 1, 1], 1), ([1, 1, 1, 1], 31), ([1, 1, 1, 1], -1), ([1] * 5, 1)]
)
def test_the_seed_rule_refuses_counts_that_cannot_be(last4: list[int], current: int) -> None:
    with pytest.raises(ValueError, match="between 0 and n=30"):
        drift_seed_rule(last4, current, 30)


@quick
@given(WEEK)
def test_the_paired_p_is_what_enumerating_every_week_gives(cases: list[tuple[int, bool]]) -> None:
    chances = [(before + now) / 5 for before, now in cases]
    observed = sum(now for _, now in cases)
    p = sum(
        math.prod(chance if passed else 1 - chance for chance, passed in zip(chances, week, strict=True))
        for week in product([True, False], repeat=len(cases))
        if sum(week) <= observed
    )

    found = drift_exact_paired([before for before, _ in cases], [now for _, now in cases])

    assert found == pytest.approx(p, abs=1e-12)
    assert 0 < found <= 1


@quick
@given(WEEK, st.randoms(use_true_random=False))
def test_the_paired_p_ignores_order_missing_cases_and_cases_that_never_change(
    cases: list[tuple[int, bool]], shuffler: random.Random
) -> None:
    unchanged: list[tuple[int | None, bool | None]] = [(4, True), (0, False), (None, True), (2, None)]
    mixed = shuffler.sample([*cases, *unchanged], len(cases) + 4)

    assert drift_exact_paired([b for b, _ in mixed], [x for _, x in mixed]) == pytest.approx(
        drift_exact_paired([b for b, _ in cases], [x for _, x in cases]), abs=1e-12
    )


def test_the_paired_p_of_one_case_that_fails_after_passing_always_is_one_in_runs_and_one_more() -> None:
    assert drift_exact_paired([4], [False]) == pytest.approx(1 / 5)
    assert drift_exact_paired([19], [False], 19) == pytest.approx(1 / 20)
    assert drift_exact_paired([4], [True]) == 1.0


def test_the_paired_p_stays_exact_far_out_and_over_many_cases() -> None:
    assert drift_exact_paired([4] * 200, [False] * 200) == pytest.approx(0.2**200, rel=1e-9)
    assert drift_exact_paired([3] * 3000, [True] * 2400 + [False] * 600) == pytest.approx(
        _two_binomials(2400, 600, 2400), rel=1e-9
    )


def _two_binomials(passing: int, failing: int, observed: int) -> float:
    """P(Bin(passing, 4/5) + Bin(failing, 3/5) <= observed), by scipy."""
    first = binom.pmf(np.arange(passing + 1), passing, 0.8)
    return float(first @ binom.cdf(observed - np.arange(passing + 1), failing, 0.6))


@quick
@given(WEEK, st.integers(0, 1000))
def test_the_randomised_p_lies_within_the_step_of_the_exact_one(
    cases: list[tuple[int, bool]], seed: int
) -> None:
    before, now = [b for b, _ in cases], [x for _, x in cases]
    chances = reduce(np.convolve, (np.array([5 - b - x, b + x]) / 5 for b, x in cases))
    below = float(chances[: sum(now)].sum())

    p = drift_exact_paired(before, now, rng=np.random.default_rng(seed))

    step = drift_exact_paired(before, now) - below
    assert p == pytest.approx(below + np.random.default_rng(seed).random() * step, abs=1e-12)


@pytest.mark.parametrize(("before", "now"), [(4, 0), (4, 4), (0, 3), (3, 1), (2, 2), (0, 0)])
def test_confirming_one_case_is_fishers_exact_test(before: int, now: int) -> None:
    expected = fisher_exact([[before, 4 - before], [now, 4 - now]], alternative="greater").pvalue

    assert confirm_test([before], [now]) == pytest.approx(expected, abs=1e-12)


@quick
@given(FRESH)
def test_confirming_many_cases_adds_up_their_hypergeometrics(cases: list[tuple[int, int]]) -> None:
    sums = reduce(np.convolve, (hypergeom(8, b + f, 4).pmf(range(5)) for b, f in cases))
    fresh = sum(f for _, f in cases)

    found = confirm_test([b for b, _ in cases], [f for _, f in cases])

    assert found == pytest.approx(float(sums[: fresh + 1].sum()), abs=1e-9)
    assert 0 < found <= 1


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.8), (0.2, 0.95)])
def test_confirming_is_false_no_oftener_than_its_level_whatever_the_rates(rates: tuple[float, float]) -> None:
    chances = [binom.pmf(range(5), 4, rate) for rate in rates]
    runs = list(product(range(5), repeat=2))

    rejected = sum(
        math.prod(chances[i][before[i]] * chances[i][fresh[i]] for i in (0, 1))
        for before, fresh in product(runs, repeat=2)
        if confirm_test(before, fresh) <= 0.05
    )

    assert 0 < rejected <= 0.05


@pytest.mark.parametrize("cases", [[], [None, None]])
def test_without_a_shared_case_there_is_no_p(cases: list[int | None]) -> None:
    assert math.isnan(drift_exact_paired(cases, [True] * len(cases)))
    assert math.isnan(confirm_test(cases, cases))


def test_passes_beyond_the_runs_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 4 times"):
        drift_exact_paired([5], [True])
    with pytest.raises(ValueError, match="between 0 and 4 times"):
        confirm_test([2], [-1])
    with pytest.raises(ValueError, match="shorter"):
        confirm_test([2, 2], [1])


def test_the_e_value_of_a_week_is_fair_when_nothing_changed() -> None:
    # With p = exp(-y) the singularity at 0 becomes a plain exponential tail.
    mean, _ = quad(lambda y: e_detector([math.exp(-y)]).level * math.exp(-y), 0, 300, limit=200)

    assert mean == pytest.approx(1.0, abs=1e-6)


def test_evidence_can_be_gathered_week_by_week_or_at_once() -> None:
    weeks = [0.7, 0.04, 1.0, 0.2]
    one_by_one = reduce(lambda state, p: e_detector([p], state), weeks, DriftEvidence())

    assert e_detector(weeks) == one_by_one
    assert e_detector(weeks[2:], e_detector(weeks[:2])) == one_by_one
    assert one_by_one.weeks == 4


def test_uneventful_weeks_settle_and_steady_small_p_values_alert_for_good() -> None:
    calm = e_detector([1.0] * 100)
    worse = e_detector([0.02] * 4, calm)

    assert calm == DriftEvidence(pytest.approx(0.51 / 0.49), 100, alerted=False)
    assert (worse.alerted, worse.level >= 200) == (True, True)
    assert e_detector([1.0] * 50, worse).alerted
    assert e_detector([1.0] * 50, worse).level < 200


@pytest.mark.parametrize(("level", "alerts"), [(391.1, False), (391.2, True)])
def test_the_alert_comes_at_two_hundred(level: float, alerts: bool) -> None:
    after = e_detector([1.0], DriftEvidence(level))

    assert after == DriftEvidence(pytest.approx((level + 1) * 0.51), 1, alerted=alerts)
    assert after.level == pytest.approx(200, abs=0.1)


@given(st.floats(1e-300, 1), st.floats(1e-300, 1))
def test_a_smaller_p_is_never_less_evidence(p: float, q: float) -> None:
    assert e_detector([min(p, q)]).level >= e_detector([max(p, q)]).level * (1 - 1e-12)


def test_a_week_without_a_test_changes_nothing_and_an_impossible_one_everything() -> None:
    state = e_detector([0.3])

    assert e_detector([math.nan], state) == state
    assert e_detector([]) == DriftEvidence(0.0, 0, alerted=False)
    assert e_detector([0.0, 1.0]) == DriftEvidence(math.inf, 2, alerted=True)


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_what_is_no_p_value_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        e_detector([p])
