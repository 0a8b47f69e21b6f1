"""The commands on baselines: capture, show, compare."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.cli.suite import (
    SuiteOptions,
    answer_options,
    collect_suite_options,
    list_next_commands,
    load_suite_with_options,
    run_plan,
    watched_runner,
)
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.formats.suite.baselines import BaselineRow, Baselines
    from evalq.formats.suite.capture import CapturedBaselines
    from evalq.formats.suite.choice import LoadedSuite
    from evalq.formats.suite.outcomes import SuiteRun
    from evalq.formats.suite.plan import SuiteRunOptions

SCHEMA = "evalq.baselines/1"

_WORDS = {"passed": "held", "failed": "REGRESSED", "skipped": "unknown"}
_COLUMNS = (
    "eval_id",
    "judge",
    "source",
    "version",
    "captured_at",
    "criticality",
    "last_passed",
    "failure_count",
)
_FILE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))


@click.group()
def baseline() -> None:
    """Capture, show and compare the baselines of a suite."""


@baseline.command("capture")
@_FILE
@answer_options
@click.option("--tag", multiple=True, help="Only evals with this tag; given twice, with either.")
@click.option("--version", help="The version or commit that gives the outputs.")
@click.option(
    "--accept-doubtful",
    is_flag=True,
    help="Keep answers with an error status, out of their tolerance, or failing a grader, too.",
)
@click.option(
    "--force", is_flag=True, help="Replace files under baselines/ even if evalq did not write them."
)
@options.max_cost
@options.allow_unpriced
@options.as_json("The captured baselines, as JSON.")
@options.display
@collect_suite_options
@options.collect_run_options
@pass_context
def capture(
    context: Context,
    path: Path,
    wanted: SuiteOptions,
    version: str | None,
    accept_doubtful: bool,
    force: bool,
    run: RunOptions,
) -> int:
    """Run the regression evals of FILE once and keep their outputs as baselines.

    They are kept for each judge, or tested system, in the database and under baselines/ in the suite's
    folder; matchers such as {{any_uuid}} of the suite's own baselines stay. Exit code 3: some evals gave no
    output, or one that is not kept because it is doubtful.
    """
    from evalq.bakeoff.portfolio import refuse_total_over_cap
    from evalq.formats.suite.baselines import refuse_foreign_files
    from evalq.formats.suite.capture import capture as run_capture
    from evalq.formats.suite.plan import plan_capture

    _refuse_recorded(path)
    loaded, how = _load_regressions(context, path, wanted, run)
    plan = plan_capture(loaded, how, settings=context.settings)
    refuse_foreign_files(plan.suite, (one.id for one in plan.suite.evals), force=force)
    refuse_total_over_cap([bakeoff.plan for bakeoff in plan.bakeoffs], context.cap_usd(run.max_cost_usd))
    with context.open_session(fleet=True) as session, watched_runner(context, session, run) as runner:
        found = run_capture(
            runner, plan, version=version, now=datetime.now(UTC), accept_doubtful=accept_doubtful
        )
    _show_captured(found, as_json=run.as_json)
    _note_doubtful(found, accepted=accept_doubtful)
    suggest(f"evalq baseline compare {path}")
    if found.rounds.is_capped:
        return 4
    is_incomplete = found.missing or (found.doubtful and not accept_doubtful)
    return 3 if is_incomplete else 0


@baseline.command("show")
@_FILE
@click.option("--id", "eval_id", help="Only this eval, with its output.")
@options.as_json("The evalq.baselines/1 document.")
@pass_context
def show(context: Context, path: Path, eval_id: str | None, as_json: bool) -> int:
    """Show the baselines of FILE: their version, when they were captured, and the failures since then.

    FILE may also be a suite run, such as suite-7: the baselines of its regressions, as the database has them.
    """
    suite, rows = _read_baselines(context, path)
    rows = [row for row in rows if eval_id in (None, row.eval_id)]
    if eval_id is not None and not rows:
        raise InputError(
            Problem(f"the suite has no regression {eval_id!r}", "`evalq baseline show` lists them")
        )
    if as_json:
        listed = [asdict(row) for row in rows]
        print_json({"schema": SCHEMA, "suite": suite, "baselines": listed})
    else:
        _print_rows(rows, with_output=eval_id is not None)
    suggest(f"evalq baseline compare {path}")
    return 0


@baseline.command("compare")
@_FILE
@answer_options
@click.option("--tag", multiple=True, help="Only evals with this tag; given twice, with either.")
@click.option(
    "--inline", is_flag=True, help="Compare with the baselines in the files, not with captured ones."
)
@options.max_cost
@options.allow_unpriced
@options.as_json("The comparisons as JSON.")
@options.display
@collect_suite_options
@options.collect_run_options
@pass_context
def compare(context: Context, path: Path, wanted: SuiteOptions, inline: bool, run: RunOptions) -> int:
    """Run the regression evals of FILE and compare their outputs with the baselines.

    FILE may also be a suite run, such as suite-7: its comparisons are shown, and nothing is run.
    Exit code 1: something got worse; 3: inconclusive.
    """
    from evalq.bakeoff.portfolio import refuse_total_over_cap
    from evalq.formats.suite.baselines import load_baselines
    from evalq.formats.suite.plan import plan_suite

    if _is_recorded(path):
        return _compare_recorded(context, str(path), as_json=run.as_json)
    loaded, how = _load_regressions(context, path, wanted, run)
    with context.open_session(fleet=True) as session:
        plan = plan_suite(loaded, how, settings=context.settings, db=session.db, inline=inline)
        refuse_total_over_cap([bakeoff.plan for bakeoff in plan.bakeoffs], context.cap_usd(run.max_cost_usd))
        done, code = run_plan(context, session, plan, run)
        known = load_baselines(plan.suite, session.db)
    _show_compared(done, known, as_json=run.as_json)
    return code


def _is_recorded(path: Path) -> bool:
    """Whether the argument names a suite run; a file of that name comes first."""
    from evalq.store import suite_runs

    return suite_runs.is_name(str(path)) and not path.exists()


def _refuse_recorded(path: Path) -> None:
    if _is_recorded(path):
        raise InputError(
            Problem(
                f"capture asks for new outputs, and {path} is a run that is over",
                f"give the suite's file or folder; `evalq baseline show {path}` shows what is captured",
            )
        )


def _read_baselines(context: Context, path: Path) -> "tuple[str, list[BaselineRow]]":
    """The name of a suite and its baselines: those of a file and the database, or of a recorded run."""
    from evalq.formats.suite.baselines import baseline_rows, baselines_of_suite, load_baselines, rows_of_run
    from evalq.formats.suite.collect import run_of_record
    from evalq.formats.suite.read import read_suite
    from evalq.store import suite_runs

    if _is_recorded(path):
        with context.open_session() as session:
            done = run_of_record(session.db, suite_runs.find(session.db, str(path)))
            return done.suite, rows_of_run(done, baselines_of_suite(session.db, done.suite))
    suite = read_suite(path)
    with context.open_session() as session:
        return suite.name, baseline_rows(suite, load_baselines(suite, session.db))


def _compare_recorded(context: Context, name: str, *, as_json: bool) -> int:
    """Show how the regressions of a suite run did against their baselines."""
    from evalq.formats.suite.baselines import baselines_of_suite
    from evalq.formats.suite.collect import run_of_record
    from evalq.formats.suite.run import verdict_code
    from evalq.store import suite_runs

    with context.open_session() as session:
        done = run_of_record(session.db, suite_runs.find(session.db, name))
        known = baselines_of_suite(session.db, done.suite)
    _show_compared(done, known, as_json=as_json)
    return verdict_code(done.judges)


def _load_regressions(
    context: Context, path: Path, wanted: SuiteOptions, run: RunOptions
) -> "tuple[LoadedSuite, SuiteRunOptions]":
    regressions = replace(wanted, category=("regression",))
    return load_suite_with_options(context, path, regressions, allow_unpriced=run.allow_unpriced)


def _show_captured(found: "CapturedBaselines", *, as_json: bool) -> None:
    from evalq.definitions.files import display_path
    from evalq.store.suite_runs import name_of

    if as_json:
        kept = []
        for one in found.kept:
            fields = {"eval_id": one.eval_id, "judge": one.judge}
            kept.append({**fields, "version": one.version, "output": one.output})
        missing = [{"eval_id": eval_id, "judge": judge} for eval_id, judge in found.missing]
        bakeoffs = list(found.rounds.ids)
        doubtful = [dict(zip(("eval_id", "judge", "reason"), one, strict=True)) for one in found.doubtful]
        document = {"schema": SCHEMA, "captured": kept, "missing": missing, "doubtful": doubtful}
        suite_run = name_of(found.rounds.suite_run_id)
        print_json({**document, "suite_run": suite_run, "bakeoffs": bakeoffs})
    else:
        for one in found.kept:
            version = f" ({one.version})" if one.version else ""
            click.echo(f"captured {one.eval_id} of {one.judge}{version}")
    for eval_id, judge in found.missing:
        where = f"; evalq inspect {found.rounds.ids[-1]}" if found.rounds.ids else ""
        note(f"no output: {eval_id} of {judge}{where}")
    for path in found.files:
        note(f"wrote {display_path(path)}")


def _note_doubtful(found: "CapturedBaselines", *, accepted: bool) -> None:
    for eval_id, judge, reason in found.doubtful:
        ending = "kept as asked" if accepted else "not kept; --accept-doubtful keeps it"
        note(f"doubtful: {eval_id} of {judge}: {reason}: {ending}")


def _print_rows(rows: "Sequence[BaselineRow]", *, with_output: bool) -> None:
    table = []
    for row in rows:
        cells = [getattr(row, name) for name in _COLUMNS]
        table.append(["–" if cell is None else str(cell) for cell in cells])
    print_table(_COLUMNS, table)
    if with_output:
        for row in rows:
            print_json(row.output)


def _show_compared(done: "SuiteRun", known: "Baselines", *, as_json: bool) -> None:
    from evalq.formats.suite.baselines import comparison_rows
    from evalq.reports.text import one_line

    rows = list(comparison_rows(done, known))
    if as_json:
        document = {"schema": SCHEMA, "suite": done.suite, "comparisons": [asdict(row) for row in rows]}
        print_json({**document, "suite_run": done.id, "bakeoffs": list(done.bakeoffs)})
    else:
        for row in rows:
            weight = f" [{row.criticality}]" if row.criticality else ""
            reason = f": {row.reason}" if row.reason else ""
            click.echo(one_line(f"{_WORDS[row.status]} {row.eval_id} of {row.judge}{weight}{reason}", 200))
    suggest(*list_next_commands(done.id, done.bakeoffs))
