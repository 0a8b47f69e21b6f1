"""The command `evalq gate`: pass or fail a phase by running a suite, or by an earlier run."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, suggest
from evalq.cli.suite import (
    SuiteOptions,
    answer_options,
    collect_suite_options,
    filter_options,
    load_suite_with_options,
    run_plan,
    send_alert,
)
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.engines.session import Session
    from evalq.formats.suite.choice import LoadedSuite
    from evalq.formats.suite.forms import Thresholds
    from evalq.formats.suite.gate_check import Demand, GatedJudge, GateStatus
    from evalq.formats.suite.gates import GateForm
    from evalq.formats.suite.plan import SuiteRunOptions
    from evalq.store.database import Database

SCHEMA = "evalq.gate/1"


@dataclass(frozen=True)
class GateOptions:
    """Which thresholds a gate has, and where its phase report goes."""

    thresholds_of: str | None
    given: tuple[str, ...]
    strict: bool
    phase: str
    report: Path | None
    force: bool


@dataclass(frozen=True)
class _LoadedGate:
    """A gate, its suite, how to run it, and what it demands."""

    form: "GateForm"
    loaded: "LoadedSuite"
    run_options: "SuiteRunOptions"
    demands: "list[Demand]"


@dataclass(frozen=True)
class _GateResult:
    """A gate that was checked, and the files that were written."""

    title: str
    judges: "list[GatedJudge]"
    document: dict[str, Any]
    blocking: bool = True
    written: tuple[Path, ...] = ()

    @property
    def verdict(self) -> "GateStatus":
        from evalq.formats.suite.gate_check import worst_of

        return worst_of([one.verdict for one in self.judges])

    @property
    def exit_code(self) -> int:
        if not self.blocking:
            return 0
        return {"FAIL": 1, "INCONCLUSIVE": 3}.get(self.verdict, 0)


@click.command()
@options.bakeoff_id("what", metavar="FILE|RUN")
@click.option(
    "--context",
    "thresholds_of",
    help="Thresholds of development, staging, production, critical, or the suite's own.",
)
@click.option(
    "--set", "given", multiple=True, metavar="METRIC=SHARE", help="A threshold, such as pass_at_1=0.9."
)
@click.option("--strict", is_flag=True, help="Decide on the lower end of each interval, not on the value.")
@click.option("--phase", default="phase", show_default=True, help="Fills {phase_id} in report paths.")
@click.option("--report", type=click.Path(path_type=Path), help="Write the phase report to this file, too.")
@click.option("--force", is_flag=True, help="Replace a report file even if evalq did not write it.")
@filter_options
@answer_options
@options.max_cost
@options.allow_unpriced
@options.as_json("The evalq.gate/1 document on stdout.")
@options.display
@options.collect_options(GateOptions, "how")
@collect_suite_options
@options.collect_run_options
@pass_context
def gate(context: Context, what: str, how: GateOptions, wanted: SuiteOptions, run: RunOptions) -> int:
    """Pass or fail a phase by its evals.

    FILE is a phase with an eval step, an eval_trigger, or a suite; its suite is run. RUN is a suite run, such
    as suite-7, a bake-off, or the JSON report of a suite run; `last` is the last suite run. A bake-off of a
    suite run means the whole run. The phase report goes to stdout. Exit code 1: FAIL; 3: inconclusive; a gate
    that does not block always ends with 0.
    """
    from evalq.store import bakeoffs, suite_runs

    path = Path(what)
    if how.report:
        _refuse_foreign_report(how.report, how)
    is_stored = bakeoffs.is_name(what) or bakeoffs.split_run_name(what) or suite_runs.is_name(what)
    if not path.exists() and is_stored:
        results = [_gate_stored(context, what, how)]
    elif not path.exists():
        remedy = "name a file, a suite run such as suite-7, a bake-off's number or `last`"
        raise InputError(Problem("no such file, and no run", remedy, what))
    elif _is_report(path):
        results = [_gate_saved_report(path, how)]
    else:
        results = _gate_file(context, path, how, wanted, run)
    return _show(results, how.report, as_json=run.as_json)


def _refuse_foreign_report(path: Path, how: GateOptions) -> None:
    from evalq.definitions.ownership import refuse_foreign
    from evalq.formats.suite.report_files import is_phase_report

    refuse_foreign(path, is_ours=is_phase_report, force=how.force)


def _is_report(path: Path) -> bool:
    from evalq.formats.suite.read import load_file
    from evalq.formats.suite.shapes import shape_of

    return path.is_file() and shape_of(load_file(path).value) == "report"


def _gate_saved_report(path: Path, how: GateOptions) -> _GateResult:
    from evalq.formats.suite.gate_check import gate_report
    from evalq.formats.suite.load import report_problems
    from evalq.formats.suite.read import load_file

    located = load_file(path)
    problems = report_problems(located)
    if problems:
        raise InputError(*problems)
    judges = gate_report(located.value, _list_demands(None, None, how), strict=how.strict)
    return _GateResult(path.stem, judges, located.value)


def _gate_stored(context: Context, name: str, how: GateOptions) -> _GateResult:
    """Check a suite run of the database, or a bake-off that no suite made."""
    from evalq.formats.suite.gated_run import find_gated_run

    with context.open_session() as session:
        run_id = find_gated_run(session.db, name)
        if run_id is None:
            return _gate_bakeoff(session.db, name, how)
        return _gate_suite_run(session.db, run_id, name, how)


def _gate_suite_run(db: "Database", run_id: int, name: str, how: GateOptions) -> _GateResult:
    """Check a suite run; what its suite demanded when it ran is demanded."""
    from evalq.formats.suite.collect import run_of_record
    from evalq.formats.suite.gate_check import gate_report, ks_of
    from evalq.formats.suite.gated_run import thresholds_of_run
    from evalq.formats.suite.report import report_of
    from evalq.store import suite_runs

    row = suite_runs.get(db, run_id)
    title = suite_runs.name_of(run_id)
    if name.isdecimal():
        note(f"bake-off {name} is part of {title}: the whole run is judged")
    demands = _list_demands(None, thresholds_of_run(row), how)
    document = report_of(run_of_record(db, row, ks_of(demands)))
    return _GateResult(title, gate_report(document, demands, strict=how.strict), document)


def _gate_bakeoff(db: "Database", name: str, how: GateOptions) -> _GateResult:
    """Check every judge of a bake-off, or only that of a run such as 7/grok-4.3."""
    from evalq.bakeoff.run_names import find_target
    from evalq.formats.suite.collect import run_of_bakeoff
    from evalq.formats.suite.gate_check import gate_report, ks_of
    from evalq.formats.suite.report import report_of

    target = find_target(db, name)
    demands = _list_demands(None, None, how)
    document = report_of(run_of_bakeoff(db, target.bakeoff_id, ks_of(demands)))
    judges = gate_report(document, demands, strict=how.strict)
    if target.judge:
        judges = [one for one in judges if one.judge == target.judge]
    return _GateResult(f"bake-off {name if target.judge else target.bakeoff_id}", judges, document)


def _gate_file(
    context: Context, path: Path, how: GateOptions, wanted: SuiteOptions, run: RunOptions
) -> list[_GateResult]:
    """Check every gate of a file; all are loaded before the first is run."""
    from evalq.formats.suite.gates import read_gates

    beside = path.resolve().parent
    gates = [_load_gate(context, form, how, wanted, run) for form in read_gates(path)]
    for one in gates:
        if one.form.report_path:
            _refuse_foreign_report(_report_path(one.form.report_path, beside, how.phase), how)
    with context.open_session(fleet=True) as session:
        return [_run_gate(context, session, one, how, run, beside=beside) for one in gates]


def _report_path(written: str, beside: Path, phase: str) -> Path:
    return beside / written.replace("{phase_id}", _file_part(phase))


def _load_gate(
    context: Context, form: "GateForm", how: GateOptions, wanted: SuiteOptions, run: RunOptions
) -> _LoadedGate:
    """The suite of a gate, with the gate's filters where the command line has none, and enough samples."""
    from evalq.formats.suite.gate_check import samples_for

    filters = form.filters
    filtered = replace(
        wanted,
        category=wanted.category or tuple(filters.categories),
        tag=wanted.tag or tuple(filters.tags),
        difficulty=wanted.difficulty or tuple(filters.difficulty),
        grader_type=wanted.grader_type or filters.grader_type,
    )
    loaded, run_options = load_suite_with_options(
        context, form.suite, filtered, allow_unpriced=run.allow_unpriced
    )
    demands = _list_demands(form, loaded.suite.thresholds, how, file=loaded.suite.file)
    samples = wanted.samples or samples_for(demands, run_options.samples)
    return _LoadedGate(form, loaded, replace(run_options, samples=samples), demands)


