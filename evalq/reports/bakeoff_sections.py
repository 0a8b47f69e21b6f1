"""The sections of a report on a bake-off: leaderboard, frontier, cost, strata, agreement, latency."""

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal

from evalq.definitions.money import money
from evalq.reports.charts import (
    BarRow,
    LatencyRow,
    frontier_chart,
    interval_bars,
    kappa_heatmap,
    latency_chart,
    strata_heatmap,
)
from evalq.reports.final import measure_rows
from evalq.reports.frontier import describe_rival
from evalq.reports.notes import (
    cost_note,
    flag_text,
    grading_notes,
    interval_text,
    kappa_text,
    not_graded,
    tie_notes,
)
from evalq.reports.ranking import RankedRun, cost_per_answer, micro_rate, ranked_runs
from evalq.reports.report_parts import ReportSection, text_table
from evalq.reports.text import NOTHING, latency, percent, points, span
from evalq.results import BakeOffResult, Offer, Rate, RunResult

UNKNOWN = "?"
"""Dollars without a known price: not zero."""

_NAMED = {
    "tango_mcnemar": "paired on the same cases: Tango's interval, exact McNemar test, Holm's correction",
    "wilson": "Wilson",
    "clopper_pearson": "Clopper–Pearson",
    "beta": "Beta posterior (Jeffreys)",
    "bootstrap": "bootstrap",
}


def bakeoff_sections(
    result: BakeOffResult,
    offers: Sequence[Offer],
    *,
    unpriced: Collection[str] = (),
    monthly_cases: int | None = None,
) -> tuple[ReportSection, ...]:
    """The sections that the result has anything to show in; the dollars of unpriced judges are unknown."""
    sections = [_leaderboard(result, unpriced), _frontier(result, offers)]
    sections.append(_cost(result, unpriced, monthly_cases))
    if any(run.per_stratum and run.excluded is None for run in result.runs):
        sections.append(_strata(result))
    if result.kappa:
        sections.append(_agreement(result))
    sections.append(_latency(result))
    return tuple(sections)


def method_facts(result: BakeOffResult) -> Iterator[tuple[str, str]]:
    """How the numbers were made, as far as the result tells."""
    methods = dict.fromkeys(run.ci_method for run in result.runs)
    yield "intervals", "95 %, " + ", ".join(_name_method(method) for method in methods)
    pairs = dict.fromkeys(pair.method for pair in result.comparisons)
    if pairs:
        yield "comparisons", "; ".join(_name_method(method) for method in pairs)
    yield "agreement", "Cohen's κ with Gwet's AC1 beside it; undefined for a judge with one verdict only"
    yield "scoring", result.scorer + (f", graded by {result.grader}" if result.grader else "")
    yield "seed", str(result.seed)
    yield "samples per case", str(result.samples)
    yield "calls", f"{result.calls.sent} sent, {result.calls.settled} settled, {result.calls.unknown} unknown"
    yield "verdicts from the cache", str(result.calls.cached_verdicts)
    yield "price table of", result.prices_as_of or "unknown"
    if result.holdout_head:
        yield "holdout log head", result.holdout_head
    if result.holdout_look is not None:
        yield "look at the holdout", f"number {result.holdout_look}"


def usd_per_case(run: RunResult, samples: int) -> Decimal | None:
    """Dollars for all samples of a case, grading included; None before the first job has ended."""
    return run.total_cost_usd * samples / run.n_ended if run.n_ended else None


def _name_method(method: str) -> str:
    name = method.removesuffix("_by_case")
    return _NAMED.get(name, name.replace("_", " ")) + (", by case" if name != method else "")


def _leaderboard(result: BakeOffResult, unpriced: Collection[str]) -> ReportSection:
    ranked = ranked_runs(result)
    bars = [_bar(each.run) for each in ranked]
    columns = (
        "#",
        "judge",
        "pass",
        "95% CI",
        "Δ vs #1 (paired)",
        "p (Holm)",
        "$/answer",
        "p95",
        "errors",
        "n",
    )
    rows = [_ranked_row(each, is_priced=each.run.judge not in unpriced) for each in ranked]
    lines = [*(note.text for note in tie_notes(result)), *(note.text for note in grading_notes(result))]
    for run in result.runs:
        is_warned = any(warning.startswith(f"{run.judge}: ") for warning in result.warnings)
        if run.n_error and run.excluded is None and not is_warned:
            lines.append(f"{run.judge}: {not_graded(run)}")
    tables = [text_table(columns, rows, numbers=(0, 2, 5, 6, 7, 8, 9))]
    measures = measure_rows(result)
    if measures:
        heads = ("metric", "judge", "value", "95% CI", "n")
        tables.append(text_table(heads, measures, title="Further measures", numbers=(2, 4)))
    return ReportSection("leaderboard", "Leaderboard", tuple(lines), tuple(tables), (interval_bars(bars),))


def _bar(run: RunResult) -> BarRow:
    return BarRow(run.judge, run.accuracy, run.ci_low, run.ci_high, run.n_graded, run.excluded)


