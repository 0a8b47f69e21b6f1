"""A report as Markdown that fits a comment of a pull request: tables, and what failed in few words."""

import re
from collections.abc import Iterator, Sequence

from evalq.reports.cases import AnswerView, CaseView
from evalq.reports.report_parts import (
    OWN_COMMENT,
    SIGNS,
    Report,
    ReportSection,
    ReportTable,
    describe_included,
    worst_verdict,
)
from evalq.reports.text import one_line

MAX_CHARS = 60_000
"""A comment of GitHub holds 65,536 characters."""

MOST_LISTED = 50
MOST_ROWS = 60
CELL_CHARS = 120

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_LINE_START = re.compile(r"^(\d{0,9})([-+=.)])")
_BREAK = "\N{ZERO WIDTH SPACE}"


def render_markdown(report: Report) -> str:
    """The report in at most 60,000 characters; cases are left out, the later sections before the first."""
    for listed in (MOST_LISTED, 20, 5, 0):
        text = "\n\n".join(_render_parts(report, report.sections, listed)) + "\n"
        if len(text.encode()) <= MAX_CHARS:
            return text
    sections = list(report.sections)
    while len(text.encode()) > MAX_CHARS and len(sections) > 1:
        sections.pop()
        text = "\n\n".join(_render_parts(report, sections, 0)) + "\n"
    return text if len(text.encode()) <= MAX_CHARS else _cut(text)


def escape_markdown(text: str) -> str:
    """A text on one line that Markdown and HTML show as it is, and that mentions nobody."""
    line = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(r"\\\1", line)
    for sign in ("@", "#", "://", "www."):  # a name, an issue, an address: none becomes a link
        line = line.replace(sign, sign[0] + _BREAK + sign[1:])
    return line


def _escape_start(text: str) -> str:
    """A text that begins a line or a list's item, and begins neither a list nor a heading itself."""
    return _LINE_START.sub(lambda found: found[1] + "\\" + found[2], escape_markdown(text))


def _cut(text: str) -> str:
    return text.encode()[: MAX_CHARS - 20].decode(errors="ignore").rpartition("\n")[0] + "\n\n…\n"


def _render_parts(report: Report, sections: Sequence[ReportSection], listed: int) -> Iterator[str]:
    yield OWN_COMMENT
    yield f"## {escape_markdown(report.title)}"
    yield _escape_start(" · ".join((report.name, *report.facts)))
    yield f"**{escape_markdown(report.answer)}**"
    if report.caveats:
        yield "\n".join(f"- ⚠ {_escape_start(caveat)}" for caveat in report.caveats)
    for section in sections:
        yield from _render_section(section)
    yield from _render_cases(report, listed)
    yield from _render_method(report)


def _render_section(section: ReportSection) -> Iterator[str]:
    if not section.tables and not section.lines:
        return
    yield f"### {escape_markdown(section.title)}"
    for table in section.tables:
        yield _render_table(table)
    if section.lines:
        yield "\n".join(f"- {_escape_start(line)}" for line in section.lines)


def _render_table(table: ReportTable) -> str:
    marks = ["---:" if place in table.numbers else "---" for place in range(len(table.columns))]
    lines = [_render_row(table.columns), f"| {' | '.join(marks)} |"]
    lines += [_render_row(row) for row in table.rows[:MOST_ROWS]]
    if len(table.rows) > MOST_ROWS:
        lines.append(_render_row([f"… {len(table.rows) - MOST_ROWS} more", *[""] * (len(table.columns) - 1)]))
    title = f"{escape_markdown(table.title)}\n\n" if table.title else ""
    return title + "\n".join(lines)


def _render_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(escape_markdown(one_line(cell, CELL_CHARS)) for cell in cells)} |"


def _render_cases(report: Report, listed: int) -> Iterator[str]:
    """The cases that did not pass everywhere, a sign per judge, with the first reason."""
    yield "### Cases"
    bad = [case for case in report.cases.cases if worst_verdict(case.answers) != "passed"]
    yield _escape_start(describe_included(report.cases))
    if not bad or not listed:
        return
    rows = []
    for case in bad[:listed]:
        signs = [_sign_of(case, judge) for judge in report.cases.judges]
        rows.append((case.case_id, case.stratum, *signs, _first_reason(case.answers)))
    columns = ("case", "stratum", *report.cases.judges, "why")
    table = _render_table(ReportTable(columns, tuple(rows)))
    more = f"\n\n{len(bad) - listed} more in the HTML report" if len(bad) > listed else ""
    summary = f"<summary>{len(bad)} cases that did not pass everywhere</summary>"
    yield f"<details>{summary}\n\n{table}{more}\n\n</details>"


def _sign_of(case: CaseView, judge: str) -> str:
    verdict = worst_verdict(answer for answer in case.answers if answer.judge == judge)
    return SIGNS[verdict][0] if verdict else "·"


def _first_reason(answers: Sequence[AnswerView]) -> str:
    for answer in answers:
        if answer.error_kind:
            return f"{answer.judge}: {answer.error_kind.replace('_', ' ')}"
        for grade in answer.grades:
            if grade.passed is False and grade.reason:
                return f"{answer.judge}: {grade.reason}"
    return ""


def _render_method(report: Report) -> Iterator[str]:
    lines = [f"- {_escape_start(name)}: {escape_markdown(value)}" for name, value in report.method]
    body = "\n".join(lines)
    yield f"<details><summary>Method</summary>\n\n{body}\n\n</details>"
    if report.next:
        commands = "\n".join(one_line(command) for command in report.next)
        yield f"```\n{commands}\n```"
