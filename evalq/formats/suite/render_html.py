"""A suite report as one HTML page that loads nothing else and escapes every text."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from evalq.formats.suite.render import (
    GROUPS,
    format_counts,
    format_pass_rate,
    format_share,
    headline,
    metric_rows,
)
from evalq.reports.text import clean, one_line

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #0a7d33; --bad: #c0262d; --quiet: #888; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .8rem .3rem 0; text-align: left; }
td.n { font-variant-numeric: tabular-nums; }
pre { border: 1px solid var(--line); padding: .6rem; overflow-x: auto; white-space: pre-wrap; }
.passed { color: var(--good); } .failed { color: var(--bad); } .skipped { color: var(--quiet); }
.bar { display: flex; height: .6rem; border-radius: .3rem; overflow: hidden; background: var(--line); }
.bar span { display: block; height: 100%; } .bar .passed { background: var(--good); }
.bar .failed { background: var(--bad); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SHOWN_GROUPS = ("by_category", "by_grader", "by_topic")


def render_html(document: Mapping[str, Any]) -> str:
    """The whole report as a page."""
    report = document["eval_report"]
    title = _escape(f"Eval report: {report['metadata']['suite_name']}")
    body = "\n".join(part for part in _render_parts(report, title) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _render_parts(report: Mapping[str, Any], title: str) -> Iterator[str]:
    about, summary = report["metadata"], report["summary"]
    yield f"<h1>{title}</h1>"
    names = [name for name in (about["run_id"], about.get("suite_run")) if name]
    facts = (*names, about["timestamp"], about["environment"]["model"])
    yield f"<p>{_escape(' · '.join(facts))} · {_escape(about['duration_seconds'])} s</p>"
    yield "".join(f"<p><strong>Warning:</strong> {_escape(text)}</p>" for text in about.get("warnings", ()))
    yield f"<p><strong>{_escape(headline(report))}</strong></p>{_render_bar(summary)}"
    for key in _SHOWN_GROUPS:
        yield _render_groups(GROUPS[key], summary.get(key, {}))
    rows = [(_escape(name), _escape(value)) for name, value in metric_rows(report["metrics"])]
    yield "<h2>Metrics</h2>" + _render_table(("Metric", "Value"), rows)
    yield f"<p>{_escape(report['metrics'].get('note', ''))}</p>"
    yield _render_failures("Failures", report["failures"])
    yield _render_failures("Without a verdict", report.get("errors", ()))
    if report["recommendations"]:
        items = "".join(f"<li>{_escape(text)}</li>" for text in report["recommendations"])
        yield f"<h2>Recommendations</h2><ol>{items}</ol>"
    yield _render_evals(report.get("evals", ()))
    yield _render_judges(report.get("judges", ()))


def _escape(value: Any) -> str:
    """The value on one line, without control characters, escaped."""
    return escape(one_line(str(value)))


def _render_bar(summary: Mapping[str, Any]) -> str:
    total = summary["total_evals"] or 1
    spans = ""
    for status in ("passed", "failed"):
        spans += f'<span class="{status}" style="width:{100 * summary[status] / total:.2f}%"></span>'
    return f'<div class="bar" role="img" aria-label="{_escape(format_counts(summary))}">{spans}</div>'


def _render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are escaped already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = ""
    for row in rows:
        cells = "".join(f'<td class="n">{cell}</td>' for cell in row)
        lines += f"<tr>{cells}</tr>"
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _render_groups(heading: str, groups: Mapping[str, Any]) -> str:
    if not groups:
        return ""
    rows = []
    for name, counts in groups.items():
        rate = format_share(counts.get("pass_rate"))
        rows.append((_escape(name), _escape(format_counts(counts)), rate))
    return f"<h2>{heading}</h2>" + _render_table(("", "Evals", "Pass rate"), rows)


def _render_failures(heading: str, failures: Sequence[Mapping[str, Any]]) -> str:
    if not failures:
        return ""
    return f"<h2>{heading}</h2>" + "".join(_render_failure(one) for one in failures)


def _render_failure(one: Mapping[str, Any]) -> str:
    texts = ""
    for key in ("expected", "actual"):
        if one["details"].get(key):
            texts += f"<p>{key.capitalize()}:</p><pre>{escape(clean(str(one['details'][key])))}</pre>"
    line = f"<strong>{_escape(one['eval_id'])}</strong> {_escape(one['name'])}: {_escape(one['reason'])}"
    return f"<details><summary>{line}</summary>{texts}</details>"


def _render_evals(evals: Sequence[Mapping[str, Any]]) -> str:
    if not evals:
        return ""
    rows = []
    for one in evals:
        name = _escape(one["status"])
        status = f'<span class="{name}">{name}</span>'
        rows.append((_escape(one["eval_id"]), _escape(one["name"]), status, _escape(one["attempts"])))
    return "<h2>Evals</h2>" + _render_table(("Eval", "Name", "Status", "Attempts"), rows)


def _render_judges(reports: Sequence[Mapping[str, Any]]) -> str:
    if len(reports) < 2:
        return ""
    rows = []
    for one in reports:
        counts, rate = _escape(format_counts(one["summary"])), format_pass_rate(one["summary"])
        rows.append((_escape(one["judge"]), counts, rate, format_share(one["metrics"]["pass_at_1"])))
    return "<h2>Judges</h2>" + _render_table(("Judge", "Evals", "Pass rate", "pass@1"), rows)
