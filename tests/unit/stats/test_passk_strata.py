"""Rates per stratum: counting, order, small and empty strata, and the mean over strata."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.stats.passk import StratumRate, macro_rate, pass_rate, per_stratum
from evalq.stats.score_interval import wilson

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([True, False, None])), max_size=50)


def test_each_stratum_has_its_wilson_rate_in_the_order_first_seen() -> None:
    strata = ["subtle", "explicit", "subtle", "explicit", "subtle"]
    verdicts = [True, True, False, True, True]

    rates = per_stratum(strata, verdicts)

    assert list(rates) == ["subtle", "explicit"]
    assert rates["subtle"] == StratumRate(3, 2, 2 / 3, *wilson(2, 3), is_small=True)
    assert rates["explicit"] == StratumRate(2, 2, 1.0, *wilson(2, 2), is_small=True)


@pytest.mark.parametrize(("n", "is_small"), [(9, True), (10, False)])
def test_a_stratum_is_small_below_ten_verdicts(n: int, is_small: bool) -> None:
    assert per_stratum(["x"] * n, [True] * n)["x"].is_small is is_small


def test_missing_verdicts_do_not_count_and_leave_an_empty_stratum_visible() -> None:
    rates = per_stratum(["gone", "kept", "kept"], [None, None, False])

    assert list(rates) == ["gone", "kept"]
    assert rates["gone"][:2] == (0, 0)
    assert all(math.isnan(value) for value in rates["gone"][2:5])
    assert rates["gone"].is_small
    assert rates["kept"][:3] == (1, 0, 0.0)


def test_no_cases_have_no_strata() -> None:
    assert per_stratum([], []) == {}


def test_strata_and_verdicts_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError):
        per_stratum(["x", "x"], [True])


@settings(deadline=None, max_examples=50)
@given(ROWS)
def test_the_strata_add_up_to_all_verdicts_whatever_their_order(rows: list[tuple[str, bool | None]]) -> None:
    rates = per_stratum([name for name, _ in rows], [verdict for _, verdict in rows])
    reverse = per_stratum([name for name, _ in rows[::-1]], [verdict for _, verdict in rows[::-1]])

    assert sum(rate.n for rate in rates.values()) == sum(verdict is not None for _, verdict in rows)
    assert sum(rate.k for rate in rates.values()) == sum(verdict is True for _, verdict in rows)
    assert rates.keys() == reverse.keys()
    assert all(reverse[name] == pytest.approx(rate, nan_ok=True) for name, rate in rates.items())


def test_the_macro_rate_weighs_every_stratum_with_verdicts_the_same() -> None:
    rates = per_stratum(["big"] * 8 + ["tiny", "empty"], [True] * 8 + [False, None])

    assert macro_rate(rates) == 0.5


def test_the_macro_rate_of_nothing_is_undefined() -> None:
    assert math.isnan(macro_rate({}))
    assert math.isnan(macro_rate(per_stratum(["empty"], [None])))


def test_samples_of_a_case_count_as_one() -> None:
    rate = pass_rate([True, True, True, False], cases=["a", "a", "b", "b"])
    assert (rate.n, rate.k, rate.rate) == (2, 3, 0.75)
    assert (rate.low, rate.high) == pytest.approx(wilson(1.5, 2))
    by_stratum = per_stratum(["x", "x", "y"], [True, None, None], cases=["a", "a", "b"])
    assert [(name, found.n) for name, found in by_stratum.items()] == [("x", 1), ("y", 0)]
