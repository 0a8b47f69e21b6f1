"""Charts as SVG text: the same for the report, the pages and the documentation."""

from evalq.reports.charts.bars import AgreementRow, BarRow, agreement_chart, interval_bars
from evalq.reports.charts.chart_style import CHART_CSS, standalone
from evalq.reports.charts.cost_quality import frontier_chart
from evalq.reports.charts.heatmaps import kappa_heatmap, strata_heatmap
from evalq.reports.charts.latencies import LatencyRow, latency_chart
from evalq.reports.charts.timeline import DriftPoint, drift_chart

__all__ = [
    "CHART_CSS",
    "AgreementRow",
    "BarRow",
    "DriftPoint",
    "LatencyRow",
    "agreement_chart",
    "drift_chart",
    "frontier_chart",
    "interval_bars",
    "kappa_heatmap",
    "latency_chart",
    "standalone",
    "strata_heatmap",
]
