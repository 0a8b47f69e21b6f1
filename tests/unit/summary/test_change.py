"""What changed between two runs: flips, the difference, dollars and waits, and a verdict with exit code."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from evalq.records import OutcomeRow
from evalq.results import RunResult
from evalq.stats.comparison import PairCounts, cases_needed, mcnemar_exact, tango
from evalq.summary.change import Change, Side, compare, judge_change
from evalq.summary.comparisons import of_counts

VERDICTS = {"p": "passed", "f": "failed", "e": "errored"}
RUN = RunResult(1, "a", "v", 4, 2, 2, 0, 0.5, 0.1, 0.9, "wilson", 100, 200, *[Decimal(0)] * 3, 0)


def side(verdicts: str, *, samples: int = 1, ms: int = 100, usd: str = "0.4", **cases: str) -> Side:
    """One verdict a letter, the samples of a case side by side; `cases` are contents other than their ids."""
    outcomes = [
        OutcomeRow(1, f"c{at // samples}", at % samples, at, "", VERDICTS[letter], None, ms + at)  # type: ignore[arg-type]
        for at, letter in enumerate(verdicts)
    ]
    n_error = verdicts.count("e")
    result = replace(
        RUN,
        n_pass=verdicts.count("p"),
        n_fail=verdicts.count("f"),
        n_error=n_error,
        total_cost_usd=Decimal(usd),
    )
    contents = {f"c{at}": f"c{at}" for at in range(len(verdicts) // samples)} | cases
    return Side(7, "dev", samples, result, outcomes, contents)


def changed(a: Side, b: Side, margin: float = 0.05) -> Change:
    change = compare(a, b, margin=margin)
    assert change
    return change


def test_the_difference_is_the_second_minus_the_first_with_flips_by_case() -> None:
    change = changed(side("pppf"), side("pffp"))
    assert (change.found.n, change.found.diff, change.found.p) == (4, -0.25, mcnemar_exact(2, 1))
    assert (change.found.low, change.found.high) == pytest.approx(tango(1, 2, 4)[1:])
    assert (change.a_only, change.b_only) == (("c1", "c2"), ("c3",))


def test_several_samples_are_compared_by_case_means() -> None:
    change = changed(side("ppff", samples=2), side("pf"))
    assert (change.found.n, change.found.method, change.found.diff) == (2, "case_means_tango_t", 0.0)


def test_only_cases_of_the_same_content_are_compared_and_the_others_are_named() -> None:
    change = changed(side("ppp", c8="x", c1="old"), side("pfe", c9="y", c1="new"))
    assert change.found.n == 1
    assert (change.only_in_a, change.only_in_b, change.changed) == (("c8",), ("c9",), ("c1",))
    assert change.not_graded == ("c2",)


def test_runs_without_a_shared_verdict_cannot_be_compared() -> None:
    assert compare(side("pe"), side("ep"), margin=0.05) is None


@pytest.mark.parametrize(
    ("counts", "margin", "verdict", "code"),
    [
        ((93, 50, 1, 20), 0.05, "regression", 1),
        ((93, 50, 20, 1), 0.05, "improvement", 0),
        ((400, 300, 3, 3), 0.05, "no_regression", 0),
        ((93, 50, 10, 10), 0.05, "inconclusive", 3),
        ((93, 50, 10, 10), 0.5, "no_regression", 0),
        ((9000, 8000, 10, 60), 0.05, "regression", 1),
    ],
)
def test_the_verdict_follows_from_test_and_margin(
    counts: tuple[int, int, int, int], margin: float, verdict: str, code: int
) -> None:
    found = of_counts(PairCounts(*counts))
    assert judge_change(found, margin) == verdict
    change = replace(changed(side("pf"), side("fp")), verdict=judge_change(found, margin))
    assert change.exit_code == code


def test_an_inconclusive_change_says_how_many_cases_would_show_a_drop_of_the_margin() -> None:
    change = changed(side("pppf"), side("pffp"))
    assert (change.verdict, change.cases_needed) == ("inconclusive", cases_needed(0.05, 0.75 - 0.0625))
    assert changed(side("pf"), side("pf")).cases_needed == cases_needed(0.05, 0.05 - 0.0025)
    assert changed(side("pf"), side("fp"), margin=0).cases_needed is None
    assert changed(side("p" * 20), side("f" * 20)).cases_needed is None


def test_dollars_are_those_of_a_case_with_all_its_samples() -> None:
    change = changed(side("ppff", samples=2, usd="0.4"), side("pfe", usd="0.3"))
    assert (change.a.usd_per_case, change.b.usd_per_case) == (Decimal("0.2"), Decimal("0.1"))
    assert change.to_dict()["usd_per_case_change"] == "-0.10000000"


def test_latency_is_compared_case_by_case_with_an_interval() -> None:
    change = changed(side("pppp", ms=100), side("pppp", ms=150))
    found = change.latency
    assert (found.n, found.mean_ms, found.ci_low, found.ci_high) == (4, 50.0, 50.0, 50.0)


def test_runs_without_latencies_or_dollars_have_no_change_of_them() -> None:
    quiet = side("pf")
    quiet = replace(quiet, outcomes=[replace(row, latency_ms=None) for row in quiet.outcomes])
    unbegun = replace(quiet, result=replace(RUN, n_pass=0, n_fail=0))
    change = changed(quiet, unbegun)
    assert (change.latency.n, change.latency.mean_ms) == (0, None)
    document = change.to_dict()
    assert (document["usd_per_case_change"], document["b"]["usd_per_case"]) == (None, None)


def test_the_document_is_json_and_names_its_schema() -> None:
    change = compare(side("ppf"), side("pff"), margin=0.05, warnings=["mind"])
    assert change
    document = change.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["schema"], document["verdict"], document["exit_code"]) == (
        "evalq.compare/1",
        "inconclusive",
        3,
    )
    assert (document["n"], document["a_only"], document["warnings"]) == (3, ["c1"], ["mind"])
    assert document["a"]["bakeoff_id"] == 7
