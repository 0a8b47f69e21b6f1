"""A suite report as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalq.reports.markdown import block, inline, table
from evalq.reports.suite_words import counted, headline, metric_rows, share

_SECTIONS = {
    "by_category": "By category",
    "by_grader": "By grader",
    "by_topic": "By topic",
    "by_criticality": "By criticality",
}


def render_markdown(document: Mapping[str, Any]) -> str:
    """The whole report; what models said stands in code blocks."""
    report = document["eval_report"]
    return "\n\n".join(part for part in _parts(report) if part) + "\n"


def _parts(report: Mapping[str, Any]) -> Iterator[str]:
    about, summary = report["metadata"], report["summary"]
    yield f"# Eval report: {inline(about['suite_name'])}"
    yield _facts(about)
    yield f"**{inline(headline(report))}**"
    yield _counts(summary)
    for key, title in _SECTIONS.items():
        yield _section(title, summary.get(key, {}))
    yield "## Metrics"
    yield table(
        ("Metric", "Value"), [(inline(name), value) for name, value in metric_rows(report["metrics"])]
    )
    yield inline(report["metrics"].get("note", ""))
    yield from _findings("Failures", report["failures"])
    yield from _findings("Without a verdict", report.get("errors", ()))
    if report["recommendations"]:
        yield "## Recommendations"
        yield "\n".join(f"{i}. {inline(text)}" for i, text in enumerate(report["recommendations"], 1))
    yield _judges(report.get("judges", ()))


def _facts(about: Mapping[str, Any]) -> str:
    environment = about["environment"]
    facts = {
        "Run": about["run_id"],
        "Time": about["timestamp"],
        "Duration": f"{about['duration_seconds']} s",
        "Model": environment["model"],
        "Version": environment["version"],
        "Answers per eval": about.get("samples", 1),
        "Spent": f"${about.get('spent_usd', '0.00')}",
        "Bake-offs": ", ".join(str(one) for one in about.get("bakeoffs", ())),
    }
    lines = [f"- {name}: {inline(str(value))}" for name, value in facts.items() if value != ""]
    return "\n".join(lines + [f"- Warning: {inline(text)}" for text in about.get("warnings", ())])


def _counts(summary: Mapping[str, Any]) -> str:
    rows = [(name, str(summary[name])) for name in ("total_evals", "passed", "failed", "skipped")]
    rows.append(("pass_rate", share(summary["pass_rate"], summary.get("pass_rate_ci"))))
    rows.append(("weighted_score", share(summary.get("weighted_score"))))
    because = summary.get("skipped_because", {})
    rows += [(f"skipped: {name}", str(count)) for name, count in because.items()]
    return "## Summary\n\n" + table(("", ""), [(inline(name), value) for name, value in rows])


def _section(title: str, groups: Mapping[str, Any]) -> str:
    if not groups:
        return ""
    rows = [(inline(name), counted(one), share(one.get("pass_rate"))) for name, one in groups.items()]
    return f"### {title}\n\n" + table(("", "Evals", "Pass rate"), rows)


def _findings(title: str, found: Any) -> Iterator[str]:
    if not found:
        return
    yield f"## {title}"
    for one in found:
        yield f"### {inline(one['eval_id'])}: {inline(one['name'])}\n\n{inline(one['reason'])}"
        for key in ("expected", "actual"):
            if one["details"].get(key):
                yield f"{key.capitalize()}:\n\n{block(str(one['details'][key]))}"


def _judges(reports: Any) -> str:
    if len(reports) < 2:
        return ""
    rows = [
        (
            inline(one["judge"]),
            counted(one["summary"]),
            share(one["summary"]["pass_rate"], one["summary"].get("pass_rate_ci")),
            share(one["metrics"]["pass_at_1"]),
            share(one["metrics"].get("pass_hat_3")),
        )
        for one in reports
    ]
    return "## Judges\n\n" + table(("Judge", "Evals", "Pass rate", "pass@1", "pass^3"), rows)
