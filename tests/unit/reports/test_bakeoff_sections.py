"""The sections on a bake-off: what each table says, and what is left out."""

from dataclasses import replace

from report_scene import make_offers, make_result

from evalq.reports.bakeoff_sections import bakeoff_sections, method_facts, usd_per_case
from evalq.reports.report_parts import ReportSection
from evalq.results import BakeOffResult, PassK, Rate


def sections(result: BakeOffResult, **options: object) -> dict[str, ReportSection]:
    found = bakeoff_sections(result, make_offers(result), **options)  # type: ignore[arg-type]
    return {section.key: section for section in found}


def test_the_leaderboard_has_rate_interval_paired_difference_and_n() -> None:
    first, second, out = sections(make_result())["leaderboard"].tables[0].rows
    assert first[:5] == ("1", "good@short", "85.0%", "65–100", "—")
    assert second[4:6] == ("−45 pp [−65, −20]", "0.004")
    assert out[4] == "excluded: 20/20 empty outputs"
    assert out[2] == "n/a"


def test_a_tie_is_called_one_and_a_tiny_p_is_not_zero() -> None:
    result = make_result()
    pair = replace(result.comparisons[0], separable=False, p_holm=0.0001)
    row = sections(replace(result, comparisons=(pair,)))["leaderboard"].tables[0].rows[1]
    assert row[4].endswith("cannot separate at n=20")
    assert row[5] == "<0.001"


def test_an_unknown_price_is_a_question_mark_and_never_zero() -> None:
    found = sections(make_result(), unpriced=["poor"], monthly_cases=1000)
    assert found["cost"].tables[0].rows[1] == ("poor", "?", "?", "?", "?", "?")
    assert found["leaderboard"].tables[0].rows[1][6] == "?"
    assert found["cost"].lines[0].startswith("at least $0.12")
    assert "? no price is known for poor" in found["cost"].lines


def test_a_month_costs_the_cases_times_the_dollars_of_one() -> None:
    found = sections(make_result(), monthly_cases=100_000)["cost"].tables[0]
    assert found.columns[-1] == "$/month at 100,000 cases"
    assert found.rows[0][-1] == "200.00"
    assert len(sections(make_result())["cost"].tables[0].columns) == 5


def test_a_judge_without_an_ended_job_has_no_price_per_case() -> None:
    result = make_result()
    idle = replace(result.runs[0], n_pass=0, n_fail=0)
    assert usd_per_case(idle, 1) is None
    row = sections(replace(result, runs=(idle, *result.runs[1:])))["cost"].tables[0].rows[0]
    assert row == ("good@short", "–", "–", "–", "–")


def test_strata_with_few_cases_are_marked_in_the_table_too() -> None:
    table = sections(make_result())["strata"].tables[0]
    assert table.columns == ("stratum", "good@short", "poor")
    assert table.rows[1][1].endswith("6!")
    assert table.rows[-1][0] == "mean of strata (macro)"


def test_without_strata_or_pairs_there_is_no_such_section() -> None:
    result = make_result()
    runs = tuple(replace(run, per_stratum={}) for run in result.runs)
    found = sections(replace(result, runs=runs, kappa=(), comparisons=()))
    assert "strata" not in found
    assert "agreement" not in found


def test_answers_without_a_verdict_are_told_once() -> None:
    result = make_result()
    partly = replace(result.runs[1], n_error=2, errors={"refused": 2})
    runs = (result.runs[0], partly, result.runs[2])
    assert "poor: 2 not graded: 2 refused" in sections(replace(result, runs=runs))["leaderboard"].lines
    warned = replace(result, runs=runs, warnings=("poor: 2 of 22 not graded (2 refused)",))
    assert sections(warned)["leaderboard"].lines == ()


def test_further_measures_have_a_table_of_their_own() -> None:
    result = make_result()
    sampled = replace(
        result.runs[0], metrics={"mrr": Rate(20, 0.5, 0.3, 0.7)}, pass_k=(PassK(3, 0.9, 0.5, 0.4, 20, 0),)
    )
    tables = sections(replace(result, runs=(sampled, *result.runs[1:])))["leaderboard"].tables
    assert [row[0] for row in tables[1].rows] == ["mrr", "pass@3", "pass^3", "pass^3 plain"]


def test_the_method_names_intervals_tests_and_the_holdout() -> None:
    result = replace(make_result(), holdout_head="abc123", holdout_look=2, grader="sim-grader")
    facts = dict(method_facts(result))
    assert facts["intervals"] == "95 %, Wilson"
    assert "McNemar" in facts["comparisons"]
    assert facts["scoring"] == "strict_substring, graded by sim-grader"
    assert facts["holdout log head"] == "abc123"
    assert facts["look at the holdout"] == "number 2"
    assert facts["price table of"] == "2026-11-01"


def test_an_interval_by_case_is_named_so() -> None:
    result = make_result()
    runs = tuple(replace(run, ci_method="wilson_by_case") for run in result.runs)
    assert (
        dict(method_facts(replace(result, runs=runs, comparisons=())))["intervals"] == "95 %, Wilson, by case"
    )
