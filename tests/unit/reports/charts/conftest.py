"""Every chart drawn with a name of the test's choosing."""

from decimal import Decimal

import pytest

from evalq.reports.charts import (
    AgreementRow,
    BarRow,
    DriftPoint,
    LatencyRow,
    agreement_chart,
    drift_chart,
    frontier_chart,
    interval_bars,
    kappa_heatmap,
    latency_chart,
    strata_heatmap,
)
from evalq.results import Agreement, Offer, Rate, RunResult


def offer(judge: str, usd: str = "0.002", rate: float = 0.8, *, on_frontier: bool = True) -> Offer:
    """A judge's place between dollars and quality."""
    beaten_by = None if on_frontier else "another"
    ends = (max(rate - 0.1, 0.0), min(rate + 0.1, 1.0))
    return Offer(judge, 93, 93, rate, *ends, "wilson", Decimal(usd), Decimal(1), on_frontier, beaten_by, ())


def stratified_run(judge: str, strata: dict[str, int]) -> RunResult:
    """A run with so many cases in each stratum, four fifths of them passed."""
    rates = {name: Rate(n, 0.8, 0.5, 0.95) for name, n in strata.items()}
    money = (Decimal(1), Decimal(1), Decimal(0))
    return RunResult(
        1, judge, "v", 93, 70, 20, 3, 0.8, 0.7, 0.9, "wilson", 800, 1500, *money, 0, per_stratum=rates
    )


def draw_all(name: str) -> dict[str, str]:
    """Every kind of chart about one name."""
    return {
        "bars": interval_bars([BarRow(name, 0.8, 0.7, 0.9, 93), BarRow("x", None, None, None, 0, name)]),
        "kappa": kappa_heatmap([Agreement(name, "other", 93, 0.5, 0.6, False, name)]),
        "strata": strata_heatmap([stratified_run(name, {name: 5, "EN": 40})]),
        "frontier": frontier_chart([offer(name), offer("other", on_frontier=False)], {name: 900}),
        "latency": latency_chart([LatencyRow(name, 800, 1500), LatencyRow("silent", None, None)]),
        "drift": drift_chart([DriftPoint(name, 0.8, 0.7, 0.9, 30)], baseline=0.8),
        "agreement": agreement_chart([AgreementRow(name, 0.7, 0.5, 0.9, 60)]),
    }


@pytest.fixture
def charts() -> dict[str, str]:
    """Every kind of chart, about an ordinary judge."""
    return draw_all("grok-4.3@short")
