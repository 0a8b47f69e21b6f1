"""The forms a report can take: HTML, Markdown, JSON, JUnit, CSV and Parquet, each in pieces of bytes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from evalq.errors import InputError, Problem
from evalq.reports.cases import CaseView
from evalq.reports.report_parts import Report

ReportForm = Literal["html", "md", "json", "junit", "csv", "parquet"]

SUFFIXES: dict[ReportForm, str] = {
    "html": ".html",
    "md": ".md",
    "json": ".json",
    "junit": ".xml",
    "csv": ".csv",
    "parquet": ".parquet",
}


def form_of(path: Path) -> ReportForm:
    """The form that a file's name asks for."""
    for form, suffix in SUFFIXES.items():
        if path.suffix.lower() == suffix:
            return form
    remedy = f"end it with one of {', '.join(SUFFIXES.values())}"
    raise InputError(Problem("the name does not say which form of report", remedy, str(path)))


def render_report(report: Report, cases: Iterator[CaseView], form: ReportForm) -> Iterator[bytes]:
    """The report in a form; `cases` are all of them, read when a form lists them."""
    from evalq.reports.answer_table import render_csv, render_parquet
    from evalq.reports.html_page import render_html
    from evalq.reports.json_output import json_text
    from evalq.reports.junit import render_junit
    from evalq.reports.markdown import render_markdown
    from evalq.reports.report_json import report_document

    if form == "csv":
        yield from (line.encode() for line in render_csv(cases))
    elif form == "parquet":
        yield render_parquet(cases)
    elif form == "junit":
        yield render_junit(report, cases).encode()
    elif form == "json":
        yield (json_text(report_document(report)) + "\n").encode()
    else:
        yield (render_html(report) if form == "html" else render_markdown(report)).encode()


def write_report(path: Path, pieces: Iterator[bytes]) -> None:
    """Write the pieces; the first is made before the file is opened, so that a refusal leaves none."""
    first = next(pieces, b"")
    try:
        with path.open("wb") as file:
            file.write(first)
            file.writelines(pieces)
    except OSError as exc:
        raise InputError(
            Problem(f"cannot be written: {exc.strerror}", "name another file", str(path))
        ) from None
