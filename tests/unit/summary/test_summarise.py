"""From verdicts to numbers: every rate has its n and its interval, and an error is never a fail."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from evalq.records import BakeOffRow, CallTotals, Evidence, OutcomeRow, RunRow, Savings
from evalq.results import BakeOffResult, Calls, Rate, RunResult
from evalq.stats.intervals import clopper_pearson, mean_ci
from evalq.stats.score_interval import wilson
from evalq.summary.summarise import summarise, summarise_run

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
VERDICTS = {"p": "passed", "f": "failed", "e": "errored"}


def bakeoff(**fields: object) -> BakeOffRow:
    facts: dict[str, object] = {
        **{"id": 142, "uid": uuid.UUID(int=0), "task_name": "audit", "eval_set_name": "dev", "seed": 7},
        **{"scorer_mode": "strict_substring", "grader_model": None, "run_type": "bake-off", "samples": 1},
        **{"task_sha": "t", "eval_set_sha": "e", "state": "concluded", "result": None},
        **{"cap_usd": Decimal(5), "reserved_usd": Decimal(0), "spent_usd": Decimal("0.5")},
        **{"created_at": NOW, "read_at": NOW},
    }
    return BakeOffRow(**facts | fields)  # type: ignore[arg-type]


def run(run_id: int, judge: str, n_jobs: int, vendor: str = "v") -> RunRow:
    return RunRow(run_id, judge, vendor, "http", f"http/-/{judge}", n_jobs, "concluded")


def outcomes(
    run_id: int, verdicts: str, *, samples: int = 1, strata: Sequence[str] = ("",), kind: str = "empty"
) -> list[OutcomeRow]:
    """One outcome a letter (p, f or e), the samples of a case side by side; latencies are 100, 200, …"""
    return [
        OutcomeRow(
            run_id,
            case_id=f"c{at // samples}",
            sample=at % samples + 1,
            ordinal=at // samples,
            stratum=strata[at // samples % len(strata)],
            verdict=VERDICTS[letter],  # type: ignore[arg-type]
            error_kind=kind if letter == "e" else None,
            latency_ms=None if letter == "e" else 100 * (at + 1),
        )
        for at, letter in enumerate(verdicts)
    ]


def summary(verdicts: dict[str, str], *, samples: int = 1, **more: object) -> BakeOffResult:
    """The result of judges by name with their verdicts."""
    runs = [run(at, judge, len(letters)) for at, (judge, letters) in enumerate(verdicts.items(), start=1)]
    rows = [row for r in runs for row in outcomes(r.id, verdicts[r.judge], samples=samples)]
    return summarise(bakeoff(samples=samples), runs, Evidence(tuple(rows), **more))  # type: ignore[arg-type]


def one(verdicts: str, **options: object) -> RunResult:
    rows = outcomes(1, verdicts, **options)  # type: ignore[arg-type]
    return summarise_run(bakeoff(), run(1, "a", len(verdicts)), rows, Evidence(tuple(rows)))


def test_a_rate_is_the_passes_of_what_was_graded_with_its_wilson_interval() -> None:
    result = one("pppf")
    assert (result.n_cases, result.n_pass, result.n_fail, result.n_error) == (4, 3, 1, 0)
    assert result.accuracy == 0.75
    assert (result.ci_low, result.ci_high) == pytest.approx(wilson(3, 4), abs=5e-5)
    assert result.ci_method == "wilson"


def test_an_error_is_counted_apart_and_never_as_a_fail() -> None:
    result = one("ppfee", kind="truncated")
    assert (result.n_pass, result.n_fail, result.n_error) == (2, 1, 2)
    assert result.accuracy == pytest.approx(2 / 3, abs=5e-5)
    assert result.errors == {"truncated": 2}
    assert result.excluded is None


def test_a_judge_none_of_whose_answers_could_be_graded_is_excluded_not_ranked_last() -> None:
    result = one("eeee")
    assert result.excluded == "4/4 empty outputs"
    assert (result.accuracy, result.ci_low, result.ci_high) == (None, None, None)


def test_an_exclusion_names_the_commonest_reason() -> None:
    rows = outcomes(1, "ee", kind="refused") + outcomes(1, "e", kind="call_fatal")
    result = summarise_run(bakeoff(), run(1, "a", 3), rows, Evidence(tuple(rows)))
    assert result.excluded == "2/3 refused outputs"


def test_a_judge_that_was_stopped_is_left_out_with_the_reason() -> None:
    stopped = replace(run(1, "a", 4), pause_reason="401, set XAI_API_KEY")
    rows = outcomes(1, "pf")
    result = summarise_run(bakeoff(), stopped, rows, Evidence(tuple(rows)))
    assert result.excluded == "paused: 401, set XAI_API_KEY"


def test_a_judge_that_has_not_begun_is_not_broken() -> None:
    result = summarise_run(bakeoff(), run(1, "a", 4), [], Evidence(()))
    assert (result.excluded, result.accuracy, result.n_cases) == (None, None, 4)
    assert (result.p50_latency_ms, result.p95_latency_ms) == (None, None)


def test_latencies_are_those_of_the_answers() -> None:
    result = one("ppppe")
    assert (result.p50_latency_ms, result.p95_latency_ms) == (200, 400)


def test_the_best_judge_comes_first_and_the_excluded_last() -> None:
    result = summary({"bad": "pfff", "broken": "eeee", "good": "pppf", "middle": "ppff"})
    assert [r.judge for r in result.runs] == ["good", "middle", "bad", "broken"]


def test_of_equals_the_cheaper_comes_first_then_the_name() -> None:
    calls = {(1, "answer"): CallTotals(Decimal(2)), (2, "answer"): CallTotals(Decimal(1))}
    dear_first = {"dear": "pf", "cheap": "pf"}
    assert [r.judge for r in summary(dear_first, calls=calls).runs] == ["cheap", "dear"]
    assert [r.judge for r in summary({"z": "pf", "y": "pf"}).runs] == ["y", "z"]


def test_an_excluded_judge_is_in_no_comparison_and_no_agreement() -> None:
    result = summary({"a": "pppf", "broken": "eeee", "b": "ppff"})
    assert [(pair.a, pair.b) for pair in result.comparisons] == [("a", "b")]
    assert [(pair.a, pair.b) for pair in result.kappa] == [("a", "b")]


def test_judges_are_compared_on_the_cases_both_have_a_verdict_for() -> None:
    result = summary({"a": "pppe", "b": "ffef"})
    [pair] = result.comparisons
    assert (pair.n, pair.diff) == (2, 1.0)


def test_samples_that_only_repeat_each_other_count_as_one_case() -> None:
    result = summary({"a": "ppp" + "ppp" + "fff" + "fff"}, samples=3).runs[0]
    assert result.ci_method == "wilson_clustered"
    assert (result.ci_low, result.ci_high) == pytest.approx(wilson(2, 4), abs=5e-5)
    assert (result.n_cases, result.n_pass) == (4, 6)


def test_samples_of_a_case_that_differ_are_worth_more_than_one_and_less_than_all() -> None:
    result = summary({"a": "pfp" * 20 + "ffp" * 20}, samples=3).runs[0]
    by_case, by_sample = wilson(20, 40), wilson(60, 120)
    assert by_case[0] < (result.ci_low or 0) <= by_sample[0]
    assert by_sample[1] <= (result.ci_high or 1) < by_case[1]


def test_nothing_to_resample_leaves_no_interval() -> None:
    result = summary({"a": "ee"}, samples=2).runs[0]
    assert (result.ci_low, result.ci_high, result.n_cases) == (None, None, 1)


def test_the_majority_of_its_samples_is_a_cases_vote_in_agreement() -> None:
    # By majority: a passes cases 0 and 3 (of its one verdict), b passes 1 and 2; a tie is no pass.
    result = summary({"a": "ppf" + "pff" + "fff" + "pee", "b": "fff" + "ppp" + "ppf" + "pfe"}, samples=3)
    [pair] = result.kappa
    assert (pair.n, pair.kappa) == (4, -1.0)


def test_several_samples_are_compared_by_the_means_of_their_cases() -> None:
    result = summary({"a": "ppf" + "pff" + "fff" + "pee", "b": "fff" + "ppp" + "ppf" + "pfe"}, samples=3)
    [pair] = result.comparisons
    assert (pair.a, pair.b, pair.n, pair.method) == ("b", "a", 4, "case_means_tango_t")
    assert pair.diff == pytest.approx((-2 / 3 + 2 / 3 + 2 / 3 - 1 / 2) / 4, abs=5e-5)
    assert (pair.a_only, pair.b_only) == (2, 2)


def test_several_samples_have_pass_at_k_and_both_forms_of_pass_hat_k() -> None:
    result = summary({"a": "ppp" + "pff" + "eee"}, samples=3).runs[0]
    one, two, three = result.pass_k
    assert (one.k, one.pass_at_k, one.n_cases, one.skipped) == (1, pytest.approx(2 / 3, abs=5e-5), 2, 1)
    assert two.pass_hat_k_unbiased == 0.5
    assert (three.pass_at_k, three.pass_hat_k) == (1.0, pytest.approx((1 + 1 / 27) / 2, abs=5e-5))
    assert summary({"a": "ppf"}).runs[0].pass_k == ()


def test_a_case_whose_samples_all_errored_has_no_verdict() -> None:
    result = summary({"a": "pp" + "ee", "b": "ff" + "pp"}, samples=2)
    assert [pair.n for pair in result.comparisons] == [1]


def test_strata_have_rates_of_their_own_in_order_of_name() -> None:
    result = one("ppfe", strata=("subtle_VN", "explicit_EN"))
    assert list(result.per_stratum) == ["explicit_EN", "subtle_VN"]
    low, high = wilson(1, 2)
    assert result.per_stratum["subtle_VN"] == Rate(2, 0.5, round(low, 4), round(high, 4))
    assert result.per_stratum["explicit_EN"].n == 1


def test_a_stratum_with_nothing_but_errors_is_shown_without_a_rate() -> None:
    assert one("pe", strata=("a", "b")).per_stratum["b"] == Rate(0, None, None, None)


def test_cases_without_a_stratum_make_none() -> None:
    assert one("pf").per_stratum == {}


def test_costs_are_kept_apart_by_purpose_and_retries_are_the_judges_own() -> None:
    calls = {
        (1, "answer"): CallTotals(Decimal("0.3"), sent=5, settled=4, unknown=1, retries=2),
        (1, "grade"): CallTotals(Decimal("0.1"), sent=3, settled=3, retries=1),
    }
    result = summary({"a": "pf"}, calls=calls, savings=Savings(31, Decimal("0.41")))
    [judge] = result.runs
    assert (judge.judging_cost_usd, judge.grading_cost_usd) == (Decimal("0.3"), Decimal("0.1"))
    assert (judge.total_cost_usd, judge.retries) == (Decimal("0.4"), 2)
    assert result.calls == Calls(sent=8, settled=7, unknown=1, cached_verdicts=31)
    assert result.saved_usd == Decimal("0.41")


def test_a_graders_scores_have_a_mean_with_an_interval() -> None:
    hits, ranks = (1.0, 0.0, 1.0, 1.0), (1.0, 0.5, 0.0, 0.25)
    scores = {(1, "hit_at_3"): hits, (1, "mrr"): ranks, (2, "mrr"): (0.0,), (1, "strict_substring"): hits}
    metrics = summary({"a": "ppff"}, scores=scores).runs[0].metrics
    assert set(metrics) == {"hit_at_3", "mrr"}
    assert metrics["hit_at_3"] == Rate(4, 0.75, *(round(end, 4) for end in wilson(3, 4)))
    ends = [round(end, 4) for end in mean_ci(ranks, seed=7)]
    assert metrics["mrr"] == Rate(4, 0.4375, *ends, "bootstrap")


def test_the_samples_of_a_case_are_one_in_its_graders_scores() -> None:
    scores = {(1, "hit_at_3"): (1.0, 1.0, 0.0, 0.0)}
    metric = summary({"a": "ppff"}, samples=2, scores=scores).runs[0].metrics["hit_at_3"]
    assert metric == Rate(2, 0.5, *(round(end, 4) for end in wilson(1, 2)), "wilson_by_case")


def test_another_interval_may_be_asked_for() -> None:
    rows = outcomes(1, "ppppppppf")
    result = summarise(bakeoff(), [run(1, "a", 9)], Evidence(tuple(rows)), ci="clopper_pearson").runs[0]
    assert result.ci_method == "clopper_pearson"
    assert (result.ci_low, result.ci_high) == pytest.approx(clopper_pearson(8, 9), abs=5e-5)


def test_macro_is_the_mean_over_strata_and_none_without_any() -> None:
    result = one("ppppfp", strata=("a", "a", "b"))
    assert result.macro is not None
    assert (result.macro.n, result.macro.accuracy) == (6, pytest.approx((3 / 4 + 1) / 2, abs=5e-5))
    assert one("pf").macro is None


def test_a_judge_gains_no_place_by_failing_to_answer_the_hard_cases() -> None:
    result = summary({"shy": "pppppeeeee", "bold": "pppppppppf"})
    assert [(r.judge, r.accuracy) for r in result.runs] == [("shy", 1.0), ("bold", 0.9)]
    result = summary({"shy": "ppppfeeeee", "bold": "pppppffffp"})
    assert [(r.judge, r.accuracy) for r in result.runs] == [("bold", 0.6), ("shy", 0.8)]


def test_the_result_says_what_was_asked_and_how_far_it_is() -> None:
    runs = [run(1, "a", 4), run(2, "b", 4)]
    rows = outcomes(1, "ppf")
    row = bakeoff(state="running", grader_model="g", scorer_mode="llm_judge")
    result = summarise(row, runs, Evidence(tuple(rows)))
    assert (result.id, result.task, result.eval_set, result.seed) == (142, "audit", "dev", 7)
    assert (result.scorer, result.grader, result.samples) == ("llm_judge", "g", 1)
    assert (result.state, result.n_jobs, result.n_done) == ("running", 8, 3)
    assert (result.spent_usd, result.cap_usd) == (Decimal("0.5"), Decimal(5))
    assert result.is_partial


def test_no_runs_come_to_nothing() -> None:
    result = summarise(bakeoff(), [], Evidence(()))
    assert (result.runs, result.comparisons, result.kappa, result.calls) == ((), (), (), Calls())
