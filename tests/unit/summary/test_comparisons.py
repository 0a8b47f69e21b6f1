"""Judges two by two: a difference is called one only when it survives the adjustment for all pairs."""

import pytest

from evalq.results import Comparison
from evalq.stats.agreement import cohen_kappa
from evalq.stats.comparison import mcnemar_exact, tango
from evalq.summary.comparisons import agreements, comparisons, differences

EVERY = {"p": True, "f": False, "-": None}


def vectors(**letters: str) -> dict[str, list[bool | None]]:
    return {judge: [EVERY[letter] for letter in text] for judge, text in letters.items()}


def compared(**letters: str) -> list[Comparison]:
    """The comparisons of judges named in rank order."""
    return comparisons(differences(vectors(**letters)), list(letters))


def vendors(**judges: str) -> dict[str, str]:
    return judges


def test_fewer_than_two_judges_have_no_pairs() -> None:
    assert comparisons({}, []) == compared(a="ppf") == []
    assert agreements({}, {}) == agreements(vectors(a="ppf"), {"a": "x"}) == []


def test_the_difference_is_a_minus_b_with_its_tango_interval() -> None:
    [pair] = compared(a="pppppppf", b="pppppfff")
    expected = tango(2, 0, 8)
    assert (pair.a, pair.b, pair.n) == ("a", "b", 8)
    assert (pair.diff, pair.ci_low, pair.ci_high) == pytest.approx(expected, abs=5e-5)
    assert pair.p == pair.p_holm == mcnemar_exact(2, 0) == 0.5
    assert not pair.separable


def test_pairs_follow_the_order_of_the_ranking() -> None:
    pairs = compared(best="ppp", middle="ppf", worst="fff")
    assert [(pair.a, pair.b) for pair in pairs] == [
        ("best", "middle"),
        ("best", "worst"),
        ("middle", "worst"),
    ]


def test_cases_one_of_the_two_has_no_verdict_for_do_not_count() -> None:
    [pair] = compared(a="pp-f", b="f-pf")
    assert (pair.n, pair.diff) == (2, 0.5)


def test_a_pair_without_a_shared_case_is_no_comparison() -> None:
    assert compared(a="p-", b="-p") == []


def test_p_is_adjusted_over_all_pairs_by_holm() -> None:
    pairs = compared(a="p" * 10, b="p" * 5 + "f" * 5, c="f" * 10)
    by_pair = {(pair.a, pair.b): pair for pair in pairs}
    assert by_pair["a", "c"].p == float(f"{2 / 2**10:.4g}")
    assert by_pair["a", "c"].p_holm == float(f"{3 * 2 / 2**10:.4g}")
    assert by_pair["a", "b"].p == by_pair["b", "c"].p == 0.0625
    assert by_pair["a", "b"].p_holm == by_pair["b", "c"].p_holm == 0.125


def test_what_one_test_would_separate_many_need_not() -> None:
    alone = compared(a="p" * 6, b="f" * 6)
    among = compared(a="p" * 6, b="f" * 6, c="pppfff")
    assert [pair.separable for pair in alone] == [True]
    assert [pair.separable for pair in among if (pair.a, pair.b) == ("a", "b")] == [False]


def test_equal_judges_are_a_tie_with_an_interval_around_zero() -> None:
    [pair] = compared(a="ppff", b="ppff")
    assert (pair.diff, pair.p, pair.separable) == (0.0, 1.0, False)
    assert pair.ci_low < 0 < pair.ci_high


def test_a_pair_is_named_by_rank_whichever_way_it_was_found() -> None:
    found = differences(vectors(worse="pfff", better="ppff"))
    [pair] = comparisons(found, ["better", "worse"])
    assert (pair.a, pair.b, pair.diff) == ("better", "worse", 0.25)
    assert (pair.a_only, pair.b_only) == (1, 0)
    assert (pair.ci_low, pair.ci_high) == pytest.approx(tango(1, 0, 4)[1:], abs=5e-5)


def test_flips_each_way_are_counted() -> None:
    [pair] = compared(a="pppf-p", b="pffp" + "pp")
    assert (pair.n, pair.a_only, pair.b_only, pair.method) == (5, 2, 1, "tango_mcnemar")


def test_a_tie_says_how_many_cases_would_settle_it_and_a_separated_pair_does_not() -> None:
    [tie] = compared(a="p" * 60 + "f" * 33, b="p" * 55 + "f" * 38)
    assert tie.cases_needed is not None
    assert tie.cases_needed > 93
    [apart] = compared(a="p" * 93, b="f" * 93)
    assert (apart.separable, apart.cases_needed) == (True, None)


def test_more_pairs_to_tell_apart_take_more_cases() -> None:
    near = {"a": "p" * 40 + "f" * 53, "b": "f" * 5 + "p" * 35 + "p" * 2 + "f" * 51}
    [alone], among = compared(**near), compared(**near, c="f" * 93)
    first = next(pair for pair in among if (pair.a, pair.b) == ("a", "b"))
    assert not alone.separable
    assert (alone.cases_needed or 0) < (first.cases_needed or 0)


def test_no_number_of_cases_separates_judges_that_do_not_differ() -> None:
    assert [pair.cases_needed for pair in compared(a="pf", b="fp")] == [None]


def test_agreement_is_kappa_with_ac1_beside_it() -> None:
    [pair] = agreements(vectors(a="pppfff", b="ppffff"), vendors(a="x", b="y"))
    assert (pair.n, pair.kappa) == (6, pytest.approx(2 / 3, abs=5e-5))
    assert pair.ac1 is not None
    assert not pair.degenerate


def test_kappa_has_its_own_interval_and_a_constant_judge_none() -> None:
    [pair] = agreements(vectors(a="pppfff", b="ppffff"), vendors(a="x", b="y"))
    found = cohen_kappa([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0])
    assert (pair.ci_low, pair.ci_high) == pytest.approx((found.ci_low, found.ci_high), abs=5e-5)
    [constant] = agreements(vectors(a="pppp", b="ppff"), vendors(a="x", b="y"))
    assert (constant.ci_low, constant.ci_high) == (None, None)


@pytest.mark.parametrize("other", ["pppp", "ppff", "ffff"])
def test_a_constant_judge_has_no_kappa_and_raises_no_flag(other: str) -> None:
    [pair] = agreements(vectors(a="pppp", b=other), vendors(a="x", b="x"))
    assert (pair.kappa, pair.degenerate, pair.flag) == (None, True, None)
    assert pair.ac1 is not None


def test_without_a_shared_case_there_is_no_agreement_at_all() -> None:
    [pair] = agreements(vectors(a="pf-", b="--p"), vendors(a="x", b="x"))
    assert (pair.n, pair.kappa, pair.ac1, pair.degenerate) == (0, None, None, True)


@pytest.mark.parametrize(
    ("b", "vendor", "flag"),
    [("ppffff", "x", "same_provider"), ("ppffff", "y", None), ("pffffp", "x", None)],
)
def test_only_judges_of_one_provider_that_err_alike_are_flagged(
    b: str, vendor: str, flag: str | None
) -> None:
    [pair] = agreements(vectors(a="pppfff", b=b), vendors(a="x", b=vendor))
    assert pair.flag == flag


def test_a_kappa_of_just_the_bound_is_not_flagged() -> None:
    [pair] = agreements(vectors(a="ppppp" + "fffff", b="pppp" + "f" + "p" + "ffff"), vendors(a="x", b="x"))
    assert (pair.kappa, pair.flag) == (0.6, None)
