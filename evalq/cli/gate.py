"""The command `evalq gate`: pass or fail a phase by the evals of a suite, or by a run that is there."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli import suite as suite_options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import json_text
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.engines.session import Session
    from evalq.formats.suite.gate_check import Demand, GatedJudge
    from evalq.formats.suite.gates import GateForm

SCHEMA = "evalq.gate/1"


@dataclass(frozen=True)
class _Ended:
    """A gate that was run: what came of it, and the files that were written."""

    title: str
    found: "list[GatedJudge]"
    document: dict[str, Any]
    blocking: bool
    written: tuple[Path, ...] = ()

    @property
    def verdict(self) -> str:
        from evalq.formats.suite.gate_check import verdict_of

        return verdict_of(self.found)

    @property
    def exit_code(self) -> int:
        codes = {"FAIL": 1, "INCONCLUSIVE": 3}
        return codes.get(self.verdict, 0) if self.blocking else 0


@click.command()
@click.argument("what", metavar="FILE|RUN")
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
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write the phase report here, whatever it says."
)
@suite_options.filter_options
@suite_options.answer_options
@options.max_cost
@options.allow_unpriced
@click.option("--json", "as_json", is_flag=True, help="The evalq.gate/1 document on stdout.")
@options.display
@pass_context
def gate(context: Context, /, what: str, **how: Any) -> int:
    """Pass or fail a phase by its evals.

    FILE is a phase with an eval step, an eval_trigger, or a suite; its suite is run. RUN is a bake-off, or
    the JSON report of a suite run. The phase report goes to stdout. Exit code 1 says FAIL, 3 that it cannot
    be told; a gate that does not block ends with 0 whatever it says.
    """
    from evalq.store.bakeoffs import is_name

    path = Path(what)
    if not path.exists() and is_name(what):
        ended = [_of_bakeoff(context, what, how)]
    elif not path.exists():
        raise InputError(
            Problem("no such file, and no bake-off", "name a file, a bake-off's number or `last`", what)
        )
    elif _is_report(path):
        ended = [_of_report(path, how)]
    else:
        ended = _of_file(context, path, how)
    return _show(ended, how)


def _is_report(path: Path) -> bool:
    from evalq.formats.suite.read import load_file
    from evalq.formats.suite.shapes import shape_of

    return path.is_file() and shape_of(load_file(path).value) == "report"


def _of_report(path: Path, how: dict[str, Any]) -> _Ended:
    from evalq.formats.suite.gate_check import gate_report
    from evalq.formats.suite.load import report_problems
    from evalq.formats.suite.read import load_file

    located = load_file(path)
    problems = report_problems(located)
    if problems:
        raise InputError(*problems)
    found = gate_report(located.value, _demands(None, None, how), strict=how["strict"])
    return _Ended(path.stem, found, located.value, blocking=True)


def _of_bakeoff(context: Context, name: str, how: dict[str, Any]) -> _Ended:
    from evalq.formats.suite.gate_check import gate_report, run_of_bakeoff
    from evalq.formats.suite.metrics import read_metric
    from evalq.formats.suite.report import report_of
    from evalq.store import bakeoffs

    wanted = _demands(None, None, how)
    with context.open_session() as session:
        bakeoff_id = bakeoffs.find(session.db, name)
        done = run_of_bakeoff(session.db, bakeoff_id, [read_metric(one.key).k for one in wanted])
    document = report_of(done)
    return _Ended(
        f"bake-off {bakeoff_id}", gate_report(document, wanted, strict=how["strict"]), document, True
    )


def _of_file(context: Context, path: Path, how: dict[str, Any]) -> list[_Ended]:
    from evalq.formats.suite.gates import read_gates

    forms = read_gates(path)
    opened = [_opened(context, form, how) for form in forms]
    with context.open_session(fleet=True) as session:
        return [
            _run(context, session, form, found, how, beside=path.resolve().parent)
            for form, found in zip(forms, opened, strict=True)
        ]


def _opened(context: Context, form: "GateForm", how: dict[str, Any]) -> Any:
    """The suite of a gate, filtered as the gate and the command line say, with samples enough."""
    from evalq.formats.suite.gate_check import samples_for

    own = form.filters
    asked = {
        **how,
        "category": how["category"] or tuple(own.categories),
        "tag": how["tag"] or tuple(own.tags),
        "difficulty": how["difficulty"] or tuple(own.difficulty),
        "grader_type": how["grader_type"] or own.grader_type,
    }
    found, run_options = suite_options.load_suite_with_options(context, form.suite, asked)
    wanted = _demands(form, found.suite, how)
    samples = how["samples"] or samples_for(wanted, run_options.samples)
    return found, replace(run_options, samples=samples), wanted


def _run(
    context: Context, session: "Session", form: "GateForm", opened: Any, how: dict[str, Any], *, beside: Path
) -> _Ended:
    from evalq.bakeoff.portfolio import refuse_total_over_cap
    from evalq.cli.suite import run_plan
    from evalq.formats.suite import baselines
    from evalq.formats.suite.gate_check import gate_report
    from evalq.formats.suite.metrics import read_metric
    from evalq.formats.suite.open import plan_suite
    from evalq.formats.suite.report import report_of
    from evalq.formats.suite.report_files import results_folder, write_results

    found, run_options, wanted = opened
    cap_usd = context.cap_usd(how["max_cost_usd"])
    asked = plan_suite(found, run_options, settings=session.settings, db=session.db)
    refuse_total_over_cap([part.plan for part in asked.parts], cap_usd)
    done, _ = run_plan(context, session, asked, cap_usd, how["display"])
    baselines.note(session.db, asked.suite, asked.evals, done.judges)
    document = report_of(replace(done, ks=tuple(read_metric(one.key).k for one in wanted)))
    folder = results_folder(asked.suite, context.cwd)
    files = write_results(folder, document, asked.suite.reporting.format, now=datetime.now(UTC))
    ended = _Ended(
        form.title, gate_report(document, wanted, strict=how["strict"]), document, form.blocking, tuple(files)
    )
    _follow_up(context, session, form, ended, how, beside=beside, folder=folder)
    return ended


def _follow_up(
    context: Context,
    session: "Session",
    form: "GateForm",
    ended: _Ended,
    how: dict[str, Any],
    *,
    beside: Path,
    folder: Path,
) -> None:
    """What the gate's file wants done after a failure, or after a success."""
    from evalq.cli.suite import send_alert
    from evalq.definitions.files import display_path
    from evalq.formats.suite.gate_check import render_phase
    from evalq.formats.suite.report_files import archive, write_text

    passed = ended.verdict == "PASS"
    if not passed and form.report_path:
        written = beside / form.report_path.replace("{phase_id}", _plain(how["phase"]))
        text = render_phase(ended.found, title=ended.title)
        path = write_text(written, text, [beside, context.cwd], "report_path")
        click.echo(f"wrote {display_path(path.resolve())}", err=True)
    if (form.notify_on_failure and not passed) or (form.notify_on_success and passed):
        send_alert(context, session, ended.document, what=f"gate {ended.verdict}")
    if form.archive and passed:
        for path in archive(folder, ended.written):
            click.echo(f"archived {display_path(path.resolve())}", err=True)


