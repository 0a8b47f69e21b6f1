"""Suite and gate reports as text: plain lines for the terminal, and Markdown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalq.formats.suite.gate_check import GatedJudge, MetricCheck, worst_of
from evalq.formats.suite.metrics import EVAL_TYPES, metric_label
from evalq.reports.text import clean, one_line

DASH = "–"
PHASE_HEADING = "## Phase Completion Report"
GROUPS = {
    "by_category": "By category",
    "by_grader": "By grader",
    "by_topic": "By topic",
    "by_criticality": "By criticality",
}

_SIGNS = {"passed": "✓", "failed": "✗", "skipped": DASH}
_WIDTH = 200
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")
_LINE_START = re.compile(r"^(?:[-+=#]|\d+(?=[.)]))")


def format_share(value: float | None, interval: Sequence[float] | None = None) -> str:
    """0.92 [0.81, 0.97]; a dash for an unknown value."""
    if value is None:
        return DASH
    text = f"{value:.2f}" if round(value, 2) == value else f"{value:.3f}"
    if interval:
        text += f" [{interval[0]:.2f}, {interval[1]:.2f}]"
    return text


def format_counts(counts: Mapping[str, Any]) -> str:
    """12/13 passed, and how many were skipped."""
    total = counts.get("total", counts.get("total_evals", 0))
    text = f"{counts['passed']}/{total} passed"
    if counts.get("skipped"):
        text += f", {counts['skipped']} skipped"
    return text


def format_pass_rate(summary: Mapping[str, Any]) -> str:
    """The pass rate with its interval."""
    return format_share(summary["pass_rate"], summary.get("pass_rate_ci"))


def headline(report: Mapping[str, Any]) -> str:
    """The result of a run in one line."""
    summary = report["summary"]
    name = report["metadata"]["suite_name"]
    return f"{name}: {format_counts(summary)}, pass rate {format_pass_rate(summary)}"


def metric_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The label and the value of every metric."""
    rows = []
    for name, value in metrics.items():
        if name.startswith(("pass_at_", "pass_hat_")) and not name.endswith("_ci"):
            rows.append((metric_label(name), format_share(value, metrics.get(f"{name}_ci"))))
    return rows


def render_plain(document: Mapping[str, Any], *, verbose: bool = False) -> str:
    """The report as lines for the terminal; with `verbose`, one for every eval."""
    return "\n".join(_plain_lines(document["eval_report"], verbose=verbose))