def _list_demands(
    form: "GateForm | None", shared: "Thresholds | None", how: GateOptions, *, file: str = ""
) -> "list[Demand]":
    from evalq.formats.suite.gate_check import collect_demands, parse_thresholds

    given = parse_thresholds(how.given)
    return collect_demands(form, shared, context=how.thresholds_of, given=given, file=file)


def _run_gate(
    context: Context,
    session: "Session",
    gate: _LoadedGate,
    how: GateOptions,
    run: RunOptions,
    *,
    beside: Path,
) -> _GateResult:
    from evalq.bakeoff.portfolio import refuse_total_over_cap
    from evalq.formats.suite.gate_check import gate_report, ks_of
    from evalq.formats.suite.plan import plan_suite
    from evalq.formats.suite.report import report_of
    from evalq.formats.suite.report_files import results_folder, write_results

    plan = plan_suite(gate.loaded, gate.run_options, settings=session.settings, db=session.db)
    refuse_total_over_cap([bakeoff.plan for bakeoff in plan.bakeoffs], context.cap_usd(run.max_cost_usd))
    done, _ = run_plan(context, session, plan, run)
    document = report_of(replace(done, ks=ks_of(gate.demands)))
    folder = results_folder(plan.suite, context.cwd)
    files = write_results(folder, document, plan.suite.reporting.format, now=datetime.now(UTC))
    judges = gate_report(document, gate.demands, strict=how.strict)
    result = _GateResult(gate.form.title, judges, document, gate.form.blocking, tuple(files))
    _follow_up(context, session, gate.form, result, phase=how.phase, beside=beside, folder=folder)
    return result


