"""A suite report as one HTML page that needs nothing else: no script, no request, every text escaped."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from evalq.reports.suite_words import counted, headline, metric_rows, share
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


def render_html(document: Mapping[str, Any]) -> str:
    """The whole report as a page."""
    report = document["eval_report"]
    title = _text(f"Eval report: {report['metadata']['suite_name']}")
    body = "\n".join(part for part in _parts(report, title) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _parts(report: Mapping[str, Any], title: str) -> Iterator[str]:
    about, summary = report["metadata"], report["summary"]
    yield f"<h1>{title}</h1>"
    facts = (about["run_id"], about["timestamp"], about["environment"]["model"])
    yield f"<p>{_text(' · '.join(facts))} · {_text(about['duration_seconds'])} s</p>"
    yield "".join(f"<p><strong>Warning:</strong> {_text(text)}</p>" for text in about.get("warnings", ()))
    yield f"<p><strong>{_text(headline(report))}</strong></p>{_bar(summary)}"
    for key, heading in (
        ("by_category", "By category"),
        ("by_grader", "By grader"),
        ("by_topic", "By topic"),
    ):
        yield _groups(heading, summary.get(key, {}))
    rows = [(_text(name), _text(value)) for name, value in metric_rows(report["metrics"])]
    yield "<h2>Metrics</h2>" + _table(("Metric", "Value"), rows)
    yield f"<p>{_text(report['metrics'].get('note', ''))}</p>"
    yield _findings("Failures", report["failures"])
    yield _findings("Without a verdict", report.get("errors", ()))
    if report["recommendations"]:
        items = "".join(f"<li>{_text(text)}</li>" for text in report["recommendations"])
        yield f"<h2>Recommendations</h2><ol>{items}</ol>"
    yield _evals(report.get("evals", ()))
    yield _judges(report.get("judges", ()))


def _text(value: Any) -> str:
    """On one line, cleaned, escaped."""
    return escape(one_line(str(value)))


def _bar(summary: Mapping[str, Any]) -> str:
    total = summary["total_evals"] or 1
    parts = "".join(
        f'<span class="{name}" style="width:{100 * summary[name] / total:.2f}%"></span>'
        for name in ("passed", "failed")
    )
    return f'<div class="bar" role="img" aria-label="{_text(counted(summary))}">{parts}</div>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    cells = ("".join(f'<td class="n">{cell}</td>' for cell in row) for row in rows)
    lines = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _groups(heading: str, groups: Mapping[str, Any]) -> str:
    if not groups:
        return ""
    rows = [(_text(name), _text(counted(one)), share(one.get("pass_rate"))) for name, one in groups.items()]
    return f"<h2>{heading}</h2>" + _table(("", "Evals", "Pass rate"), rows)


def _findings(heading: str, found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    return f"<h2>{heading}</h2>" + "".join(_finding(one) for one in found)


def _finding(one: Mapping[str, Any]) -> str:
    texts = "".join(
        f"<p>{key.capitalize()}:</p><pre>{escape(clean(str(one['details'][key])))}</pre>"
        for key in ("expected", "actual")
        if one["details"].get(key)
    )
    line = f"<strong>{_text(one['eval_id'])}</strong> {_text(one['name'])}: {_text(one['reason'])}"
    return f"<details><summary>{line}</summary>{texts}</details>"


def _evals(evals: Sequence[Mapping[str, Any]]) -> str:
    if not evals:
        return ""
    rows = [
        (
            _text(one["eval_id"]),
            _text(one["name"]),
            _status(str(one["status"])),
            _text(one["attempts"]),
        )
        for one in evals
    ]
    return "<h2>Evals</h2>" + _table(("Eval", "Name", "Status", "Attempts"), rows)


def _status(status: str) -> str:
    return f'<span class="{_text(status)}">{_text(status)}</span>'


def _judges(reports: Sequence[Mapping[str, Any]]) -> str:
    if len(reports) < 2:
        return ""
    rows = [
        (
            _text(one["judge"]),
            _text(counted(one["summary"])),
            share(one["summary"]["pass_rate"], one["summary"].get("pass_rate_ci")),
            share(one["metrics"]["pass_at_1"]),
        )
        for one in reports
    ]
    return "<h2>Judges</h2>" + _table(("Judge", "Evals", "Pass rate", "pass@1"), rows)
