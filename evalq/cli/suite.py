"""The commands on suites of evals: run one, and print the schema of its report."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import json_text
from evalq.cli.progress import first_interrupt, watch_to_end
from evalq.engines.session import Session
from evalq.formats.suite.run import SuiteRunner
from evalq.results import BakeOffResult

if TYPE_CHECKING:
    from evalq.formats.suite.open import LoadedSuite, SuiteChoice
    from evalq.formats.suite.outcomes import SuiteRun
    from evalq.formats.suite.plan import SuiteRunOptions
    from evalq.formats.suite.read import Suite
    from evalq.formats.suite.run import Rounds, SuitePlan

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FILTER_OPTIONS = (
    click.option("--category", multiple=True, help="Only capability or regression evals, or a category's."),
    click.option("--tag", multiple=True, help="Only evals with this tag; given twice, with either."),
    click.option("--difficulty", multiple=True, help="Only evals of this difficulty."),
    click.option(
        "--grader-type",
        type=click.Choice(["code", "model", "human"]),
        help="Only graders of this type mark; evals without one are left out, unless the suite shares a "
        "stand-in under overrides.",
    ),
)
_ANSWER_OPTIONS = (
    click.option(
        "--judges", default="", help="Judges by name, separated by commas; default: the suite's own."
    ),
    click.option("--grader-model", help="The judge that grades, instead of those the suite names."),
    click.option("--samples", type=int, help="Answers per eval; default: the suite's, or 1."),
    click.option("--seed", type=int, default=0, show_default=True, help="Order, and simulated answers."),
    click.option(
        "--var",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="Fill {{name}}; so does the environment variable EVALQ_VAR_NAME, the place for secrets.",
    ),
)


def filter_options(command: _Command) -> _Command:
    """--category, --tag, --difficulty, --grader-type."""
    for option in reversed(_FILTER_OPTIONS):
        command = option(command)
    return command


def answer_options(command: _Command) -> _Command:
    """--judges, --grader-model, --samples, --seed, --var."""
    for option in reversed(_ANSWER_OPTIONS):
        command = option(command)
    return command


def load_suite_with_options(
    context: Context, path: Path, how: dict[str, Any], *, only: str | None = None
) -> "tuple[LoadedSuite, SuiteRunOptions]":
    """The suite a command names, with who answers it; `only` one type of eval where the command says so."""
    from evalq.formats.suite.open import load_suite, refuse_unfilled
    from evalq.formats.suite.plan import SuiteRunOptions

    choice = read_choice(context, how, only=only)
    found = load_suite(path, choice, settings=context.settings, environ=context.environment_with_keys())
    refuse_unfilled(found, context.settings)
    _say_whose_variables(context, found, choice)
    samples = how["samples"] or found.suite.config.samples or 1
    return found, SuiteRunOptions(samples, how["seed"], how["grader_model"], how["allow_unpriced"])


def _say_whose_variables(context: Context, opened: "LoadedSuite", choice: "SuiteChoice") -> None:
    """A fleet that runs already has its own environment: what is given here does not reach it."""
    if not context.has_running_fleet():
        return
    asked = {name for one in opened.found for name in getattr(one.judge, "variables_env", {})}
    for name in sorted(asked & choice.given.keys()):
        remedy = f"set EVALQ_VAR_{name.upper()} there, or keep it with `evalq keys set`"
        click.echo(f"warning: --var {name} does not reach a fleet that is running; {remedy}", err=True)


def read_choice(context: Context, how: dict[str, Any], *, only: str | None = None) -> "SuiteChoice":
    """What the options ask for; the values of placeholders are handed on to a fleet of our own."""
    from evalq.definitions.template import variable_of
    from evalq.formats.suite.open import SuiteChoice, parse_variables
    from evalq.formats.suite.plan import Filters

    given = parse_variables(how["variables"])
    context.environ.update({variable_of(name): value for name, value in given.items()})
    categories = (only,) if only else tuple(how.get("category", ()))
    wanted = Filters(
        categories, tuple(how.get("tag", ())), tuple(how.get("difficulty", ())), how.get("grader_type")
    )
    return SuiteChoice(wanted, tuple(options.split_names(how["judges"])), given)


@contextmanager
def watched_runner(
    context: Context, session: Session, cap_usd: Decimal, display: Any, *, limit_s: float | None = None
) -> Iterator[SuiteRunner]:
    """A fleet for one suite. When its time is over, what runs is paused and the rest is not started.

    After a Ctrl-C the block ends with click's Abort, exit code 130.
    """
    deadline = None if limit_s is None else time.monotonic() + limit_s
    started: list[int] = []
    with first_interrupt() as interrupt:

        def is_over() -> bool:
            return interrupt() or (deadline is not None and time.monotonic() >= deadline)

        def watch(bakeoff_id: int) -> BakeOffResult | None:
            started.append(bakeoff_id)
            result = watch_to_end(
                context, session, bakeoff_id, RunOptions(display=display), interrupt=is_over
            )
            return None if is_over() and result.state != "concluded" else result

        yield SuiteRunner(session, cap_usd, context.root, watch, is_over)
    if interrupt():
        click.echo("stopped: no more is spent, every answer paid for is stored", err=True)
        for bakeoff_id in started[-1:]:
            click.echo(f"next  evalq resume {bakeoff_id}", err=True)
        raise click.exceptions.Abort
    if limit_s is not None and is_over():
        click.echo(f"timeout_global: {limit_s:g} s are over; what was not reached is skipped", err=True)


@click.group()
def suite() -> None:
    """Run suites of capability and regression evals, and report on them."""


@suite.command("schema")
def schema() -> int:
    """Print the JSON Schema of the report."""
    from evalq.formats.suite.load import schema_text

    click.echo(schema_text().rstrip())
    return 0


@suite.command("run")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@filter_options
@answer_options
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
@pass_context
def run(context: Context, /, path: Path, **how: Any) -> int:
    """Run the evals of a suite and write its report.

    FILE is a suite, a file of evals, or a folder with eval-suite.yaml. What fails is run again as often as
    the suite says. The report goes to results/DATE/run-HHMMSS as JSON, Markdown and HTML. Exit code 1 says
    that an eval failed, 3 that some have no verdict.
    """
    from evalq.formats.suite.open import plan_suite

    opened, run_options = load_suite_with_options(context, path, how)
    settings, cap_usd = context.settings, context.cap_usd(how["max_cost_usd"])
    if how["dry_run"]:
        _preflight(plan_suite(opened, run_options, settings=settings, db=None, inline=how["inline"]), cap_usd)
        return 0
    with context.open_session(fleet=True) as session:
        asked = plan_suite(opened, run_options, settings=settings, db=session.db, inline=how["inline"])
        _preflight(asked, cap_usd)
        return _run(context, session, asked, cap_usd, how)


def _preflight(asked: "SuitePlan", cap_usd: Decimal) -> None:
    from evalq.bakeoff.portfolio import refuse_total_over_cap
    from evalq.cli.bakeoff import describe_plan

    for warning in asked.suite.warnings:
        click.echo(f"warning: {warning}", err=True)
    for part in asked.parts:
        click.echo(f"{describe_plan(part.plan)}, cap ${cap_usd:.2f}", err=True)
    for judge, one in asked.planned.lacking:
        click.echo(f"skipped: {one.id} of {judge} has no baseline; evalq baseline capture", err=True)
    refuse_total_over_cap([part.plan for part in asked.parts], cap_usd)


def _run(
    context: Context, session: "Session", asked: "SuitePlan", cap_usd: Decimal, how: dict[str, Any]
) -> int:
    from evalq.formats.suite import baselines
    from evalq.formats.suite.run import exit_code

    done, rounds = run_plan(context, session, asked, cap_usd, how["display"])
    baselines.note(session.db, asked.suite, asked.evals, done.judges)
    code = exit_code(done.judges, rounds)
    show_report(context, session, asked.suite, done, how)
    return code


def run_plan(
    context: Context, session: "Session", asked: "SuitePlan", cap_usd: Decimal, display: Any
) -> "tuple[SuiteRun, Rounds]":
    """Run a suite on the fleet, watched on the screen, within its own time limit."""
    from evalq.formats.suite.run import run as run_suite

    limit_s = asked.suite.config.timeout_global
    with watched_runner(context, session, cap_usd, display, limit_s=limit_s) as fleet:
        return run_suite(fleet, asked, started=datetime.now(UTC))


def show_report(
    context: Context, session: "Session", suite: "Suite", done: "SuiteRun", how: dict[str, Any]
) -> None:
    """Write the report's files, say what it came to, and raise an alert where the suite wants one."""
    from evalq.definitions.files import display_path
    from evalq.formats.suite.report import report_of
    from evalq.formats.suite.report_files import results_folder, write_results

    document = report_of(done)
    folder = how.get("output_dir") or results_folder(suite, context.cwd)
    written = write_results(folder, document, suite.reporting.format, now=datetime.now(UTC))
    if how["as_json"]:
        click.echo(json_text(document))
    else:
        _print(document, verbose=how.get("verbose", False))
    for path in written:
        click.echo(f"wrote {display_path(path)}", err=True)
    failed = any(one.status == "failed" for found in done.judges for one in found.evals)
    if failed and suite.reporting.notify_on_failure:
        send_alert(context, session, document)
    click.echo(
        f"next  evalq gate {display_path(written[0])}   evalq inspect {done.bakeoffs[0]} --show-failures",
        err=True,
    )


def send_alert(
    context: Context, session: "Session", document: dict[str, Any], *, what: str = "failed"
) -> None:
    """Raise an alert, say so on stderr, and deliver it: an embedded fleet ends with this command."""
    from evalq.drift.alerts import deliver
    from evalq.formats.suite.run import notify

    text = notify(session.db, document, what=what)
    if text is not None:
        click.echo(f"ALERT  {text}", err=True)
        deliver(session.db, session.settings.alerts, context.environment_with_keys())


def _print(document: dict[str, Any], *, verbose: bool) -> None:
    from evalq.formats.suite.report import render_suite_plain

    click.echo(render_suite_plain(document, verbose=verbose))
