"""The rules of drift on verdicts: published figures, exact edges, errors left out and counted."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from evalq.drift.rules import (
    DriftDecision,
    Verdicts,
    decide_confirmed,
    decide_seed,
    decide_sequential,
    inconclusive,
)
from evalq.stats import DriftEvidence


def run(passes: int, n: int, *, errors: Sequence[int] = ()) -> Verdicts:
    """A run whose first cases passed; some of the cases errored."""
    return {f"c{i:03}": None if i in errors else i < passes for i in range(n)}


def runs(*passes: int, n: int) -> list[Verdicts]:
    return [run(each, n) for each in passes]


def alike(passes: Sequence[float], rng: np.random.Generator) -> Verdicts:
    return {f"c{i:03}": bool(rng.random() < p) for i, p in enumerate(passes)}


@pytest.mark.parametrize("n", [20, 30, 40, 60, 93, 100])
def test_a_drop_of_five_points_is_a_watch_and_one_case_less_is_not(n: int) -> None:
    perfect, dropped = runs(n, n, n, n, n=n), math.ceil(n / 20)
    assert decide_seed("seed", perfect, run(n - dropped, n)).verdict == "watch"
    assert decide_seed("seed", perfect, run(n - dropped + 1, n)).verdict == "ok"


def test_a_median_between_two_counts_counts_half_a_case() -> None:
    past = runs(30, 30, 29, 29, n=30)
    assert decide_seed("seed", past, run(28, 30)).verdict == "watch"  # 29.5 - 28 is 5 points exactly
    assert decide_seed("seed", runs(30, 29, 29, 29, n=30), run(28, 30)).verdict == "ok"


def test_every_exact_five_point_drop_on_thirty_cases_trips_where_floats_fail() -> None:
    exact = [
        (b, c, x) for b in range(31) for c in range(b, 31) for x in range(31) if 10 * (b + c - 2 * x) == 30
    ]
    assert exact
    by_floats = [(b + c) / 60 - x / 30 >= 0.05 for b, c, x in exact]
    assert not all(by_floats)
    for b, c, x in exact:
        assert decide_seed("seed", runs(b, b, c, c, n=30), run(x, 30)).verdict == "watch"


def test_fewer_than_four_earlier_runs_say_how_many_are_missing() -> None:
    for known in range(4):
        decision = decide_seed("confirm", runs(*[9] * known, n=10), run(2, 10))
        assert decision.verdict == "inconclusive"
        assert decision.numbers["needs_runs"] == 4 - known
        assert decision.numbers["reason"] == "baseline"
        assert f"{4 - known} more check" in decision.numbers["detail"]


def test_cases_that_errored_anywhere_are_left_out_and_n_says_so() -> None:
    past = [run(20, 20), run(20, 20, errors=[3]), run(20, 20), run(20, 20)]
    decision = decide_seed("seed", past, run(20, 20, errors=[5, 6]))
    assert decision.verdict == "ok"
    assert (decision.numbers["n"], decision.numbers["n_cases"]) == (17, 20)
    assert decision.numbers["baseline_passes"] == [17, 17, 17, 17]
    assert decision.numbers["passes"] == 17


def test_errors_are_no_drop() -> None:
    decision = decide_seed("seed", runs(20, 20, 20, 20, n=20), run(20, 20, errors=range(10)))
    assert (decision.verdict, decision.numbers["drop_pp"]) == ("ok", 0)


def test_with_fewer_than_half_of_the_cases_left_nothing_is_said_of_accuracy() -> None:
    decision = decide_seed("seed", runs(20, 20, 20, 20, n=20), run(0, 20, errors=range(11)))
    assert (decision.verdict, decision.numbers["reason"]) == ("inconclusive", "errors")
    assert "9 of 20" in decision.numbers["detail"]


def test_without_any_case_nothing_is_said() -> None:
    assert decide_seed("seed", [{}, {}, {}, {}], {}).verdict == "inconclusive"
    assert decide_confirmed([{}, {}, {}, {}], {}).verdict == "inconclusive"
    decision = decide_sequential([{}], {}, evidence=DriftEvidence(), rng=np.random.default_rng(1))
    assert decision.verdict == "inconclusive"


def test_the_numbers_of_a_watch_say_what_it_was_made_from() -> None:
    numbers = decide_seed("confirm", runs(27, 28, 26, 29, n=30), run(22, 30)).numbers
    assert numbers["baseline_passes"] == [27, 28, 26, 29]
    assert numbers["passes"] == 22
    assert numbers["drop_pp"] == pytest.approx(100 * (27.5 - 22) / 30, abs=1e-3)
    assert 0 < numbers["p"] < 0.05
    assert 5 < numbers["smallest_drop_pp"] < 30


def test_the_confirm_rule_sees_less_than_the_watch_alone() -> None:
    past, now = runs(27, 28, 26, 29, n=30), run(25, 30)
    by_seed = decide_seed("seed", past, now).numbers["smallest_drop_pp"]
    by_confirm = decide_seed("confirm", past, now).numbers["smallest_drop_pp"]
    assert by_confirm > by_seed


def test_fresh_repeats_as_good_as_before_are_no_alert_and_much_worse_ones_are() -> None:
    past = runs(27, 27, 27, 27, n=30)
    same = {case: 4 if passed else 0 for case, passed in run(27, 30).items()}
    worse = {case: 4 if passed else 0 for case, passed in run(20, 30).items()}
    assert decide_confirmed(past, same).verdict == "ok"
    decision = decide_confirmed(past, worse)
    assert decision.verdict == "alert"
    assert decision.numbers["p"] <= 0.01
    assert (decision.numbers["fresh_passes"], decision.numbers["fresh_answers"]) == (80, 120)


def test_a_fresh_answer_missing_leaves_its_case_out() -> None:
    past = runs(4, 4, 4, 4, n=4)
    decision = decide_confirmed(past, {"c000": 4, "c001": None, "c002": 4, "c003": 3})
    assert (decision.numbers["n"], decision.numbers["n_cases"]) == (3, 4)
    too_few = decide_confirmed(past, {"c000": 4, "c001": None, "c002": None, "c003": None})
    assert too_few.verdict == "inconclusive"


def test_the_confirm_rule_keeps_its_published_rates() -> None:
    """n = 30, cases drawn from Beta(2.7, 0.3): false alarms .0030 a week, 20 points found in .937."""
    rng = np.random.default_rng(20261116)
    false_alarms = found = 0
    for _ in range(120):
        chances = rng.beta(2.7, 0.3, 30)
        past = [alike(chances, rng) for _ in range(4)]
        for is_worse in (False, True):
            now = chances * (1 - 0.2 / 0.9) if is_worse else chances
            if decide_seed("confirm", past, alike(now, rng)).verdict != "watch":
                continue
            fresh = {f"c{i:03}": int(passes) for i, passes in enumerate(rng.binomial(4, now))}
            is_alert = decide_confirmed(past, fresh).verdict == "alert"
            found += is_alert and is_worse
            false_alarms += is_alert and not is_worse
    assert false_alarms <= 3
    assert 0.86 <= found / 120 <= 0.99


def test_evidence_grows_week_by_week_until_it_alerts_and_stays() -> None:
    past = runs(27, n=30)
    evidence, verdicts = DriftEvidence(), []
    for week in range(6):
        decision = decide_sequential(past, run(18, 30), evidence=evidence, rng=np.random.default_rng(week))
        numbers = decision.numbers
        evidence = DriftEvidence(numbers["level"], numbers["weeks"], numbers["alerted"])
        verdicts.append(decision.verdict)
    assert verdicts[-1] == "alert"
    assert verdicts == sorted(verdicts, key=["ok", "alert"].index)
    assert numbers["weeks"] == 6


def test_an_alert_of_the_detector_stays_until_a_new_baseline_is_accepted() -> None:
    evidence = DriftEvidence(level=1.0, weeks=9, alerted=True)
    decision = decide_sequential(runs(27, n=30), run(27, 30), evidence=evidence, rng=np.random.default_rng(1))
    assert decision.verdict == "alert"


def test_the_same_run_is_decided_the_same_each_time() -> None:
    def once() -> DriftDecision:
        return decide_sequential(
            runs(27, 26, n=30), run(24, 30), evidence=DriftEvidence(), rng=np.random.default_rng(42)
        )

    assert once() == once()


def test_a_level_that_json_cannot_hold_is_cut() -> None:
    decision = decide_sequential(
        runs(*[400] * 12, n=400), run(0, 400), evidence=DriftEvidence(1e12), rng=np.random.default_rng(1)
    )
    assert decision.numbers["level"] == 1e12
    assert decision.verdict == "alert"


def test_a_case_that_erred_once_in_a_long_past_is_not_lost_for_good() -> None:
    past = [run(20, 20, errors=[week]) for week in range(10)]
    numbers = decide_sequential(
        past, run(20, 20), evidence=DriftEvidence(), rng=np.random.default_rng(1)
    ).numbers
    assert (numbers["n"], numbers["runs"]) == (20, 9)


def test_a_case_that_mostly_erred_is_left_out_instead_of_shortening_the_past_of_all() -> None:
    past = [run(20, 20, errors=[0]) for _ in range(10)]
    numbers = decide_sequential(
        past, run(20, 20), evidence=DriftEvidence(), rng=np.random.default_rng(1)
    ).numbers
    assert (numbers["n"], numbers["runs"], numbers["n_cases"]) == (19, 10, 20)


def test_a_check_that_decided_nothing_says_why() -> None:
    decision = inconclusive("cap", "no dollars left", n=3)
    assert decision.verdict == "inconclusive"
    assert decision.numbers == {"reason": "cap", "detail": "no dollars left", "n": 3}
