"""Rates with their intervals: one sample or several, the strata, and the mean over them."""

from collections.abc import Sequence

import pytest

from evalq.records import OutcomeRow
from evalq.results import CiMethod
from evalq.stats.intervals import beta_interval, bootstrap_ci, clopper_pearson, clustered_se
from evalq.stats.score_interval import wilson
from evalq.summary.rates import Measure, effective_n, stratified_n, tallies

VERDICTS = {"p": "passed", "f": "failed", "e": "errored"}
METHODS: list[CiMethod] = ["wilson", "clopper_pearson", "beta", "bootstrap"]


def rows(*cases: str, strata: Sequence[str] = ("",)) -> list[OutcomeRow]:
    """A word of verdicts for each case, a letter for each sample."""
    return [
        OutcomeRow(1, f"c{at}", sample, at, strata[at % len(strata)], VERDICTS[letter], None, 1)  # type: ignore[arg-type]
        for at, letters in enumerate(cases)
        for sample, letter in enumerate(letters)
    ]


def test_tallies_leave_out_errors_and_cases_of_errors_alone() -> None:
    assert tallies(rows("ppf", "pe", "ee")) == {"c0": (3, 2), "c1": (1, 1)}


@pytest.mark.parametrize(
    ("method", "ends"),
    [("wilson", wilson(7, 9)), ("clopper_pearson", clopper_pearson(7, 9)), ("beta", beta_interval(7, 9))],
)
def test_one_sample_a_case_has_the_interval_of_its_counts(
    method: CiMethod, ends: tuple[float, float]
) -> None:
    rate = Measure(method).rate(rows(*"pppppppff", "e"))
    assert (rate.n, rate.accuracy, rate.method, rate.few) == (9, round(7 / 9, 4), method, True)
    assert (rate.ci_low, rate.ci_high) == pytest.approx(ends, abs=5e-5)


def test_the_bootstrap_is_drawn_from_the_seed() -> None:
    outcomes = rows(*"ppppppppppfffffffff", "e")
    rate = Measure("bootstrap", seed=7).rate(outcomes)
    expected = bootstrap_ci([True] * 10 + [False] * 9, rng=7)
    assert (rate.ci_low, rate.ci_high) == pytest.approx(expected, abs=5e-5)
    assert rate == Measure("bootstrap", seed=7).rate(outcomes)


def test_the_bootstrap_of_several_samples_draws_whole_cases() -> None:
    outcomes = rows(*["ppp"] * 20, *["fff"] * 20)
    rate = Measure("bootstrap", samples=3, seed=7).rate(outcomes)
    assert rate.method == "bootstrap_clustered"
    width = (rate.ci_high or 0) - (rate.ci_low or 0)
    assert width == pytest.approx(0.31, abs=0.05)  # that of 40 verdicts, not of 120


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("samples", [1, 2])
def test_nothing_graded_leaves_no_numbers(method: CiMethod, samples: int) -> None:
    rate = Measure(method, samples).rate(rows("e", "e"))
    assert (rate.n, rate.accuracy, rate.ci_low, rate.ci_high) == (0, None, None, None)


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "beta"])
def test_several_samples_that_all_pass_leave_a_doubt(method: CiMethod) -> None:
    rate = Measure(method, samples=3).rate(rows(*["ppp"] * 12))
    assert (rate.n, rate.accuracy, rate.method) == (12, 1.0, f"{method}_clustered")
    assert rate.ci_low == pytest.approx(Measure(method).rate(rows(*"p" * 12)).ci_low, abs=5e-5)
    assert rate.ci_low < 0.8


@pytest.mark.parametrize("n_cases", [12, 40])
def test_the_effective_n_is_n_over_the_design_effect_of_the_clustered_error(n_cases: int) -> None:
    cases = [(3, at % 4) for at in range(n_cases)]
    augmented = [*cases, (3, 3), (3, 0)]
    verdicts = [float(sample < passed) for graded, passed in augmented for sample in range(graded)]
    clusters = [at for at, (graded, _) in enumerate(augmented) for _ in range(graded)]
    share = sum(verdicts) / len(verdicts)
    design_effect = clustered_se(verdicts, clusters) ** 2 / (share * (1 - share) / len(verdicts))
    shrunk = 1.0 if n_cases >= 30 else (1.959964 / 2.200985) ** 2  # Student's quantile for 11 degrees
    assert effective_n(cases) == pytest.approx(max(n_cases, 3 * n_cases / design_effect * shrunk), rel=1e-5)


def test_the_effective_n_lies_between_cases_and_samples() -> None:
    assert effective_n([(5, 5), (5, 0)] * 20) == 40
    assert effective_n([(4, 2)] * 200) == 800
    assert effective_n([(5, 3)]) == 1
    assert 30 < effective_n([(3, 3)] * 29 + [(3, 2)]) < 90


def test_a_failed_sample_more_does_not_raise_the_low_end() -> None:
    measure = Measure(samples=3)
    lows = [measure.rate(rows(*["ppp"] * (30 - k), *["ppf"] * k)).ci_low or 0 for k in range(4)]
    assert lows[0] <= 0.89
    assert lows[1] < lows[0] + 0.01


def test_strata_have_rates_of_their_own_by_name_and_an_empty_one_stays() -> None:
    rates = Measure().per_stratum(rows(*"ppfe", strata=("b", "a")))
    assert list(rates) == ["a", "b"]
    assert (rates["b"].n, rates["b"].accuracy, rates["a"].n) == (2, 0.5, 1)
    assert Measure().per_stratum(rows("e", strata=("a",)))["a"].accuracy is None


def test_macro_weighs_every_stratum_the_same() -> None:
    outcomes = rows(*"pppppppp", *"ff", strata=["big"] * 8 + ["small"] * 2)
    macro, micro = Measure().macro(outcomes), Measure().rate(outcomes)
    assert macro is not None
    assert (macro.n, macro.accuracy, macro.method) == (10, 0.5, "wilson_stratified")
    assert micro.accuracy == 0.8
    assert macro.ci_low is not None
    assert macro.ci_low < 0.5 < (macro.ci_high or 0)


@pytest.mark.parametrize(("method", "named"), [("beta", "beta"), ("bootstrap", "wilson")])
def test_macro_keeps_a_width_where_every_stratum_passes(method: CiMethod, named: str) -> None:
    macro = Measure(method).macro(rows(*"p" * 12, strata=("a", "b", "c")))
    assert macro is not None
    assert macro.method == f"{named}_stratified"
    assert (macro.ci_low or 1) < 0.8


def test_strata_of_one_size_and_rate_vary_like_one_rate() -> None:
    assert stratified_n([(20, 0.7)] * 4) == pytest.approx(80)
    assert stratified_n([(5, 0.5), (500, 0.99)]) < 20


def test_there_is_no_macro_without_a_graded_stratum() -> None:
    assert Measure().macro(rows(*"pf")) is None
    assert Measure().macro(rows("e", strata=("a",))) is None
