"""A suite report as one HTML page that needs nothing else: no script, no request, every text escaped."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.suite.read import Suite
from evalq.formats.suite.report import counted, headline, metric_rows, share
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
    body = "\n".join(part for part in _html_parts(report, title) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html_parts(report: Mapping[str, Any], title: str) -> Iterator[str]:
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
    yield _html_findings("Failures", report["failures"])
    yield _html_findings("Without a verdict", report.get("errors", ()))
    if report["recommendations"]:
        items = "".join(f"<li>{_text(text)}</li>" for text in report["recommendations"])
        yield f"<h2>Recommendations</h2><ol>{items}</ol>"
    yield _evals(report.get("evals", ()))
    yield _html_judges(report.get("judges", ()))


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


def _html_findings(heading: str, found: Sequence[Mapping[str, Any]]) -> str:
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


def _html_judges(reports: Sequence[Mapping[str, Any]]) -> str:
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


_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")
_OPENING = re.compile(r"^(?:[-+=#]|\d+(?=[.)]))")


def inline(text: str, width: int | None = None) -> str:
    """The text on one line, every sign of Markdown and HTML made plain."""
    return _OPENING.sub(_made_plain, _SPECIAL.sub(r"\\\1", one_line(text, width)))


def _made_plain(opening: re.Match[str]) -> str:
    """A number that would begin a list has its dot made plain, any other sign itself."""
    sign = opening[0]
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def block(text: str) -> str:
    """The text as a code block, fenced by more backticks than it has in a row."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{clean(text)}\n{fence}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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


LATEST = "latest"
ARCHIVE = "archive"
SUFFIXES = {"json": ".json", "markdown": ".md", "html": ".html"}


def results_folder(suite: Suite, here: Path) -> Path:
    """Where results go: below the suite's folder, or below the working directory."""
    folder = suite.folder / suite.reporting.output_dir
    return _inside(folder, [suite.folder, here], f"output_dir {suite.reporting.output_dir!r}")


def write_results(
    folder: Path, document: Mapping[str, Any], formats: Sequence[str], *, now: datetime
) -> list[Path]:
    """Write a report in some formats under DATE/run-HHMMSS, never over another, and point `latest` at it."""
    day = folder / f"{now:%Y-%m-%d}"
    day.mkdir(parents=True, exist_ok=True)
    stem = _free_stem(day, f"run-{now:%H%M%S}")
    written = []
    for name in dict.fromkeys(formats):
        path = day / f"{stem}{SUFFIXES[name]}"
        path.write_text(rendered(document, name), "utf-8")
        written.append(path)
    _point_latest(folder, day, written)
    return written


def rendered(document: Mapping[str, Any], name: str) -> str:
    """The report in one format."""
    if name == "markdown":
        return render_markdown(document)
    if name == "html":
        return render_html(document)
    return json.dumps(document, ensure_ascii=False, indent=2, default=str) + "\n"


def write_text(path: Path, text: str, inside: Sequence[Path], what: str) -> Path:
    """Write a file that lies inside one of some folders."""
    checked = _inside(path, inside, what)
    checked.parent.mkdir(parents=True, exist_ok=True)
    checked.write_text(text, "utf-8")
    return checked


def archive(folder: Path, written: Sequence[Path]) -> list[Path]:
    """Copy a run's files to where nothing is tidied away."""
    kept = folder / ARCHIVE
    kept.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy2(path, kept / f"{path.parent.name}-{path.name}")) for path in written]


def _free_stem(day: Path, stem: str) -> str:
    taken = {path.stem for path in day.iterdir()}
    tries = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    return next(name for name in tries if name not in taken)


def _point_latest(folder: Path, day: Path, written: Sequence[Path]) -> None:
    """A link to the day's folder; where links cannot be made, a folder with copies of this run."""
    latest = folder / LATEST
    try:
        if latest.is_symlink():
            latest.unlink()
        elif latest.is_dir():
            shutil.rmtree(latest)
        latest.symlink_to(day.name, target_is_directory=True)
    except OSError:
        latest.mkdir(exist_ok=True)
        for path in written:
            shutil.copy2(path, latest / path.name)


def _inside(path: Path, folders: Sequence[Path], what: str) -> Path:
    whole = path.resolve()
    if not any(whole.is_relative_to(folder.resolve()) for folder in folders):
        raise InputError(Problem(f"{what} leads out of its folder", "write a path inside it"))
    return path
