"""The paired differences of the leaderboard: always judge minus leader."""

from dataclasses import replace

from report_scene import make_result, make_run

from evalq.results import Comparison
from evalq.web.run_page import draw_charts, paired_leads


def test_a_difference_is_turned_to_judge_minus_leader() -> None:
    pair = Comparison(
        "good@short", "poor", 20, 0.45, 0.2, 0.65, 0.004, 0.004, separable=True, a_only=10, b_only=1
    )
    result = replace(make_result(), comparisons=(pair,))
    lead = paired_leads(result)["poor"]
    assert (lead.diff, lead.ci_low, lead.ci_high) == (-0.45, -0.65, -0.2)
    assert (lead.a, lead.b, lead.a_only, lead.b_only, lead.separable) == ("poor", "good@short", 1, 10, True)


def test_a_difference_the_right_way_round_is_kept_and_others_are_left_out() -> None:
    kept = Comparison("poor", "good@short", 20, -0.45, -0.65, -0.2, 0.004, 0.004, separable=True)
    other = Comparison("poor", "mute", 0, 0.0, 0.0, 0.0, 1.0, 1.0, separable=False)
    result = replace(make_result(), comparisons=(kept, other))
    assert paired_leads(result) == {"poor": kept}


def test_without_a_ranked_judge_there_is_nothing_to_lead() -> None:
    broken = make_run("mute", 0, excluded="20/20 empty outputs")
    result = replace(make_result(), runs=(broken,))
    assert paired_leads(result) == {}
    assert set(draw_charts(replace(result, kappa=()))) == {"bars", "kappa", "frontier", "strata", "latency"}
