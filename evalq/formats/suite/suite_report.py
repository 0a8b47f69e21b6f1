"""Gathers what a report on a suite run shows: its gate, its judges, its evals and their answers."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from evalq.definitions.money import money
from evalq.errors import InputError
from evalq.formats.suite.collect import run_of_record
from evalq.formats.suite.gate_check import GatedJudge, collect_demands, gate_report, ks_of, worst_of
from evalq.formats.suite.gated_run import thresholds_of_run
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, SuiteRun
from evalq.formats.suite.render import GROUPS, format_counts, format_share, headline, metric_rows
from evalq.formats.suite.report import report_of
from evalq.records import Verdict
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.reports.charts import BarRow, interval_bars
from evalq.reports.report_parts import (
    MOST_CASES,
    Report,
    ReportCases,
    ReportSection,
    text_table,
    worst_verdict,
)
from evalq.store import suite_runs
from evalq.store.database import Database
from evalq.store.suite_runs import SuiteRunRow

_VERDICTS: Mapping[str, Verdict] = {
    "passed": "passed",
    "failed": "failed",
    "pending_review": "pending_review",
}
_ANSWERS = {"PASS": "The gate passes", "FAIL": "The gate fails", "INCONCLUSIVE": "The gate cannot decide"}


def gather_suite_report(
    db: Database, name: str, *, monthly_cases: int | None = None
) -> tuple[Report, Iterator[CaseView]]:
    """The report on a suite run with its verdicts as they are now, and all its evals as cases."""
    row = suite_runs.find(db, name)
    demands = _find_demands(row)
    run = run_of_record(db, row, ks_of(demands) if demands else ())
    document = report_of(run)
    gated = gate_report(document, demands) if demands else []
    cases = build_cases(run)
    report = document["eval_report"]
    found = Report(
        kind="suite",
        id=suite_runs.name_of(row.id),
        title=run.suite,
        facts=tuple(_list_facts(run)),
        answer=_answer(report, gated),
        caveats=tuple(_list_caveats(run, report)),
        sections=tuple(_build_sections(run, report, gated, monthly_cases)),
        cases=_choose_cases(cases, run),
        method=tuple(_list_method(run)),
        next=(f"evalq gate {run.id}", *(f"evalq inspect {one} --show-failures" for one in run.bakeoffs[:1])),
        document=document,
    )
    return found, iter(cases)


def _find_demands(row: SuiteRunRow) -> list[Any]:
    """What the suite demanded when it ran; nothing if it had no thresholds."""
    try:
        return list(collect_demands(None, thresholds_of_run(row)))
    except InputError:
        return []


def build_cases(run: SuiteRun) -> list[CaseView]:
    """Each eval as a case, with the samples and then the retries of every judge as its answers."""
    by_eval: defaultdict[str, list[AnswerView]] = defaultdict(list)
    evals: dict[str, EvalOutcome] = {}
    for found in run.judges:
        for one in found.evals:
            evals.setdefault(one.id, one)
            attempts = [attempt for attempt in (*one.samples, *one.retries) if attempt.verdict]
            for sample, attempt in enumerate(attempts, start=1):
                by_eval[one.id].append(_build_answer(found.judge, sample, attempt))
    cases = []
    for eval_id, one in evals.items():
        answers = tuple(by_eval[eval_id])
        cases.append(CaseView(eval_id, one.category, one.eval_type, one.name, one.expected, answers))
    return cases


def _build_answer(judge: str, sample: int, attempt: Attempt) -> AnswerView:
    grades = []
    for grade in attempt.grades:
        reason, pending = str(grade.get("reason") or ""), bool(grade.get("pending"))
        line = GradeLine(str(grade.get("grader", "")), grade.get("passed"), reason, grade.get("score"))
        grades.append(line._replace(kind=str(grade.get("kind", "")), pending=pending))
    text = attempt.answer or attempt.message
    verdict = _VERDICTS.get(attempt.verdict or "", "errored")
    return AnswerView(
        judge, sample, verdict, attempt.error_kind, text, tuple(grades), latency_ms=attempt.latency_ms
    )


def _answer(report: Mapping[str, Any], gated: Sequence[GatedJudge]) -> str:
    """The gate's verdict where there is one, with what decided it; else the counts."""
    if not gated:
        return f"{headline(report)}."
    verdict = worst_of([one.verdict for one in gated])
    misses = []
    for one in gated:
        for check in one.checks:
            if check.status in ("FAIL", "INCONCLUSIVE"):
                value = format_share(check.value, check.interval)
                misses.append(f"{one.judge} {check.demand.label} {value}, demanded {check.demand.threshold}")
    because = "; ".join(misses[:3]) or headline(report)
    return f"{_ANSWERS.get(verdict, 'Nothing is demanded')}: {because}."