def _plain_lines(report: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    yield from _plain_numbers(report)
    if verbose:
        yield from (_plain_eval(one) for one in report["evals"])
    for status, section in (("failed", "failures"), ("skipped", "errors")):
        for one in report[section]:
            yield one_line(f"{_SIGNS[status]} {one['eval_id']}: {one['name']}: {one['reason']}", _WIDTH)
    if len(report["judges"]) > 1:
        for one in report["judges"]:
            summary = one["summary"]
            text = f"{one['judge']}: {format_counts(summary)}, pass rate {format_pass_rate(summary)}"
            yield one_line(text, _WIDTH)
    for text in report["recommendations"]:
        yield one_line(f"→ {text}", _WIDTH)


def _plain_numbers(report: Mapping[str, Any]) -> Iterator[str]:
    suite_run = report["metadata"].get("suite_run")
    yield one_line(f"{suite_run}: {headline(report)}" if suite_run else headline(report))
    for name, counts in report["summary"]["by_category"].items():
        yield f"  {name}: {format_counts(counts)}"
    graders = []
    for name, counts in report["summary"]["by_grader"].items():
        if counts["total"]:
            graders.append(f"{name} {counts['passed']}/{counts['total']}")
    yield f"  by grader: {', '.join(graders)}"
    yield "  " + "  ".join(f"{name} {value}" for name, value in metric_rows(report["metrics"]))
    if report["metrics"].get("note"):
        yield f"  {report['metrics']['note']}"


def _plain_eval(one: Mapping[str, Any]) -> str:
    text = f"{_SIGNS[one['status']]} {one['eval_id']}: {one['name']}: {one['status']}"
    if one["samples_graded"] > 1:
        text += f" ({one['samples_passed']}/{one['samples_graded']})"
    if one["attempts"] > 1:
        text += f" after {one['attempts']} attempts"
    return one_line(text, _WIDTH)


def render_markdown(document: Mapping[str, Any]) -> str:
    """The report as Markdown; answers of models are in code blocks."""
    parts = _markdown_parts(document["eval_report"])
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_parts(report: Mapping[str, Any]) -> Iterator[str]:
    about, summary = report["metadata"], report["summary"]
    yield f"# Eval report: {escape_markdown(about['suite_name'])}"
    yield _markdown_facts(about)
    yield f"**{escape_markdown(headline(report))}**"
    yield _markdown_summary(summary)
    for key, title in GROUPS.items():
        yield _markdown_groups(title, summary.get(key, {}))
    yield "## Metrics"
    metrics = [(escape_markdown(name), value) for name, value in metric_rows(report["metrics"])]
    yield _markdown_table(("Metric", "Value"), metrics)
    yield escape_markdown(report["metrics"].get("note", ""))
    yield from _markdown_failures("Failures", report["failures"])
    yield from _markdown_failures("Without a verdict", report.get("errors", ()))
    if report["recommendations"]:
        yield "## Recommendations"
        yield _numbered(report["recommendations"])
    yield _markdown_judges(report.get("judges", ()))


def _markdown_facts(about: Mapping[str, Any]) -> str:
    environment = about["environment"]
    facts = {
        "Run": about["run_id"],
        "Suite run": about.get("suite_run", ""),
        "Time": about["timestamp"],
        "Duration": f"{about['duration_seconds']} s",
        "Model": environment["model"],
        "Version": environment["version"],
        "Answers per eval": about.get("samples", 1),
        "Spent": f"${about.get('spent_usd', '0.00')}",
        "Bake-offs": ", ".join(str(one) for one in about.get("bakeoffs", ())),
    }
    lines = [f"- {name}: {escape_markdown(str(value))}" for name, value in facts.items() if value != ""]
    lines += [f"- Warning: {escape_markdown(text)}" for text in about.get("warnings", ())]
    return "\n".join(lines)


def _markdown_summary(summary: Mapping[str, Any]) -> str:
    rows = [(name, str(summary[name])) for name in ("total_evals", "passed", "failed", "skipped")]
    rows.append(("pass_rate", format_pass_rate(summary)))
    rows.append(("weighted_score", format_share(summary.get("weighted_score"))))
    for reason, count in summary.get("skipped_because", {}).items():
        rows.append((f"skipped: {reason}", str(count)))
    cells = [(escape_markdown(name), value) for name, value in rows]
    return "## Summary\n\n" + _markdown_table(("", ""), cells)


def _markdown_groups(title: str, groups: Mapping[str, Any]) -> str:
    if not groups:
        return ""
    rows = []
    for name, counts in groups.items():
        rows.append((escape_markdown(name), format_counts(counts), format_share(counts.get("pass_rate"))))
    return f"### {title}\n\n" + _markdown_table(("", "Evals", "Pass rate"), rows)


def _markdown_failures(title: str, failures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not failures:
        return
    yield f"## {title}"
    for one in failures:
        heading = f"{escape_markdown(one['eval_id'])}: {escape_markdown(one['name'])}"
        yield f"### {heading}\n\n{escape_markdown(one['reason'])}"
        for key in ("expected", "actual"):
            if one["details"].get(key):
                yield f"{key.capitalize()}:\n\n{_code_block(str(one['details'][key]))}"


def _markdown_judges(reports: Sequence[Mapping[str, Any]]) -> str:
    if len(reports) < 2:
        return ""
    rows = []
    for one in reports:
        rows.append(
            (
                escape_markdown(one["judge"]),
                format_counts(one["summary"]),
                format_pass_rate(one["summary"]),
                format_share(one["metrics"]["pass_at_1"]),
                format_share(one["metrics"].get("pass_hat_3")),
            )
        )
    return "## Judges\n\n" + _markdown_table(("Judge", "Evals", "Pass rate", "pass@1", "pass^3"), rows)


def render_phase(found: Sequence[GatedJudge], *, title: str = "") -> str:
    """The result of a gate as Markdown, with one section per judge when there are several."""
    heading = PHASE_HEADING
    if title:
        heading += f": {escape_markdown(title)}"
    verdict = worst_of([one.verdict for one in found])
    parts = [heading, f"**Verdict: {verdict}**", "### Eval Results"]
    advice: list[str] = []
    for one in found:
        if len(found) > 1:
            parts.append(f"#### Judge {escape_markdown(one.judge)}: {one.verdict}")
        parts += [_checks_table(one.checks), *_checklists(one.report)]
        advice += one.report["recommendations"]
    if advice:
        parts += ["### Recommendations", _numbered(list(dict.fromkeys(advice)))]
    return "\n\n".join(parts) + "\n"


def _checks_table(checks: Sequence[MetricCheck]) -> str:
    lines = ["| Metric | Value | Threshold | Status |", "|--------|-------|-----------|--------|"]
    for check in checks:
        value, threshold = format_share(check.value, check.interval), format_share(check.demand.threshold)
        status = DASH if check.status == "INFO" else check.status
        lines.append(f"| {check.demand.label} | {value} | {threshold} | {status} |")
    return "\n".join(lines)


def _checklists(report: Mapping[str, Any]) -> Iterator[str]:
    """One list per type of eval, with a tick for each that passed."""
    failures = {one["eval_id"]: one for one in (*report["failures"], *report.get("errors", ()))}
    for eval_type in EVAL_TYPES:
        evals = [one for one in report.get("evals", ()) if one.get("category") == eval_type]
        if not evals:
            continue
        passed = sum(one["status"] == "passed" for one in evals)
        lines = [f"#### {eval_type.capitalize()} Evals ({passed}/{len(evals)} passed)", ""]
        for one in evals:
            lines += _checklist_lines(one, failures.get(one["eval_id"], {}))
        yield "\n".join(lines)


def _checklist_lines(one: Mapping[str, Any], failure: Mapping[str, Any]) -> Iterator[str]:
    name = f"{escape_markdown(one['eval_id'])}: {escape_markdown(one.get('name', ''))}"
    if one["status"] == "passed":
        yield f"- [x] {name}"
        return
    status = "FAILED" if one["status"] == "failed" else "NO VERDICT"
    yield f"- [ ] {name} ({status})"
    details = failure.get("details", {})
    for key in ("expected", "actual"):
        if details.get(key):
            yield f"  - {key.capitalize()}: {escape_markdown(str(details[key]), _WIDTH)}"
    if failure.get("reason"):
        yield f"  - Reason: {escape_markdown(failure['reason'], _WIDTH)}"


def escape_markdown(text: str, width: int | None = None) -> str:
    """The text on one line, with every sign of Markdown and HTML escaped."""
    return _LINE_START.sub(_escape_start, _SPECIAL.sub(r"\\\1", one_line(text, width)))


def _escape_start(start: re.Match[str]) -> str:
    """Escape the dot after a number that would begin a list, or the sign itself."""
    sign = start[0]
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def _code_block(text: str) -> str:
    """The text in a fence longer than any run of backticks inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{clean(text)}\n{fence}"


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are escaped already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {escape_markdown(text)}" for number, text in enumerate(texts, 1))