def _plain(phase: str) -> str:
    """A phase's name as part of a file's."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in phase).lstrip(".") or "phase"


def _demands(form: "GateForm | None", suite: Any, how: dict[str, Any]) -> "list[Demand]":
    from evalq.formats.suite.gate_check import collect_demands, parse_thresholds

    return collect_demands(form, suite, context=how["thresholds_of"], given=parse_thresholds(how["given"]))


def _show(ended: list[_Ended], how: dict[str, Any]) -> int:
    from evalq.formats.suite.gate_check import render_phase

    code = max((one.exit_code for one in ended), key=(0, 3, 1).index)
    text = "\n".join(render_phase(one.found, title=one.title) for one in ended)
    if how["report"]:
        how["report"].parent.mkdir(parents=True, exist_ok=True)
        how["report"].write_text(text, "utf-8")
    if how["as_json"]:
        click.echo(json_text(_document(ended, code)))
    else:
        click.echo(text.rstrip())
    for one in ended:
        note = "" if one.blocking else " (not blocking)"
        click.echo(f"{one.verdict}  {one.title}{note}", err=True)
        for path in one.written[:1]:
            click.echo(f"wrote {path}", err=True)
    ids = [number for one in ended for number in one.document["eval_report"]["metadata"].get("bakeoffs", ())]
    click.echo(
        f"next  evalq inspect {ids[0]} --show-failures" if ids else "next  evalq suite run FILE", err=True
    )
    return code


def _document(ended: list[_Ended], code: int) -> dict[str, Any]:
    verdicts = [one.verdict for one in ended]
    worst = next((name for name in ("FAIL", "INCONCLUSIVE", "PASS") if name in verdicts), "INFO")
    return {
        "schema": SCHEMA,
        "verdict": worst,
        "exit_code": code,
        "gates": [
            {
                "title": one.title,
                "verdict": one.verdict,
                "blocking": one.blocking,
                "run_id": one.document["eval_report"]["metadata"]["run_id"],
                "summary": one.document["eval_report"]["summary"],
                "judges": [
                    {
                        "judge": each.judge,
                        "verdict": each.verdict,
                        "checks": [check.document() for check in each.checks],
                    }
                    for each in one.found
                ],
                "files": [str(path) for path in one.written],
            }
            for one in ended
        ],
    }
