"""Gathers what a report on a drift check shows: the verdicts, every judge's past, then the bake-off."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalq.bakeoff.bakeoff_report import gather_report
from evalq.drift.messages import CheckSubject, check_line
from evalq.reports.charts import DriftPoint, drift_chart
from evalq.reports.charts.timeline import DriftMark
from evalq.reports.report_parts import Report, ReportSection, text_table
from evalq.reports.text import percent, span
from evalq.stats.score_interval import wilson
from evalq.store import drift_checks
from evalq.store.database import Database
from evalq.store.drift_checks import CheckRow, SeriesPoint

MOST_POINTS = 26
"""Half a year of weekly checks."""

_WORST_FIRST = ("alert", "watch", "inconclusive", "ok", None)
_MARKS: Mapping[str, DriftMark] = {"ok": "ok", "watch": "watch", "alert": "alert"}
_ANSWERS = {
    "alert": "{judges} got worse: confirm, then act.",
    "watch": "{judges} may have got worse, which is not confirmed.",
    "inconclusive": "Not decidable for {judges}: see why below.",
    "ok": "No drift: {judges} answered as before.",
    None: "The check of {judges} is still under way.",
}


def gather_drift_report(db: Database, bakeoff_id: int, *, monthly_cases: int | None = None) -> Report:
    """The report on a bake-off, led by its drift checks if it has any."""
    report = gather_report(db, bakeoff_id, monthly_cases=monthly_cases)
    checks = drift_checks.checks_of(db, bakeoff_id)
    if not checks:
        return report
    series = {check.judge: drift_checks.series(db, check.run_id, limit=MOST_POINTS) for check in checks}
    section = _build_section(checks, series)
    verdicts = [{"judge": one.judge, "verdict": one.verdict, "numbers": one.numbers} for one in checks]
    return replace(
        report,
        kind="drift",
        answer=_answer(checks),
        sections=(section, *report.sections),
        next=(f"evalq drift status --task {checks[0].task_name}", *report.next),
        document={**report.document, "drift": verdicts},
    )


def make_points(series: Sequence[SeriesPoint]) -> list[DriftPoint]:
    """The checks of a judge, oldest first, as a chart takes them."""
    points = []
    for before, point in zip((None, *series), series, strict=False):
        n = (point.n_pass or 0) + (point.n_fail or 0)
        low, high = wilson(point.n_pass or 0, n) if n else (None, None)
        models = point.numbers.get("provider", {}).get("models", {})
        points.append(
            DriftPoint(
                f"{point.created_at:%Y-%m-%d}",
                (point.n_pass or 0) / n if n else None,
                low,
                high,
                n,
                _MARKS.get(point.verdict or "", "inconclusive"),
                is_model_changed=bool(set(models.get("to", ())) - set(models.get("from", ()))),
                is_prompt_changed=before is not None and before.task_sha != point.task_sha,
            )
        )
    return points


def _answer(checks: Sequence[CheckRow]) -> str:
    worst = min((check.verdict for check in checks), key=_WORST_FIRST.index)
    judges = [check.judge for check in checks if check.verdict == worst]
    return _ANSWERS[worst].format(judges=", ".join(judges))


def _build_section(checks: Sequence[CheckRow], series: dict[str, list[SeriesPoint]]) -> ReportSection:
    lines, tables, charts = [], [], []
    for check in checks:
        subject = CheckSubject(
            check.task_name, check.eval_set_name, check.judge, rule=check.rule, run_id=check.run_id
        )
        lines.append(check_line(subject, check.verdict, check.numbers))
        points = make_points(series[check.judge])
        title = f"Pass rate of {check.judge} over time"
        charts.append(drift_chart(points, baseline=check.numbers.get("rate_from"), title=title))
        rows = []
        for run, point in zip(reversed(series[check.judge]), reversed(points), strict=True):
            ends = span(point.ci_low, point.ci_high, point.n)
            rows.append((point.label, str(run.run_id), percent(point.rate, point.n), ends, point.verdict))
        tables.append(text_table(("day", "run", "pass", "95% CI", "verdict"), rows, title=check.judge))
    return ReportSection("drift", "Drift", tuple(lines), tuple(tables), tuple(charts))
