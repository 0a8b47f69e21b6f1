"""A report as one HTML file that asks nobody for anything: style, script and data are inside."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from evalq.reports.charts import CHART_CSS
from evalq.reports.html_cases import render_cases, render_filters
from evalq.reports.report_parts import (
    REPORT_SCHEMA,
    Report,
    ReportSection,
    ReportTable,
    describe_included,
    worst_verdict,
)
from evalq.reports.text import clean, one_line

MAX_BYTES = 2_000_000
TEXT_LIMITS = (6_000, 3_000, 1_500, 800, 400, 200)
"""Characters shown of each text: the most with which the file stays under its limit."""

GENERATOR = '<meta name="generator" content="evalq report">'


def render_html(report: Report) -> str:
    """The page, with texts cut and then cases left out until it is small enough."""
    for limit in TEXT_LIMITS:
        page = _render_page(report, limit)
        if len(page.encode()) <= MAX_BYTES:
            return page
    while len(page.encode()) > MAX_BYTES and report.cases.cases:
        fewer = report.cases.cases[: len(report.cases.cases) // 2]
        report = replace(report, cases=replace(report.cases, cases=fewer))
        page = _render_page(report, TEXT_LIMITS[-1])
    return page


def is_own_page(text: str) -> bool:
    """Whether a text is a page that evalq wrote, which the next one may replace."""
    return GENERATOR in text[:2_000]


def escape_line(text: str) -> str:
    """A text on one line, without control characters, escaped."""
    return escape(one_line(text), quote=True)


@cache
def _style() -> str:
    return CHART_CSS + _read_asset("report.css")


@cache
def _script() -> str:
    return _read_asset("report.js")


def _read_asset(name: str) -> str:
    return resources.files("evalq.reports").joinpath("assets", name).read_text("utf-8")


def _policy() -> str:
    """Nothing may be loaded; only this style and this script apply."""
    script, style = _hash(_script()), _hash(_style())
    parts = ("default-src 'none'", f"script-src {script}", f"style-src {style}", "base-uri 'none'")
    return "; ".join((*parts, "form-action 'none'"))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _render_page(report: Report, limit: int) -> str:
    title = escape_line(f"{report.title} · {report.name}")
    body = "\n".join(part for part in _render_body(report, limit) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'{GENERATOR}\n<meta http-equiv="Content-Security-Policy" content="{escape(_policy())}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{_style()}</style>\n</head>\n<body>\n{body}\n"
        f'<script type="application/json" id="report-data">{_render_data(report)}</script>\n'
        f"<script>{_script()}</script>\n</body>\n</html>\n"
    )


def _render_body(report: Report, limit: int) -> Iterator[str]:
    yield f"<header><h1>{escape_line(report.title)}</h1>"
    facts = " · ".join(escape_line(fact) for fact in (report.name, *report.facts))
    yield f'<p class="quiet">{facts}</p></header>\n<main>'
    yield f'<p class="answer" id="answer">{escape_line(report.answer)}</p>'
    if report.caveats:
        caveats = "".join(f"<li>{escape_line(caveat)}</li>" for caveat in report.caveats)
        yield f'<h2 id="caveats">Caveats</h2><ul class="caveats">{caveats}</ul>'
    yield _render_contents(report)
    for section in report.sections:
        yield _render_section(section)
    yield _render_case_part(report, limit)
    yield '<section><h2 id="method">Method</h2><dl class="method">'
    for name, value in report.method:
        yield f"<dt>{escape_line(name)}</dt><dd>{escape_line(value)}</dd>"
    yield "</dl></section></main>"
    yield _render_footer(report, limit)


def _render_contents(report: Report) -> str:
    parts = [(section.key, section.title) for section in report.sections]
    parts += [("cases", "Cases"), ("disagreements", "Disagreements"), ("method", "Method")]
    links = "".join(f'<a href="#{key}">{escape_line(title)}</a>' for key, title in parts)
    return f'<nav aria-label="Contents">{links}</nav>'


def _render_section(section: ReportSection) -> str:
    lines = "".join(f"<p>{escape_line(line)}</p>" for line in section.lines)
    charts = "".join(f"<figure>{chart}</figure>" for chart in section.charts)
    tables = "".join(_render_table(table) for table in section.tables)
    heading = f'<h2 id="{section.key}">{escape_line(section.title)}</h2>'
    return f"<section>{heading}{charts}{tables}{lines}</section>"


def _render_table(table: ReportTable) -> str:
    caption = f"<caption>{escape_line(table.title)}</caption>" if table.title else ""
    head = _render_cells(table.columns, table, "th")
    rows = "".join(f"<tr>{_render_cells(row, table, 'td')}</tr>" for row in table.rows)
    table_text = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="scroll">{table_text}</div>'


def _render_cells(cells: Sequence[str], table: ReportTable, tag: str) -> str:
    rendered = ""
    for place, cell in enumerate(cells):
        kind = ' class="n"' if place in table.numbers else ""
        rendered += f"<{tag}{kind}>{escape_line(cell)}</{tag}>"
    return rendered


def _render_case_part(report: Report, limit: int) -> str:
    cases = report.cases
    heading = f'<h2 id="cases">Cases</h2><p class="quiet">{escape_line(describe_included(cases))}</p>'
    if not cases.cases:
        return f'<section>{heading}</section><span id="disagreements"></span>'
    listed = _render_disagreements(report)
    return f"<section>{heading}{render_filters(cases)}{render_cases(cases, limit)}</section>{listed}"


def _render_disagreements(report: Report) -> str:
    """The cases on which judges differ, each linked to its place above if it is in the file."""
    heading = '<section><h2 id="disagreements">Disagreements</h2>'
    found = report.cases.disagreements
    if not found:
        return f"{heading}<p>No case on which judges with verdicts differ.</p></section>"
    places = {case.case_id: place for place, case in enumerate(report.cases.cases)}
    shown = []
    for case_id in found[: len(places)]:
        name = escape_line(case_id)
        place = places.get(case_id)
        shown.append(f'<a href="#case-{place}">{name}</a>' if place is not None else name)
    total = f"{len(found):,} of {report.cases.n_cases:,} cases; judges left out of the ranking do not count."
    return f"{heading}<p>{total}</p><p>{' · '.join(shown)}</p></section>"


def _render_footer(report: Report, limit: int) -> str:
    lines = [describe_included(report.cases)]
    if report.cases.cases:
        lines.append(f"texts longer than {limit:,} characters are cut")
    commands = "".join(f"<br><code>{escape_line(command)}</code>" for command in report.next)
    return f"<footer>{'. '.join(escape_line(line) for line in lines)}.{commands}</footer>"


def _render_data(report: Report) -> str:
    """The index of the cases for the script, and the result for other programs."""
    entries = []
    disagreeing = set(report.cases.disagreements)
    for case in report.cases.cases:
        verdicts: dict[str, Any] = {}
        for judge in report.cases.judges:
            worst = worst_verdict(answer for answer in case.answers if answer.judge == judge)
            if worst:
                verdicts[clean(judge)] = worst
        stratum = one_line(case.stratum)
        entries.append({"stratum": stratum, "verdicts": verdicts, "disagree": case.case_id in disagreeing})
    document = {"schema": REPORT_SCHEMA, "kind": report.kind, "id": report.id, "cases": entries}
    return encode_for_script({**document, "result": dict(report.document)})


def encode_for_script(value: Any) -> str:
    """JSON that cannot end or change the script element it is in, and holds no line separators."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
