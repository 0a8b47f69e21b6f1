"""Which judges nobody beats at their price: ties, dominated and excluded judges, one task and several."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.results import BakeOffResult, Calls, Comparison, Frontier, Offer, RunResult
from evalq.stats.score_interval import wilson
from evalq.summary.frontier import frontier, mean_interval, p_of_interval

SAME = (0.0, -0.1, 0.1, False)


def run(judge: str, n_pass: int, cost: str, **more: Any) -> RunResult:
    n = more.pop("n", 100)
    low, high = wilson(n_pass, n)
    facts = {
        "run_id": 1,
        "vendor": "v",
        "n_cases": n,
        "n_fail": n - n_pass,
        "n_error": 0,
        "accuracy": n_pass / n,
        "ci_low": low,
        "ci_high": high,
        "ci_method": "wilson",
        "p50_latency_ms": 1,
        "p95_latency_ms": 2,
        "judging_cost_usd": Decimal(cost),
        "grading_cost_usd": Decimal(0),
        "retries": 0,
        **more,
    }
    return RunResult(judge=judge, n_pass=n_pass, total_cost_usd=Decimal(cost), **facts)


def broken(judge: str) -> RunResult:
    nothing = dict.fromkeys(("accuracy", "ci_low", "ci_high"))
    return run(judge, 0, "0.1", n_fail=0, n_error=100, excluded="100/100 empty outputs", **nothing)


def baked(
    *runs: RunResult, task: str = "a", pairs: Mapping[str, Sequence[Any]] | None = None, samples: int = 1
) -> BakeOffResult:
    """A bake-off; pairs `x y` with difference, interval and whether they are separable."""
    return BakeOffResult(
        id=1,
        task=task,
        eval_set="dev",
        scorer="strict_substring",
        grader=None,
        seed=0,
        samples=samples,
        state="concluded",
        spent_usd=Decimal(1),
        cap_usd=Decimal(5),
        saved_usd=Decimal(0),
        calls=Calls(),
        runs=runs,
        comparisons=tuple(
            Comparison(*names.split(), 100, diff, low, high, 0.5, 0.5, separable)
            for names, (diff, low, high, separable) in (pairs or {}).items()
        ),
        kappa=(),
        warnings=(),
        next=(),
        n_jobs=100,
        n_done=100,
    )


def placed(offers: Sequence[Offer]) -> list[tuple[str, bool, str | None]]:
    return [(offer.judge, offer.on_frontier, offer.dominated_by) for offer in offers]


def of_one(result: BakeOffResult, **more: Any) -> tuple[Offer, ...]:
    return tuple(frontier([result], **more).per_task["a"])


def test_a_judge_that_costs_more_and_passes_less_is_dominated_by_the_cheapest_that_does_better() -> None:
    result = baked(run("best", 90, "9"), run("dear", 70, "5"), run("fair", 80, "2"), run("cheap", 75, "1"))
    assert placed(of_one(result)) == [
        ("cheap", True, None),
        ("fair", True, None),
        ("dear", False, "cheap"),
        ("best", True, None),
    ]


def test_the_same_rate_for_less_and_a_better_rate_for_the_same_both_dominate() -> None:
    result = baked(run("x", 80, "2"), run("cheaper", 80, "1"), run("worse", 70, "1"))
    assert placed(of_one(result)) == [
        ("cheaper", True, None),
        ("worse", False, "cheaper"),
        ("x", False, "cheaper"),
    ]


def test_judges_alike_in_price_and_rate_stand_side_by_side() -> None:
    result = baked(run("x", 80, "1"), run("y", 80, "1"))
    assert placed(of_one(result)) == [("x", True, None), ("y", True, None)]
    assert [offer.not_separable_from for offer in of_one(result)] == [(), ()]


def test_one_judge_alone_is_the_frontier() -> None:
    (offer,) = of_one(baked(run("x", 80, "2.5")))
    assert (offer.on_frontier, offer.n, offer.n_cases, offer.usd_per_case) == (
        True,
        100,
        100,
        Decimal("0.025"),
    )
    assert (offer.accuracy, offer.ci_method) == (0.8, "wilson")
    assert offer.ci_low < 0.8 < offer.ci_high


def test_a_judge_is_marked_with_the_cheaper_ones_it_cannot_be_told_from() -> None:
    pairs = {"best fair": SAME, "best cheap": (0.2, 0.1, 0.3, True), "cheap fair": (-0.1, -0.3, 0.1, False)}
    result = baked(run("best", 90, "9"), run("fair", 85, "2"), run("cheap", 70, "1"), pairs=pairs)
    marks = {offer.judge: offer.not_separable_from for offer in of_one(result)}
    assert marks == {"cheap": (), "fair": ("cheap",), "best": ("fair",)}


def test_judges_that_share_no_case_cannot_be_told_apart() -> None:
    result = baked(run("best", 90, "9"), run("cheap", 70, "1"))
    assert of_one(result)[1].not_separable_from == ("cheap",)


def test_excluded_unfinished_and_unpriced_judges_are_listed_apart() -> None:
    unfinished = run("new", 0, "0", n_fail=0, accuracy=None, ci_low=None, ci_high=None)
    result = baked(run("x", 80, "1"), run("free?", 99, "0"), unfinished, broken("mute"))
    found = frontier([result], unpriced=["free?"])
    assert placed(found.per_task["a"]) == [("x", True, None)]
    assert [(each.task, each.judge, each.reason) for each in found.excluded] == [
        ("a", "free?", "no price"),
        ("a", "new", "no verdict yet"),
        ("a", "mute", "100/100 empty outputs"),
    ]


def test_several_samples_of_a_case_are_paid_for_together() -> None:
    (offer,) = of_one(baked(run("x", 80, "3", n_error=20), samples=4))
    assert (offer.n, offer.n_cases, offer.usd_per_case) == (100, 30, Decimal("0.1"))


def test_nothing_run_has_no_frontier() -> None:
    assert frontier([]) == Frontier({}, (), (), ())


def two_tasks() -> Frontier:
    a = baked(run("x", 90, "2"), run("y", 60, "1"), pairs={"x y": (0.3, 0.2, 0.4, True)})
    b = baked(
        run("y", 240, "9", n=300),
        run("x", 210, "6", n=300),
        task="b",
        pairs={"y x": (0.1, 0.02, 0.18, True)},
    )
    return frontier([a, b])


def test_overall_every_task_weighs_the_same_and_dollars_are_over_all_cases() -> None:
    overall = {offer.judge: offer for offer in two_tasks().overall}
    assert (overall["x"].accuracy, overall["y"].accuracy) == (0.8, 0.7)
    assert (overall["x"].usd_per_case, overall["y"].usd_per_case) == (Decimal("0.02"), Decimal("0.025"))
    assert (overall["x"].n, overall["x"].total_cost_usd) == (400, Decimal(8))
    assert overall["x"].ci_method == "mover_of_tasks"
    assert placed(two_tasks().overall) == [("x", True, None), ("y", False, "x")]


def test_overall_judges_are_compared_by_the_mean_of_their_paired_differences() -> None:
    (pair,) = two_tasks().comparisons
    assert (pair.a, pair.b, pair.n, pair.diff) == ("y", "x", 200, -0.1)
    half = math.hypot(0.1, 0.08) / 2
    assert (pair.ci_low, pair.ci_high) == (round(-0.1 - half, 4), round(-0.1 + half, 4))
    assert pair.p == pair.p_holm == pytest.approx(0.0022, abs=1e-4)
    assert pair.separable
    assert [offer.not_separable_from for offer in two_tasks().overall] == [(), ()]


def test_overall_a_tie_with_a_cheaper_judge_is_marked() -> None:
    tasks = [baked(run("x", 81, "2"), run("y", 80, "1"), task=name, pairs={"x y": SAME}) for name in "ab"]
    assert [offer.not_separable_from for offer in frontier(tasks).overall] == [(), ("y",)]


def test_a_judge_missing_on_one_task_has_no_place_overall() -> None:
    a = baked(run("x", 90, "2"), run("y", 60, "1"), run("z", 50, "1"), pairs={"x y": SAME, "x z": SAME})
    b = baked(run("x", 90, "2"), run("y", 60, "1"), broken("z"), task="b")
    found = frontier([a, b])
    assert {offer.judge for offer in found.overall} == {"x", "y"}
    assert found.comparisons == ()  # x and y share no case on b
    assert [offer.not_separable_from for offer in found.overall] == [(), ("y",)]


def test_the_interval_of_a_mean_is_that_of_its_one_estimate() -> None:
    assert mean_interval([(0.8, 0.6, 0.9)]) == pytest.approx((0.8, 0.6, 0.9))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=6))
def test_the_interval_of_a_mean_of_rates_holds_it_stays_in_bounds_and_forgets_the_order(
    counts: list[tuple[int, int]],
) -> None:
    estimates = [(k / n, *wilson(k, n)) for k, n in ((min(k, n), n) for k, n in counts)]
    mean, low, high = mean_interval(estimates)
    assert -1e-9 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1 + 1e-9
    assert high > low
    assert mean_interval(estimates[::-1]) == pytest.approx((mean, low, high))


def test_the_p_of_an_interval_is_five_percent_where_it_touches_zero() -> None:
    assert p_of_interval((0.1, 0.0, 0.3)) == pytest.approx(0.05)
    assert p_of_interval((-0.1, -0.3, 0.0)) == pytest.approx(0.05)


def test_no_difference_is_no_evidence_and_a_sure_one_is_all_of_it() -> None:
    assert p_of_interval((0.0, -0.1, 0.1)) == 1.0
    assert p_of_interval((0.1, 0.1, 0.1)) == 0.0
