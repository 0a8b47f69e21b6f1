"""The order of judges: by how they do against each other on the same cases."""

from dataclasses import replace
from decimal import Decimal

from evalq.results import RunResult
from evalq.summary.comparisons import differences, ranked

RUN = RunResult(1, "a", "v", 4, 2, 2, 0, 0.5, 0.1, 0.9, "wilson", 1, 2, *[Decimal(0)] * 3, 0)


def run(judge: str, accuracy: float | None, cost: int = 0, excluded: str | None = None) -> RunResult:
    return replace(RUN, judge=judge, accuracy=accuracy, total_cost_usd=Decimal(cost), excluded=excluded)


def order(runs: list[RunResult], **shares: list[float | None]) -> list[str]:
    return [result.judge for result in ranked(runs, differences(shares))]


def test_the_better_on_shared_cases_comes_first_though_its_rate_is_lower() -> None:
    runs = [run("shy", 0.75), run("bold", 0.6)]
    assert order(runs, shy=[1, 1, 1, 0, None], bold=[1, 1, 1, 1, 0]) == ["bold", "shy"]


def test_without_a_shared_case_the_rates_decide() -> None:
    assert order([run("low", 0.2), run("high", 0.9)], low=[1, None], high=[None, 1]) == ["high", "low"]


def test_equals_go_by_rate_then_by_price_then_by_name() -> None:
    same: list[float | None] = [1, 0]
    assert order([run("dear", 0.5, 2), run("cheap", 0.5, 1)], dear=same, cheap=same) == ["cheap", "dear"]
    assert order([run("z", 0.5), run("y", 0.5)], z=same, y=same) == ["y", "z"]
    assert order([run("low", 0.4), run("high", 0.5)], low=same, high=same) == ["high", "low"]


def test_judges_without_a_rate_come_after_and_the_excluded_last() -> None:
    runs = [run("broken", None, excluded="4/4 empty"), run("unbegun", None), run("bad", 0.0)]
    assert order(runs, bad=[0, 0]) == ["bad", "unbegun", "broken"]