def _list_facts(run: SuiteRun) -> Iterator[str]:
    yield run.timestamp[:10]
    yield f"{len(run.judges)} judges" if len(run.judges) > 1 else run.judges[0].judge
    yield f"{len(run.judges[0].evals)} evals"
    yield f"{run.duration_s:.0f} s"


def _list_caveats(run: SuiteRun, report: Mapping[str, Any]) -> Iterator[str]:
    yield from run.warnings
    if run.timed_out:
        yield "the time limit ended it: evals not reached are skipped"
    skipped = report["summary"]["skipped"]
    if skipped:
        yield f"{skipped} of {report['summary']['total_evals']} evals have no verdict"
    yield from report["recommendations"]


def _build_sections(
    run: SuiteRun, report: Mapping[str, Any], gated: Sequence[GatedJudge], monthly_cases: int | None
) -> Iterator[ReportSection]:
    if gated:
        yield _build_gate(gated)
    yield _build_judges(report["judges"])
    tables = []
    for key, title in GROUPS.items():
        rows = []
        for name, counts in report["summary"].get(key, {}).items():
            if counts.get("total", 0):
                rows.append((name, format_counts(counts), format_share(counts.get("pass_rate"))))
        if rows:
            tables.append(text_table(("", "evals", "pass rate"), rows, title=title, numbers=(2,)))
    if tables:
        yield ReportSection("strata", "Groups", tables=tuple(tables))
    yield _build_cost(run, monthly_cases)


def _build_gate(gated: Sequence[GatedJudge]) -> ReportSection:
    rows = []
    for one in gated:
        for check in one.checks:
            demanded = "–" if check.demand.threshold is None else f"≥ {check.demand.threshold}"
            value = format_share(check.value, check.interval)
            rows.append((one.judge, check.demand.label, value, demanded, check.status))
    columns = ("judge", "metric", "value [95% CI]", "demanded", "status")
    return ReportSection("gate", "Gate", tables=(text_table(columns, rows),))


def _build_judges(judges: Sequence[Mapping[str, Any]]) -> ReportSection:
    bars, rows, metrics = [], [], []
    for one in judges:
        summary = one["summary"]
        low, high = summary.get("pass_rate_ci") or (None, None)
        n = summary["passed"] + summary["failed"]
        bars.append(BarRow(one["judge"], summary["pass_rate"], low, high, n))
        rate = format_share(summary["pass_rate"], summary.get("pass_rate_ci"))
        rows.append((one["judge"], one["model"], format_counts(summary), rate))
        metrics += [(one["judge"], name, value) for name, value in metric_rows(one["metrics"])]
    tables = [text_table(("judge", "model", "evals", "pass rate [95% CI]"), rows)]
    if metrics:
        tables.append(text_table(("judge", "metric", "value [95% CI]"), metrics, title="Metrics"))
    return ReportSection("leaderboard", "Judges", (), tuple(tables), (interval_bars(bars),))


def _build_cost(run: SuiteRun, monthly_cases: int | None) -> ReportSection:
    spent = Decimal(run.spent_usd)
    n = sum(len(one.evals) for one in run.judges) or 1
    lines = [f"${money(spent, 4)} spent on {n} evals, retries and grading included"]
    lines.append(f"${money(spent / n, 4)} per eval")
    if monthly_cases:
        lines.append(f"${spent / n * monthly_cases:,.2f} a month at {monthly_cases:,} evals")
    return ReportSection("cost", "Cost", tuple(lines))


def _choose_cases(cases: Sequence[CaseView], run: SuiteRun) -> ReportCases:
    """All evals if there are few; else those that did not pass first."""
    not_passed = [case for case in cases if worst_verdict(case.answers) != "passed"]
    chosen = cases if len(cases) <= MOST_CASES else not_passed[:MOST_CASES]
    disagreeing = [case.case_id for case in cases if _is_disputed(case)]
    command = f"evalq suite report {run.id} --verbose"
    judges = tuple(one.judge for one in run.judges)
    return ReportCases(judges, tuple(chosen), len(cases), len(not_passed), tuple(disagreeing), command)


def _is_disputed(case: CaseView) -> bool:
    verdicts = {answer.verdict for answer in case.answers if answer.verdict in ("passed", "failed")}
    return len(verdicts) > 1 and len({answer.judge for answer in case.answers}) > 1


def _list_method(run: SuiteRun) -> Iterator[tuple[str, str]]:
    yield "intervals", "95 %, Wilson"
    yield "samples per eval", str(run.samples)
    yield "verdict of an eval", "passed if most samples or any retry passed"
    yield "started", run.timestamp
    yield "run", run.run_id
    yield "bake-offs", ", ".join(str(one) for one in run.bakeoffs) or "none"
    for found in run.judges:
        yield f"model of {found.judge}", found.model
    if run.version:
        yield "suite version", run.version
    for name, value in run.environment.items():
        yield str(name), str(value)
    yield "command", f"evalq suite report {run.id}"
    yield "evalq", version("evalq")
