"""Judges two by two: a difference is called one only when it survives the adjustment for all pairs."""

import pytest

from evalq.stats.comparison import mcnemar_exact, tango
from evalq.summary.pairs import agreements, comparisons

EVERY = {"p": True, "f": False, "-": None}


def vectors(**letters: str) -> dict[str, list[bool | None]]:
    return {judge: [EVERY[letter] for letter in text] for judge, text in letters.items()}


def vendors(**judges: str) -> dict[str, str]:
    return judges


def test_fewer_than_two_judges_have_no_pairs() -> None:
    assert comparisons({}) == comparisons(vectors(a="ppf")) == []
    assert agreements({}, {}) == agreements(vectors(a="ppf"), {"a": "x"}) == []


def test_the_difference_is_a_minus_b_with_its_tango_interval() -> None:
    [pair] = comparisons(vectors(a="pppppppf", b="pppppfff"))
    expected = tango(2, 0, 8)
    assert (pair.a, pair.b, pair.n) == ("a", "b", 8)
    assert (pair.diff, pair.ci_low, pair.ci_high) == pytest.approx(expected, abs=5e-5)
    assert pair.p == pair.p_holm == mcnemar_exact(2, 0) == 0.5
    assert not pair.separable


def test_pairs_follow_the_order_of_the_ranking() -> None:
    pairs = comparisons(vectors(best="ppp", middle="ppf", worst="fff"))
    assert [(pair.a, pair.b) for pair in pairs] == [
        ("best", "middle"),
        ("best", "worst"),
        ("middle", "worst"),
    ]


def test_cases_one_of_the_two_has_no_verdict_for_do_not_count() -> None:
    [pair] = comparisons(vectors(a="pp-f", b="f-pf"))
    assert (pair.n, pair.diff) == (2, 0.5)


def test_a_pair_without_a_shared_case_is_no_comparison() -> None:
    assert comparisons(vectors(a="p-", b="-p")) == []


def test_p_is_adjusted_over_all_pairs_by_holm() -> None:
    pairs = comparisons(vectors(a="p" * 10, b="p" * 5 + "f" * 5, c="f" * 10))
    by_pair = {(pair.a, pair.b): pair for pair in pairs}
    assert by_pair["a", "c"].p == float(f"{2 / 2**10:.4g}")
    assert by_pair["a", "c"].p_holm == float(f"{3 * 2 / 2**10:.4g}")
    assert by_pair["a", "b"].p == by_pair["b", "c"].p == 0.0625
    assert by_pair["a", "b"].p_holm == by_pair["b", "c"].p_holm == 0.125


def test_what_one_test_would_separate_many_need_not() -> None:
    alone = comparisons(vectors(a="p" * 6, b="f" * 6))
    among = comparisons(vectors(a="p" * 6, b="f" * 6, c="pppfff"))
    assert [pair.separable for pair in alone] == [True]
    assert [pair.separable for pair in among if (pair.a, pair.b) == ("a", "b")] == [False]


def test_equal_judges_are_a_tie_with_an_interval_around_zero() -> None:
    [pair] = comparisons(vectors(a="ppff", b="ppff"))
    assert (pair.diff, pair.p, pair.separable) == (0.0, 1.0, False)
    assert pair.ci_low < 0 < pair.ci_high


def test_agreement_is_kappa_with_ac1_beside_it() -> None:
    [pair] = agreements(vectors(a="pppfff", b="ppffff"), vendors(a="x", b="y"))
    assert (pair.n, pair.kappa) == (6, pytest.approx(2 / 3, abs=5e-5))
    assert pair.ac1 is not None
    assert not pair.degenerate


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
