"""The commands on suites of evals: run one, and print the schema of its report."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options, suite_options
from evalq.cli.json_output import json_text
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.importers.suite import Suite
    from evalq.reports.suite_outcomes import SuiteRun
    from evalq.session import Session
    from evalq.suites.opening import Opened
    from evalq.suites.planning import Wish
    from evalq.suites.running import Rounds
    from evalq.suites.suite_run import Asked


@click.group()
def suite() -> None:
    """Run suites of capability and regression evals, and report on them."""


@suite.command("schema")
def schema() -> int:
    """Print the JSON Schema of the report."""
    from evalq.importers.suite_reports import schema_text

    click.echo(schema_text().rstrip())
    return 0


@suite.command("run")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@suite_options.filters
@suite_options.asking
@click.option(
    "--inline", is_flag=True, help="Compare with the baselines in the files, not with captured ones."
)
@click.option("--verbose", is_flag=True, help="Say of every eval how it went.")
@click.option(
    "--output-dir", type=click.Path(path_type=Path), help="Where results go, instead of the suite's."
)
@options.max_cost
@options.allow_unpriced
@options.dry_run
@click.option("--json", "as_json", is_flag=True, help="The report on stdout, as JSON.")
@options.display
def run(path: Path, **how: Any) -> int:
    """Run the evals of a suite and write its report.

    FILE is a suite, a file of evals, or a folder with eval-suite.yaml. What fails is run again as often as
    the suite says. The report goes to results/DATE/run-HHMMSS as JSON, Markdown and HTML. Exit code 1 says
    that an eval failed, 3 that some have no verdict.
    """
    opened, wish = suite_options.opened(path, how)
    settings = load_settings(Path.cwd(), options.environ())
    cap_usd = settings.max_cost_usd if how["max_cost_usd"] is None else how["max_cost_usd"]
    if how["dry_run"]:
        _preflight(_planned(opened, wish, None, inline=how["inline"]), cap_usd)
        return 0
    from evalq.session import open_session

    with open_session(settings, fleet=True) as session:
        asked = _planned(opened, wish, session, inline=how["inline"])
        _preflight(asked, cap_usd)
        return _run(session, asked, cap_usd, how)


def _planned(opened: "Opened", wish: "Wish", session: "Session | None", *, inline: bool) -> "Asked":
    from evalq.suites.opening import plan_suite

    settings = load_settings(Path.cwd(), options.environ())
    return plan_suite(opened, wish, settings=settings, db=session.db if session else None, inline=inline)


def _preflight(asked: "Asked", cap_usd: Decimal) -> None:
    from evalq.cli.bakeoff import preflight
    from evalq.portfolio import refuse_total_over_cap

    for warning in asked.suite.warnings:
        click.echo(f"warning: {warning}", err=True)
    for part in asked.parts:
        click.echo(f"{preflight(part.plan)}, cap ${cap_usd:.2f}", err=True)
    for judge, one in asked.planned.lacking:
        click.echo(f"skipped: {one.id} of {judge} has no baseline; evalq baseline capture", err=True)
    refuse_total_over_cap([part.plan for part in asked.parts], cap_usd)


def _run(session: "Session", asked: "Asked", cap_usd: Decimal, how: dict[str, Any]) -> int:
    from evalq.suites import baselines
    from evalq.suites.suite_run import exit_code

    done, rounds = run_asked(session, asked, cap_usd, how["display"])
    baselines.note(session.db, asked.suite, asked.evals, done.judges)
    code = exit_code(done.judges, rounds)
    show_report(session, asked.suite, done, how)
    return code


def run_asked(
    session: "Session", asked: "Asked", cap_usd: Decimal, display: Any
) -> "tuple[SuiteRun, Rounds]":
    """Run a suite on the fleet, watched on the screen, within its own time limit."""
    from evalq.cli.suite_watching import watched_fleet
    from evalq.suites.suite_run import run as run_suite

    limit_s = asked.suite.config.timeout_global
    with watched_fleet(session, cap_usd, display, limit_s=limit_s) as fleet:
        return run_suite(fleet, asked, started=datetime.now(UTC))


def show_report(session: "Session", suite: "Suite", done: "SuiteRun", how: dict[str, Any]) -> None:
    """Write the report's files, say what it came to, and raise an alert where the suite wants one."""
    from evalq.definitions.files import shown
    from evalq.reports.suite import report_of
    from evalq.suites.results_folder import results_folder, write_results

    document = report_of(done)
    folder = how.get("output_dir") or results_folder(suite, Path.cwd())
    written = write_results(folder, document, suite.reporting.format, now=datetime.now(UTC))
    if how["as_json"]:
        click.echo(json_text(document))
    else:
        _print(document, verbose=how.get("verbose", False))
    for path in written:
        click.echo(f"wrote {shown(path)}", err=True)
    failed = any(one.status == "failed" for found in done.judges for one in found.evals)
    if failed and suite.reporting.notify_on_failure:
        send_alert(session, document)
    click.echo(
        f"next  evalq gate {shown(written[0])}   evalq inspect {done.bakeoffs[0]} --show-failures", err=True
    )


def send_alert(session: "Session", document: dict[str, Any], *, what: str = "failed") -> None:
    """Raise an alert, say so on stderr, and deliver it: an embedded fleet ends with this command."""
    import os

    from evalq.alerts.delivery import deliver
    from evalq.keys import environment_with_keys
    from evalq.suites.suite_run import notify

    text = notify(session.db, document, what=what)
    if text is not None:
        click.echo(f"ALERT  {text}", err=True)
        deliver(session.db, session.settings.alerts, environment_with_keys(os.environ))


def _print(document: dict[str, Any], *, verbose: bool) -> None:
    from evalq.reports.suite_plain import render_suite_plain

    click.echo(render_suite_plain(document, verbose=verbose))
