"""Power before spending: from past pairs of judges where there are any, else from a stated assumption."""

import pytest

from evalq.stats.comparison import cases_needed, mde_paired
from evalq.summary.power import Aim, PastRun, Spread, plan_power, spreads


def past(bakeoff_id: int, judge: str, *tallies: tuple[int, int]) -> PastRun:
    return PastRun(bakeoff_id, judge, {f"c{at}": tally for at, tally in enumerate(tallies)})


PASS, FAIL = (1, 1), (1, 0)


def test_the_reference_of_the_paper_is_met() -> None:
    plan = plan_power(Aim(0.03, samples=2), 969, [Spread(1, 100, 1 / 9, None)])
    assert plan.cases_needed == 969
    assert plan.is_enough
    assert plan.mde == pytest.approx(0.03, abs=1e-4)


def test_without_past_runs_judges_are_taken_to_err_independently() -> None:
    plan = plan_power(Aim(0.05), 93, [])
    assert (plan.var_d, plan.past_pairs, plan.past_bakeoffs, plan.past_cases) == (0.5, 0, 0, 0)
    assert plan.cases_needed == cases_needed(0.05, 0.5) == 1570
    assert plan.mde == mde_paired(93, 0.5)
    assert not plan.is_enough


def test_past_pairs_weigh_by_their_cases() -> None:
    plan = plan_power(Aim(0.05), 93, [Spread(1, 30, 0.1, None), Spread(2, 10, 0.5, None)])
    assert plan.var_d == pytest.approx(0.2)
    assert (plan.past_pairs, plan.past_bakeoffs, plan.past_cases) == (2, 2, 40)


def test_every_two_judges_of_a_bake_off_are_a_pair_and_of_two_bake_offs_none() -> None:
    runs = [past(1, "a", PASS, FAIL), past(1, "b", FAIL, FAIL), past(2, "c", PASS, PASS)]
    assert [(found.bakeoff_id, found.n, found.within) for found in spreads(runs)] == [(1, 2, None)]
    assert spreads(runs)[0].between == 0.5


def test_the_judges_named_are_taken_alone_if_two_of_them_met() -> None:
    runs = [past(1, "a", PASS, FAIL), past(1, "b", FAIL, FAIL), past(1, "c", PASS, FAIL)]
    assert len(spreads(runs)) == len(spreads(runs, ["a", "z"])) == 3
    assert [found.between for found in spreads(runs, ["a", "c"])] == [0.0]


def test_judges_that_share_one_case_say_nothing() -> None:
    assert spreads([past(1, "a", PASS), past(1, "b", PASS)]) == []


def test_samples_average_away_what_is_chance_within_a_case() -> None:
    a = past(1, "a", (4, 4), (4, 2), (4, 0), (4, 2))
    b = past(1, "b", (4, 2), (4, 2), (4, 0), (4, 2))
    [found] = spreads([a, b])
    chance = 2 * 2 / (4 * 3)
    assert found.within == pytest.approx(5 * chance / 4)
    assert found.between == pytest.approx(max(0.0, 0.0625 - 5 * chance / 16))
    assert found.var_d(10) < found.var_d(1)


def test_samples_help_only_where_past_runs_tell_how_much() -> None:
    known, unknown = Spread(1, 50, 0.1, 0.3), Spread(1, 50, 0.4, None)
    assert plan_power(Aim(0.05, samples=5), 99, [known]).samples_help
    assert plan_power(Aim(0.05, samples=1), 99, [known]).mde == pytest.approx(0.17808, abs=1e-4)
    assert plan_power(Aim(0.05, samples=5), 99, [known]).mde == pytest.approx(0.11263, abs=1e-4)
    blind = plan_power(Aim(0.05, samples=5), 99, [unknown])
    assert not blind.samples_help
    assert blind.mde == plan_power(Aim(0.05), 99, [unknown]).mde


def test_single_verdicts_cannot_differ_without_flipping() -> None:
    plan = plan_power(Aim(0.05), 40, [Spread(1, 40, 0.0, None)])
    assert plan.cases_needed == cases_needed(0.05, 0.05 - 0.0025)
    found = plan_power(Aim(plan.mde), 40, [Spread(1, 40, 0.0, None)])
    assert found.cases_needed == 40


def test_all_pairs_of_several_judges_take_more() -> None:
    plan = plan_power(Aim(0.1, n_judges=4), 93, [])
    assert plan.aim.n_pairs == 6
    assert plan.cases_needed_all_pairs == cases_needed(0.1, 0.5, 0.05 / 6) > plan.cases_needed
    assert plan.mde_all_pairs > plan.mde
    assert Aim(0.1, n_judges=1).n_pairs == 1


def test_no_difference_is_larger_than_one() -> None:
    assert plan_power(Aim(0.1), 1, []).mde == 1.0