def _follow_up(
    context: Context,
    session: "Session",
    form: "GateForm",
    result: _GateResult,
    *,
    phase: str,
    beside: Path,
    folder: Path,
) -> None:
    """Do what the gate's file wants after a failure, or after a success."""
    from evalq.definitions.files import display_path
    from evalq.formats.suite.render import render_phase
    from evalq.formats.suite.report_files import archive, write_text

    passed = result.verdict == "PASS"
    if not passed and form.report_path:
        report_path = _report_path(form.report_path, beside, phase)
        text = render_phase(result.judges, title=result.title)
        path = write_text(report_path, text, [beside, context.cwd], "report_path")
        note(f"wrote {display_path(path.resolve())}")
    wants_alert = form.notify_on_success if passed else form.notify_on_failure
    if wants_alert:
        send_alert(context, session, result.document, what=f"gate {result.verdict}")
    if form.archive and passed:
        for path in archive(folder, result.written):
            note(f"archived {display_path(path.resolve())}")


def _file_part(phase: str) -> str:
    """The name of a phase as part of a file name."""
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in phase)
    return safe.lstrip(".") or "phase"


def _show(results: list[_GateResult], report: Path | None, *, as_json: bool) -> int:
    """Print the phase report and the verdicts; return the worst exit code."""
    from evalq.formats.suite.render import render_phase

    code = max((one.exit_code for one in results), key=(0, 3, 1).index)
    text = "\n".join(render_phase(one.judges, title=one.title) for one in results)
    if report:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(text, "utf-8")
    if as_json:
        print_json(_document(results, code))
    else:
        click.echo(text.rstrip())
    bakeoffs: list[int] = []
    for one in results:
        note(f"{one.verdict}  {one.title}{'' if one.blocking else ' (not blocking)'}")
        for path in one.written[:1]:
            note(f"wrote {path}")
        bakeoffs += one.document["eval_report"]["metadata"].get("bakeoffs", ())
    suggest(f"evalq inspect {bakeoffs[0]} --show-failures" if bakeoffs else "evalq suite run FILE")
    return code


def _document(results: list[_GateResult], code: int) -> dict[str, Any]:
    from evalq.formats.suite.gate_check import worst_of

    return {
        "schema": SCHEMA,
        "verdict": worst_of([one.verdict for one in results]),
        "exit_code": code,
        "gates": [_gate_document(one) for one in results],
    }


def _gate_document(result: _GateResult) -> dict[str, Any]:
    report = result.document["eval_report"]
    judges = []
    for one in result.judges:
        checks = [check.document() for check in one.checks]
        judges.append({"judge": one.judge, "verdict": one.verdict, "checks": checks})
    return {
        "title": result.title,
        "verdict": result.verdict,
        "blocking": result.blocking,
        "run_id": report["metadata"]["run_id"],
        "suite_run": report["metadata"].get("suite_run"),
        "summary": report["summary"],
        "judges": judges,
        "files": [str(path) for path in result.written],
    }