def _ranked_row(each: RankedRun, *, is_priced: bool) -> tuple[str, ...]:
    run, lead = each.run, each.lead
    difference, p = "—" if each.rank == 1 else NOTHING, NOTHING
    if run.excluded:
        difference = f"excluded: {run.excluded}"
    elif lead is not None and lead.n:
        ends = f"[{points(lead.low, lead.n)}, {points(lead.high, lead.n)}]"
        difference = f"{points(lead.diff, lead.n)} pp {ends}"
        if not lead.separable:
            difference += f" cannot separate at n={lead.n:,}"
        p = "<0.001" if lead.p_holm < 0.001 else f"{lead.p_holm:.3f}"
    rate = None if run.excluded else run.accuracy
    ends = NOTHING if run.excluded else span(run.ci_low, run.ci_high, run.n_graded)
    return (
        str(each.rank or NOTHING),
        run.judge,
        percent(rate, run.n_graded),
        ends,
        difference,
        p,
        cost_per_answer(run) if is_priced else UNKNOWN,
        latency(run.p95_latency_ms),
        str(run.n_error),
        f"{run.n_graded:,}",
    )


def _frontier(result: BakeOffResult, offers: Sequence[Offer]) -> ReportSection:
    p95_ms = {run.judge: run.p95_latency_ms for run in result.runs}
    columns = ("", "judge", "pass", "95% CI", "$/case", "p95", "")
    rows = []
    for offer in offers:
        rows.append(
            (
                "●" if offer.on_frontier else "◇",
                offer.judge,
                percent(offer.accuracy, offer.n),
                span(offer.ci_low, offer.ci_high, offer.n),
                money(offer.usd_per_case, places=4),
                latency(p95_ms.get(offer.judge)),
                describe_rival(offer),
            )
        )
    tables = (text_table(columns, rows, numbers=(2, 4, 5)),) if rows else ()
    title = "Cost, quality and latency"
    return ReportSection("frontier", title, (), tables, (frontier_chart(offers, p95_ms),))


def _cost(result: BakeOffResult, unpriced: Collection[str], monthly_cases: int | None) -> ReportSection:
    columns = ["judge", "$/case", "judging $", "grading $", "total $"]
    if monthly_cases:
        columns.append(f"$/month at {monthly_cases:,} cases")
    rows = []
    for run in result.runs:
        rows.append(
            _cost_row(run, result.samples, is_priced=run.judge not in unpriced, monthly=monthly_cases)
        )
    at_least = "at least " if unpriced else ""
    lines = [f"{at_least}${cost_note(result).text}"]
    if unpriced:
        lines.append(f"? no price is known for {', '.join(unpriced)}")
    if monthly_cases:
        lines.append("Per month: dollars per case, grading included, times the cases; prices as of this run.")
    table = text_table(columns, rows, numbers=range(1, len(columns)))
    return ReportSection("cost", "Cost", tuple(lines), (table,))


def _cost_row(run: RunResult, samples: int, *, is_priced: bool, monthly: int | None) -> list[str]:
    per_case = usd_per_case(run, samples)
    if per_case is None or not is_priced:
        mark = NOTHING if is_priced else UNKNOWN
        return [run.judge, *[mark] * (5 if monthly else 4)]
    amounts = (per_case, run.judging_cost_usd, run.grading_cost_usd, run.total_cost_usd)
    row = [run.judge, *(money(amount, places=4) for amount in amounts)]
    return [*row, f"{per_case * monthly:,.2f}"] if monthly else row


def _strata(result: BakeOffResult) -> ReportSection:
    runs = [run for run in result.runs if run.per_stratum and run.excluded is None]
    strata: dict[str, None] = {}
    for run in runs:
        strata |= dict.fromkeys(run.per_stratum)
    rows = []
    for stratum in strata:
        rows.append([stratum, *(_rate_text(run.per_stratum.get(stratum)) for run in runs)])
    rows.append(["all cases (micro)", *(_rate_text(micro_rate(run)) for run in runs)])
    rows.append(["mean of strata (macro)", *(_rate_text(run.macro) for run in runs)])
    table = text_table(["stratum", *(run.judge for run in runs)], rows, title="pass % [95% CI] n")
    return ReportSection("strata", "Strata", (), (table,), (strata_heatmap(runs),))


def _rate_text(rate: Rate | None) -> str:
    if rate is None or rate.accuracy is None:
        return "n/a"
    ends = span(rate.ci_low, rate.ci_high, rate.n)
    return f"{rate.accuracy * 100:.0f} [{ends}] {rate.n:,}" + ("!" if rate.few else "")


def _agreement(result: BakeOffResult) -> ReportSection:
    ordered = sorted(result.kappa, key=lambda pair: (pair.kappa is None, -(pair.kappa or 0.0)))
    rows = []
    for pair in ordered:
        rows.append(
            (
                f"{pair.a} ↔ {pair.b}",
                kappa_text(pair.kappa),
                interval_text(pair) or NOTHING,
                kappa_text(pair.ac1),
                f"{pair.n:,}",
                flag_text(pair.flag) if pair.flag else "",
            )
        )
    table = text_table(("pair", "κ", "95% CI", "AC1", "n", ""), rows, numbers=(1, 3, 4))
    return ReportSection("agreement", "Agreement", (), (table,), (kappa_heatmap(result.kappa),))


def _latency(result: BakeOffResult) -> ReportSection:
    rows = [LatencyRow(run.judge, run.p50_latency_ms, run.p95_latency_ms) for run in result.runs]
    return ReportSection("latency", "Latency", charts=(latency_chart(rows),))
