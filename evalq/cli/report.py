"""The command `evalq report`: a bake-off, a suite run or a drift check as one file."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, suggest
from evalq.errors import InputError, Problem
from evalq.reports.report_forms import SUFFIXES, ReportForm, render_report, write_report

if TYPE_CHECKING:
    from evalq.reports.cases import CaseView
    from evalq.reports.report_parts import Report
    from evalq.store.database import Database

TO_FILE = ("html", "parquet")
"""Forms that are no use on a terminal: without -o they go to a file."""

STDOUT = Path("-")

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class ReportOptions:
    """What form a report takes, and where it goes."""

    form: ReportForm = "html"
    output: Path | None = None
    force: bool = False
    monthly_cases: int | None = None


def _form_option(form: ReportForm, text: str) -> Callable[[_Command], _Command]:
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
    checked as `evalq gate` does; a run such as 7/grok-4.3 means its bake-off. Cases of a holdout are never
    in a report.
    """
    how = ReportOptions(how.form or "html", how.output, how.force, how.monthly_cases)
    path = _choose_path(name, how)
    _refuse_foreign(path, how)
    with context.open_session() as session:
        found, cases = gather(session.db, name, monthly_cases=how.monthly_cases)
        if path is None and how.form in TO_FILE:
            path = Path(f"evalq-report-{found.id}{SUFFIXES[how.form]}")
            _refuse_foreign(path, how)
        _write(path, render_report(found, cases, how.form))
    suggest(*_list_next_commands(found))
    return 0


def gather(
    db: "Database", name: str, *, monthly_cases: int | None = None
) -> "tuple[Report, Iterator[CaseView]]":
    """The report on what a name means, and all its cases, which are read when they are asked for."""
    from evalq.bakeoff import bakeoff_report
    from evalq.bakeoff.run_names import find_target
    from evalq.drift.drift_report import gather_drift_report
    from evalq.formats.suite.suite_report import gather_suite_report
    from evalq.store import bakeoffs, suite_runs

    if suite_runs.is_name(name):
        return gather_suite_report(db, name, monthly_cases=monthly_cases)
    is_run = bakeoffs.split_run_name(name) or name.startswith("run-")
    if not is_run and not bakeoffs.is_name(name):
        remedy = "give a bake-off's number, `last`, `@-2`, or a suite run such as suite-7"
        raise InputError(Problem(f"{name!r} is neither a bake-off nor a suite run", remedy))
    target = find_target(db, name)
    bakeoff_id = target.bakeoff_id
    if target.run is not None:
        note(f"{name} is a run of bake-off {bakeoff_id}, which the report is on")
    found = gather_drift_report(db, bakeoff_id, monthly_cases=monthly_cases)
    return found, bakeoff_report.iterate_cases(db, bakeoff_id)


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
    """Write to stdout or to a file, whose name is printed."""
    if path is None or path == STDOUT:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    write_report(path, pieces)
    note(f"wrote {path} ({path.stat().st_size / 1000:,.0f} kB)")
    click.echo(str(path))


def _list_next_commands(found: "Report") -> list[str]:
    return [*found.next[:1], "evalq web"]
