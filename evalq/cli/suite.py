"""The commands on suites of evals: create one, run it, report on it, and print the schema of a report."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, suggest, warn
from evalq.cli.preflight import describe_plan, look_up_costs
from evalq.definitions.money import money

if TYPE_CHECKING:
    from evalq.engines.session import Session
    from evalq.formats.suite.choice import LoadedSuite, SuiteChoice
    from evalq.formats.suite.new_suite import GraderChoice
    from evalq.formats.suite.outcomes import SuiteRun
    from evalq.formats.suite.plan import SuitePlan, SuiteRunOptions
    from evalq.formats.suite.read import Suite
    from evalq.formats.suite.run import SuiteRunner
    from evalq.results import BakeOffResult

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FILTER_OPTIONS = (
    click.option(
        "--category",
        multiple=True,
        help="Only capability evals, regression evals, or evals of this category.",
    ),
    click.option("--tag", multiple=True, help="Only evals with this tag; given twice, with either."),
    click.option("--difficulty", multiple=True, help="Only evals of this difficulty."),
    click.option(
        "--grader-type",
        type=click.Choice(["code", "model", "human"]),
        help="Grade only with graders of this type; evals without one are left out, unless the suite has an "
        "override for it.",
    ),
)
_ANSWER_OPTIONS = (
    options.judges("Judges by name, separated by commas; default: the suite's own."),
    options.grader_model("The model that grades, instead of those the suite names."),
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


@dataclass(frozen=True)
class SuiteOptions:
    """Which evals of a suite to run, and how they are answered."""

    category: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    grader_type: Literal["code", "model", "human"] | None = None
    judges: Sequence[str] = ()
    grader_model: str | None = None
    samples: int | None = None
    seed: int = 0
    variables: tuple[str, ...] = ()


collect_suite_options = options.collect_options(SuiteOptions, "wanted")


def load_suite_with_options(
    context: Context, path: Path, wanted: SuiteOptions, *, allow_unpriced: bool
) -> "tuple[LoadedSuite, SuiteRunOptions]":
    """The suite of a command, filtered and assigned by its options."""
    from evalq.formats.suite.choice import load_suite, refuse_unset_variables
    from evalq.formats.suite.plan import SuiteRunOptions

    choice = _read_choice(context, wanted)
    loaded = load_suite(path, choice, settings=context.settings, environ=context.environment_with_keys())
    refuse_unset_variables(loaded, context.settings)
    _warn_of_unreached_variables(context, loaded, choice)
    samples = wanted.samples or loaded.suite.config.samples or 1
    return loaded, SuiteRunOptions(samples, wanted.seed, wanted.grader_model, allow_unpriced)


def _warn_of_unreached_variables(context: Context, loaded: "LoadedSuite", choice: "SuiteChoice") -> None:
    """Warn that --var does not reach a fleet that already runs: it has an environment of its own."""
    if not context.has_running_fleet():
        return
    needed: set[str] = set()
    for one in loaded.assignments:
        needed |= set(getattr(one.judge, "variables_env", {}))
    for name in sorted(needed & choice.variables.keys()):
        remedy = f"set EVALQ_VAR_{name.upper()} there, or keep it with `evalq keys set`"
        warn(f"--var {name} does not reach a fleet that is running; {remedy}")


def _read_choice(context: Context, wanted: SuiteOptions) -> "SuiteChoice":
    """The choice of the options; values of placeholders also reach a fleet that this command starts."""
    from evalq.definitions.template import variable_of
    from evalq.formats.suite.choice import Filters, SuiteChoice, parse_variables

    variables = parse_variables(wanted.variables)
    context.environ.update({variable_of(name): value for name, value in variables.items()})
    filters = Filters(wanted.category, wanted.tag, wanted.difficulty, wanted.grader_type)
    return SuiteChoice(filters, tuple(wanted.judges), variables)


@contextmanager
def watched_runner(
    context: Context, session: "Session", run: RunOptions, *, limit_s: float | None = None
) -> "Iterator[SuiteRunner]":
    """A runner that shows progress. At its time limit it pauses the bake-off and starts no other.

    After a Ctrl-C the block ends with click's Abort, exit code 130.
    """
    from evalq.cli.progress import first_interrupt, watch_to_end
    from evalq.formats.suite.run import SuiteRunner

    deadline = None if limit_s is None else time.monotonic() + limit_s
    started: list[int] = []
    with first_interrupt() as interrupt:

        def is_over() -> bool:
            return interrupt() or (deadline is not None and time.monotonic() >= deadline)

        def watch(bakeoff_id: int) -> "BakeOffResult | None":
            started.append(bakeoff_id)
            result = watch_to_end(context, session, bakeoff_id, run, interrupt=is_over)
            return None if is_over() and result.state != "concluded" else result

        yield SuiteRunner(
            session, context.cap_usd(run.max_cost_usd), context.root, watch, is_over, _announce_id
        )
    if interrupt():
        note("stopped: no more is spent, every answer paid for is stored")
        if started:
            suggest(f"evalq resume {started[-1]}")
        raise click.exceptions.Abort
    if limit_s is not None and is_over():
        note(f"timeout_global: {limit_s:g} s are over; evals not reached are skipped")


def _announce_id(suite_run: str) -> None:
    note(f"suite run {suite_run}")


@click.group()
def suite() -> None:
    """Create and run suites of capability and regression evals, and report on them."""


@suite.command("create")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--name", help="The suite's name; default: the folder's.")
@click.option("--capability", metavar="ID", multiple=True, help="Add a capability eval with this id.")
@click.option("--regression", metavar="ID", multiple=True, help="Add a regression eval with this id.")
@click.option(
    "--grader",
    type=click.Choice(["code", "function", "model", "human"]),
    default="code",
    show_default=True,
    help="What grades the new capability evals; function runs the code of the answer.",
)
def create_command(
    folder: Path,
    name: str | None,
    capability: tuple[str, ...],
    regression: tuple[str, ...],
    grader: "GraderChoice",
) -> int:
    """Write a new suite that runs as it is, or add evals to one.

    FOLDER gets eval-suite.yaml, config/, and one file per eval in capability/ and regression/. Nothing is
    overwritten.
    """
    from evalq.definitions.files import display_path
    from evalq.formats.suite.new_suite import create_suite, list_missing_references

    title = name or folder.resolve().name
    written = create_suite(folder, name=title, capability=capability, regression=regression, grader=grader)
    for path in written:
        click.echo(f"wrote {display_path(path)}")
    for line in list_missing_references(folder, written):
        note(f"add to evals: of {display_path(folder / 'eval-suite.yaml')}: {line}")
    suggest(f"evalq check {folder}", f"evalq suite run {folder} --judges sim-opus-4.7")
    return 0


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
@click.option("--verbose", is_flag=True, help="Print a line for every eval.")
@click.option(
    "--output-dir", type=click.Path(path_type=Path), help="Where results go, instead of the suite's."
)
@options.max_cost
@options.allow_unpriced
@options.dry_run
@options.as_json("The report on stdout, as JSON.")
@options.display
@collect_suite_options
@options.collect_run_options
@pass_context
def run_command(
    context: Context,
    path: Path,
    wanted: SuiteOptions,
    inline: bool,
    verbose: bool,
    output_dir: Path | None,
    run: RunOptions,
) -> int:
    """Run the evals of a suite and write its report.

    FILE is a suite, a file of evals, or a folder with eval-suite.yaml. Evals that fail run again as often as
    the suite sets. The report goes to results/DATE/run-HHMMSS as JSON, Markdown and HTML. Exit code 1: an
    eval failed; 3: some have no verdict.
    """
    from evalq.formats.suite.plan import plan_suite

    loaded, how = load_suite_with_options(context, path, wanted, allow_unpriced=run.allow_unpriced)
    settings, cap_usd = context.settings, context.cap_usd(run.max_cost_usd)
    if run.dry_run:
        plan = plan_suite(loaded, how, settings=settings, db=None, inline=inline)
        plans = look_up_costs(context, [bakeoff.plan for bakeoff in plan.bakeoffs])
        _announce(plan.with_plans(plans), cap_usd)
        return 0
    with context.open_session(fleet=True) as session:
        plan = plan_suite(loaded, how, settings=settings, db=session.db, inline=inline)
        _announce(plan, cap_usd)
        done, code = run_plan(context, session, plan, run)
        _show_report(context, session, plan.suite, done, run, output_dir=output_dir, verbose=verbose)
    return code


def _announce(plan: "SuitePlan", cap_usd: Decimal) -> None:
    """Print what will be asked and what it may cost; refuse a plan that costs more than the cap."""
    from evalq.bakeoff.portfolio import refuse_total_over_cap

    for warning in plan.suite.warnings:
        warn(warning)
    for bakeoff in plan.bakeoffs:
        note(f"{describe_plan(bakeoff.plan)}, cap ${money(cap_usd)}")
    for judge, one in plan.lacking:
        note(f"skipped: {one.id} of {judge} has no baseline; evalq baseline capture")
    refuse_total_over_cap([bakeoff.plan for bakeoff in plan.bakeoffs], cap_usd)


def run_plan(
    context: Context, session: "Session", plan: "SuitePlan", run: RunOptions
) -> "tuple[SuiteRun, int]":
    """Run a suite within its time limit and record its comparisons; return the run and an exit code."""
    from evalq.formats.suite.baselines import record_comparisons
    from evalq.formats.suite.run import exit_code, run_suite

    limit_s = plan.suite.config.timeout_global
    with watched_runner(context, session, run, limit_s=limit_s) as runner:
        done, rounds = run_suite(runner, plan)
    record_comparisons(session.db, plan.suite, plan.evals, done.judges)
    return done, exit_code(done.judges, rounds)


def _show_report(
    context: Context,
    session: "Session",
    suite: "Suite",
    done: "SuiteRun",
    run: RunOptions,
    *,
    output_dir: Path | None,
    verbose: bool,
) -> None:
    """Write the report's files, print it, and raise an alert if the suite wants one."""
    from evalq.definitions.files import display_path
    from evalq.formats.suite.render import render_plain
    from evalq.formats.suite.report import report_of
    from evalq.formats.suite.report_files import results_folder, write_results
    from evalq.store import suite_runs

    document = report_of(done)
    folder = output_dir or results_folder(suite, context.cwd)
    written = write_results(folder, document, suite.reporting.format, now=datetime.now(UTC))
    suite_runs.note_report_files(session.db, suite_runs.find(session.db, done.id).id, written)
    if run.as_json:
        print_json(document)
    else:
        click.echo(render_plain(document, verbose=verbose))
    for path in written:
        note(f"wrote {display_path(path)}")
    if suite.reporting.notify_on_failure and done.has_failures:
        send_alert(context, session, document)
    suggest(*list_next_commands(done.id, done.bakeoffs))


