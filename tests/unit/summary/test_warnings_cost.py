"""What a result says about dollars that nobody stated."""

from evalq.records import CallTotals, RunRow
from evalq.summary.warnings import cost_warnings

RUN = RunRow(id=1, judge="mine", vendor="v", provider="http", gate="g", n_jobs=9, state="done")


def test_calls_without_usage_and_calls_above_their_worst_case_are_counted() -> None:
    calls = {
        (1, "answer"): CallTotals(sent=9, assumed=2, above=1),
        (1, "grade"): CallTotals(sent=3, assumed=1),
        (2, "answer"): CallTotals(sent=5, assumed=5),
    }
    assert list(cost_warnings([RUN], calls)) == [
        "mine: 3 of 12 calls state no usage or cost; their worst case counts as their cost",
        "mine: 1 call cost more than the worst case; check the judge's price and limits",
    ]


def test_stated_costs_need_no_warning() -> None:
    assert list(cost_warnings([RUN], {(1, "answer"): CallTotals(sent=9)})) == []
