"""The command `evalq report`: a bake-off, a suite run or a drift check as one file."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import json_text, note, suggest
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.reports.cases import CaseView
    from evalq.reports.report_parts import Report
    from evalq.store.database import Database

Form = Literal["html", "md", "json", "junit", "csv", "parquet"]
SUFFIXES: dict[Form, str] = {
    "html": ".html",
    "md": ".md",
    "json": ".json",
    "junit": ".xml",
    "csv": ".csv",
    "parquet": ".parquet",
}
TO_FILE = ("html", "parquet")
"""Forms that are no use on a terminal: without -o they go to a file."""

STDOUT = Path("-")

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class ReportOptions:
    """What form a report takes, and where it goes."""

    form: Form = "html"
    output: Path | None = None
    force: bool = False
    monthly_cases: int | None = None


def _form_option(form: Form, text: str) -> Callable[[_Command], _Command]:
    """A flag that chooses a form."""
    return click.option(f"--{form}", "form", flag_value=form, help=text)


@click.command()
@options.bakeoff_id("name", metavar="ID", default="last")
@_form_option("html", "One HTML file that opens without a network. The default.")
@_form_option("md", "Markdown that fits a comment of a pull request.")
@_form_option("json", "The evalq.report/1 document.")
@_form_option("junit", "JUnit XML for build servers; failures and errors apart.")
@_form_option("csv", "One row per case, judge and sample.")
@_form_option("parquet", "The same rows as Parquet; needs evalq[parquet].")
@click.option(
    "-o",
    "output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Write to FILE, or to stdout with `-o -`; default: evalq-report-ID.html here, other forms: stdout.",
)
@click.option("--force", is_flag=True, help="Replace FILE even if evalq did not write it.")
@click.option(
    "--monthly-cases", type=click.IntRange(1), help="Show what this many cases a month would cost by judge."
)
@options.collect_options(ReportOptions, "how")
@pass_context
def report(context: Context, name: str, how: ReportOptions) -> int:
    """Write a report to share: the answer first, then numbers, charts, cases, method.

    ID is a bake-off, a drift check's bake-off, `last`, or a suite run such as suite-7, whose thresholds are
    checked as `evalq gate` does. Cases of a holdout are never in a report.
    """
    how = ReportOptions(how.form or "html", how.output, how.force, how.monthly_cases)
    path = _choose_path(name, how)
    _refuse_foreign(path, how)
    with context.open_session() as session:
        found, cases = gather(session.db, name, monthly_cases=how.monthly_cases)
        if path is None and how.form in TO_FILE:
            path = Path(f"evalq-report-{found.id}{SUFFIXES[how.form]}")
            _refuse_foreign(path, how)
        _write(path, render(found, cases, how.form))
    suggest(*_list_next_commands(found))
    return 0


def gather(
    db: "Database", name: str, *, monthly_cases: int | None = None
) -> "tuple[Report, Iterator[CaseView]]":
    """The report on what a name means, and all its cases, which are read when they are asked for."""
    from evalq.bakeoff import bakeoff_report
    from evalq.drift.drift_report import gather_drift_report
    from evalq.formats.suite.suite_report import gather_suite_report
    from evalq.store import bakeoffs, suite_runs

    if suite_runs.is_name(name):
        return gather_suite_report(db, name, monthly_cases=monthly_cases)
    if not bakeoffs.is_name(name):
        remedy = "give a bake-off's number, `last`, `@-2`, or a suite run such as suite-7"
        raise InputError(Problem(f"{name!r} is neither a bake-off nor a suite run", remedy))
    bakeoff_id = bakeoffs.find(db, name)
    found = gather_drift_report(db, bakeoff_id, monthly_cases=monthly_cases)
    return found, bakeoff_report.iterate_cases(db, bakeoff_id)


def render(found: "Report", cases: "Iterator[CaseView]", form: Form) -> Iterator[bytes]:
    """The report in a form, in pieces."""
    from evalq.reports.answer_table import render_csv, render_parquet
    from evalq.reports.html_page import render_html
    from evalq.reports.junit import render_junit
    from evalq.reports.markdown import render_markdown
    from evalq.reports.report_json import report_document

    if form == "csv":
        yield from (line.encode() for line in render_csv(cases))
    elif form == "parquet":
        yield render_parquet(cases)
    elif form == "junit":
        yield render_junit(found, cases).encode()
    elif form == "json":
        yield (json_text(report_document(found)) + "\n").encode()
    else:
        yield (render_html(found) if form == "html" else render_markdown(found)).encode()


def _choose_path(name: str, how: ReportOptions) -> Path | None:
    """The file to write as far as it is known before the database is asked; None for stdout, or not yet."""
    if how.output is not None:
        return how.output
    if how.form in TO_FILE and (name.isdecimal() or name.startswith("suite-")):
        return Path(f"evalq-report-{name}{SUFFIXES[how.form]}")
    return None


def _refuse_foreign(path: Path | None, how: ReportOptions) -> None:
    from evalq.definitions.ownership import refuse_foreign
    from evalq.reports.own_files import is_own_report

    if path is not None and path != STDOUT:
        refuse_foreign(path, is_ours=is_own_report, force=how.force)


def _write(path: Path | None, pieces: Iterator[bytes]) -> None:
    """Write the pieces; the first is made before the file is opened, so that a refusal leaves none."""
    first = next(pieces)
    if path is None or path == STDOUT:
        for piece in (first, *pieces):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    try:
        with path.open("wb") as file:
            file.write(first)
            file.writelines(pieces)
    except OSError as exc:
        raise InputError(
            Problem(f"cannot be written: {exc.strerror}", "name another file", str(path))
        ) from None
    note(f"wrote {path} ({path.stat().st_size / 1000:,.0f} kB)")
    click.echo(str(path))


def _list_next_commands(found: "Report") -> list[str]:
    return [*found.next[:1], "evalq web"]