def list_next_commands(suite_run: str, bakeoffs: Sequence[int]) -> list[str]:
    """What to run after a suite; it may have reached no bake-off."""
    commands = [f"evalq gate {suite_run}"]
    if bakeoffs:
        commands.append(f"evalq inspect {bakeoffs[0]} --show-failures")
    return [*commands, f"evalq report {suite_run}", "evalq web"]


@suite.command("report")
@options.bakeoff_id("name", metavar="ID", default="last")
@click.option("--output-dir", type=click.Path(path_type=Path), help="Write the report's files there, too.")
@click.option("--verbose", is_flag=True, help="Print a line for every eval.")
@options.as_json("The report on stdout, as JSON.")
@pass_context
def report_command(context: Context, name: str, output_dir: Path | None, verbose: bool, as_json: bool) -> int:
    """Report on a suite run again, with the verdicts as they are now.

    ID is what `suite run` prints, such as suite-7, or `last`.
    """
    from evalq.formats.suite.report_files import SUFFIXES, write_results

    document = read_report(context, name)
    show_recorded_report(document, verbose=verbose, as_json=as_json)
    if output_dir:
        for path in write_results(output_dir, document, list(SUFFIXES), now=datetime.now(UTC)):
            note(f"wrote {path}")
    return 0


def read_report(context: Context, name: str) -> dict[str, Any]:
    """The report of a recorded suite run."""
    from evalq.formats.suite.collect import run_of_record
    from evalq.formats.suite.report import report_of
    from evalq.store import suite_runs

    with context.open_session() as session:
        return report_of(run_of_record(session.db, suite_runs.find(session.db, name)))


def show_recorded_report(document: dict[str, Any], *, verbose: bool, as_json: bool) -> None:
    """Print the report of a recorded suite run, and what to do next."""
    from evalq.formats.suite.render import render_plain

    if as_json:
        print_json(document)
    else:
        click.echo(render_plain(document, verbose=verbose))
    about = document["eval_report"]["metadata"]
    suggest(*list_next_commands(about["suite_run"], about["bakeoffs"]))


def send_alert(
    context: Context, session: "Session", document: dict[str, Any], *, what: str = "failed"
) -> None:
    """Raise an alert and deliver it at once: an embedded fleet ends with this command."""
    from evalq.drift.alerts import deliver
    from evalq.formats.suite.run import raise_suite_alert

    text = raise_suite_alert(session.db, document, what=what)
    if text is not None:
        note(f"ALERT  {text}")
        deliver(session.db, session.settings.alerts, context.environment_with_keys())
