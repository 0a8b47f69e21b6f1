"""The one sentence: what to ship, what is tied, what is missing to decide."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.results import BakeOffResult, Calls, Comparison, Rate, RunResult
from evalq.summary.decision import decide


def run(judge: str, n_pass: int, cost: str = "0.1953", n: int = 93, **more: Any) -> RunResult:
    facts: dict[str, Any] = {
        **{"vendor": "v", "n_cases": n, "n_error": 0, "accuracy": n_pass / n, "ci_low": 0.5, "ci_high": 0.9},
        **{"ci_method": "wilson", "p50_latency_ms": 1, "p95_latency_ms": 2, "retries": 0},
        **{"judging_cost_usd": Decimal(cost), "grading_cost_usd": Decimal(0)},
        **more,
    }
    return RunResult(1, judge, n_pass=n_pass, n_fail=n - n_pass, total_cost_usd=Decimal(cost), **facts)


def broken(judge: str, **more: Any) -> RunResult:
    facts = {"accuracy": None, "n_error": 93, "excluded": "93/93 empty outputs", **more}
    return replace(run(judge, 0, "0"), n_fail=0, **facts)


def pair(a: str, b: str, diff: float, *, half: float = 0.1, needed: int | None = None) -> Comparison:
    is_separable = abs(diff) > half
    low, high = diff - half, diff + half
    return Comparison(a, b, 93, diff, low, high, 0.01, 0.03, is_separable, cases_needed=needed)


def bakeoff(*runs: RunResult, pairs: tuple[Comparison, ...] = (), **more: Any) -> BakeOffResult:
    facts: dict[str, Any] = {
        **{"task": "t", "eval_set": "dev-93", "scorer": "s", "grader": None, "seed": 0, "samples": 1},
        **{"state": "concluded", "spent_usd": Decimal(1), "cap_usd": Decimal(5), "saved_usd": Decimal(0)},
        **{"calls": Calls(), "kappa": (), "warnings": (), "next": (), "n_jobs": 186, "n_done": 186},
        **more,
    }
    return BakeOffResult(7, runs=runs, comparisons=pairs, **facts)


def test_the_judge_that_beats_every_other_is_shipped() -> None:
    pairs = (pair("grok", "opus", 0.161, half=0.105), pair("opus", "haiku", 0.3), pair("grok", "haiku", 0.4))
    found = decide(bakeoff(run("grok", 77), run("opus", 62, "0.8"), run("haiku", 40), pairs=pairs))

    assert (found.kind, found.judge) == ("ship", "grok")
    assert found.sentence == "Ship grok: it beats opus by 16 pp (95 % CI 6 to 27, n=93) at $0.0021 a case."


def test_a_dearer_winner_is_shipped_with_the_price_of_the_second() -> None:
    found = decide(bakeoff(run("opus", 77, "0.83"), run("grok", 62), pairs=(pair("grok", "opus", -0.2),)))

    assert found.sentence.endswith("by 20 pp (95 % CI 10 to 30, n=93) at $0.0089 a case, against $0.0021.")


def test_a_difference_that_is_not_proven_names_the_cases_to_collect_and_the_cheaper_judge() -> None:
    pairs = (pair("opus", "grok", 0.02, needed=861),)
    found = decide(bakeoff(run("opus", 77, "0.60"), run("grok", 75), pairs=pairs))

    assert (found.kind, found.judge) == ("not_decidable", "grok")
    assert found.sentence == (
        "Not decidable: cannot separate opus from grok at n=93; "
        "collect about 861 cases, or take grok, which costs a third."
    )


def test_a_much_worse_judge_is_not_recommended_for_its_price() -> None:
    pairs = (pair("opus", "nano", 0.3, half=0.4, needed=40),)
    found = decide(bakeoff(run("opus", 5, "0.6", n=8), run("nano", 3, "0.01", n=8), pairs=pairs))

    assert found.judge == "opus"
    assert found.sentence.endswith("collect about 40 cases, or take opus.")


@pytest.mark.parametrize(("diff", "half"), [(0.0, 0.1), (0.01, 0.03)])
def test_judges_shown_to_be_equal_are_called_a_tie(diff: float, half: float) -> None:
    pairs = (replace(pair("opus", "grok", diff, half=half), separable=False),)
    found = decide(bakeoff(run("opus", 77, "0.39"), run("grok", 77), pairs=pairs))

    assert (found.kind, found.judge) == ("tie", "grok")
    assert found.sentence.startswith("Tie: opus and grok are equally good")
    assert found.sentence.endswith("; take grok, which costs half.")


def test_a_hopeless_number_of_cases_is_not_recommended() -> None:
    pairs = (pair("opus", "grok", 0.001, needed=250_000),)
    found = decide(bakeoff(run("opus", 77), run("grok", 77), pairs=pairs))

    assert found.sentence.endswith("at n=93; it would take about 250,000 cases, so take opus.")


def test_many_tied_judges_are_not_all_named() -> None:
    names = [f"j{number}" for number in range(6)]
    pairs = tuple(pair("j0", name, 0.02) for name in names[1:])
    found = decide(bakeoff(*(run(name, 70) for name in names), pairs=pairs))

    assert "cannot separate j0 from j1, j2, j3 and 2 more at n=93; more cases are needed" in found.sentence


def test_judges_without_a_shared_case_cannot_be_decided() -> None:
    found = decide(bakeoff(run("a", 70), run("b", 60)))

    assert found.kind == "not_decidable"
    assert "share no graded case" in found.sentence


def test_broken_judges_do_not_count_and_are_named_in_the_caveats() -> None:
    found = decide(bakeoff(run("grok", 77), broken("gemini")))

    assert found.kind == "not_decidable"
    assert "every other judge is broken; see why with `evalq inspect 7 --show-failures`" in found.sentence
    assert "1 judge excluded as broken: gemini (93/93 empty outputs)" in found.caveats


def test_a_bakeoff_without_any_verdict_says_where_to_look() -> None:
    found = decide(bakeoff(broken("a"), broken("b")))

    assert (found.kind, found.judge) == ("not_decidable", None)
    assert "no judge gave an answer that could be graded" in found.sentence


def test_answers_that_wait_for_people_are_sent_to_review() -> None:
    found = decide(bakeoff(broken("a", excluded=None, n_error=0, n_pending=93)))

    assert "`evalq review next 7`" in found.sentence


def test_a_lone_judge_is_given_its_rate_and_no_decision() -> None:
    found = decide(bakeoff(run("grok", 77)))

    assert "grok passes 82.8 % (95 % CI 50 to 90, n=93), but there is no second judge" in found.sentence


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            "running",
            "Interim: 90 of 186 jobs done; grok is ahead so far; decide when it has ended (`evalq x`).",
        ),
        ("capped", "Interim: stopped at the cost cap with 90 of 186 jobs done"),
        ("cancelled", "Interim: cancelled with 90 of 186 jobs done"),
    ],
)
def test_numbers_that_are_not_final_decide_nothing(state: Any, said: str) -> None:
    pairs = (pair("grok", "opus", 0.3),)
    found = decide(
        bakeoff(run("grok", 77), run("opus", 30), pairs=pairs, state=state, n_done=90, next=("evalq x",))
    )

    assert (found.kind, found.judge) == ("interim", None)
    assert found.sentence.startswith(said)
    assert found.caveats[0] == "interim: 90 of 186 jobs done"


def test_the_caveats_say_what_weakens_the_sentence() -> None:
    strata = {"a": Rate(20, 0.5, 0.2, 0.8), "b": Rate(4, 0.5, 0.1, 0.9)}
    leader = run("grok", 9, n=24, n_error=2, n_pending=1, per_stratum=strata)
    found = decide(
        bakeoff(leader, warnings=("simulated judges: the dollars are simulated too, nothing was billed",))
    )

    assert found.caveats == (
        "simulated judges: this says nothing about real models",
        "even grok passes only 38% of its cases",
        "2 of 27 answers of grok were not graded",
        "1 of 27 answers of grok wait for review",
        "few cases: n=24",
        "fewer than 10 cases in 1 of 2 strata: too few to read them apart",
        "dev-93 is not the holdout: confirm there before a final decision",
    )


def test_a_look_at_the_holdout_has_no_caveat_about_it() -> None:
    assert decide(bakeoff(run("grok", 77), holdout_look=1)).caveats == ()


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("0.01", "which costs under a tenth"),
        ("0.10", "which costs a tenth"),
        ("0.20", "which costs a fifth"),
        ("0.25", "which costs a quarter"),
        ("0.55", "which costs half"),
        ("0.80", "which costs 80 % as much"),
        ("0.95", "take cheap."),
    ],
)
def test_the_price_of_the_cheaper_judge_is_put_in_words(cost: str, words: str) -> None:
    pairs = (pair("dear", "cheap", 0.02, needed=500),)
    found = decide(bakeoff(run("dear", 77, "1.0"), run("cheap", 75, cost), pairs=pairs))

    assert words in found.sentence


def test_the_decision_survives_the_document() -> None:
    result = bakeoff(run("grok", 77))
    decided = replace(result, decision=decide(result))

    document = decided.to_dict()

    assert document["decision"]["kind"] == "not_decidable"
    assert BakeOffResult.from_dict(document) == decided
    del document["decision"]
    assert BakeOffResult.from_dict(document).decision is None


def test_a_pair_without_shared_cases_does_not_separate() -> None:
    pairs = (replace(pair("a", "b", 0.3), n=0), pair("a", "c", 0.01, half=0.02))
    found = decide(bakeoff(run("a", 70), run("c", 69), run("b", 60), pairs=pairs))

    assert found.kind == "not_decidable"
    assert "cannot separate a from c and b at n=93" in found.sentence


def test_judges_that_cost_nothing_are_shipped_without_a_price() -> None:
    found = decide(bakeoff(run("a", 70, "0"), run("b", 20, "0"), pairs=(pair("a", "b", 0.5),)))

    assert found.sentence == "Ship a: it beats b by 50 pp (95 % CI 40 to 60, n=93)."
