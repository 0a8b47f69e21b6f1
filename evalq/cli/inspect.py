"""Commands that show bake-offs: runs and inspect."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_report, print_table, suggest
from evalq.definitions.money import money
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.bakeoff.inspect import CaseFilter, Filter
    from evalq.reports.cases import CaseView
    from evalq.results import BakeOffResult
    from evalq.store.bakeoffs import ListedBakeOff
    from evalq.store.database import Database


_CALL_COLUMNS = (
    *("run", "case_id", "purpose", "judge", "attempt", "state"),
    *("reserved_usd", "cost_usd", "latency_ms", "request_id", "fault_kind", "fault_message"),
)


@click.command()
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Bake-offs shown at most."
)
@options.as_json("A list of bake-offs, newest first.")
@pass_context
def runs(context: Context, limit: int, as_json: bool) -> int:
    """List the bake-offs, newest first."""
    from evalq.cli.config import describe_other_data
    from evalq.store import bakeoffs

    with context.open_session() as session:
        rows = [_run_document(bakeoff) for bakeoff in bakeoffs.newest(session.db, limit=limit)]
    if as_json:
        print_json(rows)
    else:
        _print_runs(rows)
        for line in describe_other_data(context):
            note(line)
    return 0


def _run_document(bakeoff: "ListedBakeOff") -> dict[str, Any]:
    runs = json.loads(bakeoff.result)["runs"] if bakeoff.result else []
    best = runs[0] if runs and runs[0]["accuracy"] is not None else None
    return {
        "id": bakeoff.id,
        "task": bakeoff.task_name,
        "eval_set": bakeoff.eval_set_name,
        "type": bakeoff.run_type,
        "name": bakeoff.name,
        "note": bakeoff.notes,
        "state": bakeoff.state,
        "done": bakeoff.n_done,
        "jobs": bakeoff.n_jobs,
        "best": {key: best[key] for key in ("judge", "accuracy", "ci_low", "ci_high")} if best else None,
        "spent_usd": money(bakeoff.spent_usd, 4),
        "cap_usd": money(bakeoff.cap_usd),
        "started_at": bakeoff.created_at.isoformat(),
    }


def _print_runs(rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        note("no bake-off yet; `evalq demo` runs one without any key")
        return
    cells = [
        (
            str(row["id"]),
            row["task"],
            row["eval_set"],
            row["type"],
            row["state"],
            f"{row['done']}/{row['jobs']}",
            _format_best(row["best"]),
            f"{money(Decimal(row['spent_usd']))}/{row['cap_usd']}",
            row["started_at"][:16].replace("T", " "),
            row["name"] or row["note"] or "–",
        )
        for row in rows
    ]
    print_table(
        ("id", "task", "set", "type", "state", "done", "best judge", "$ / cap", "started (UTC)", "name"),
        cells,
    )
    suggest(f"evalq inspect {rows[0]['id']}")


def _format_best(best: dict[str, Any] | None) -> str:
    if best is None:
        return "–"
    return f"{best['judge']} {best['accuracy']:.0%} ({best['ci_low']:.0%}–{best['ci_high']:.0%})"


@click.command()
@click.argument("bakeoff", metavar="ID", default="last")
@click.option("--show-failures", is_flag=True, help="Cases that failed or could not be graded.")
@click.option(
    "--disagreements", is_flag=True, help="Cases on which judges disagree; broken judges do not count."
)
@click.option("--case", "case_id", help="One case with every answer in full.")
@click.option("--judge", help="Only this judge's answers.")
@click.option(
    "--calls", "show_calls", is_flag=True, help="The journal: every call with its price or its fault."
)
@click.option("--kappa", "show_kappa", is_flag=True, help="Who errs alike: the matrix of κ and AC1.")
@options.ci
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Cases shown at most."
)
@options.as_json("The evalq.bakeoff/1 document, with the cases asked for.")
@pass_context
def inspect(
    context: Context,
    bakeoff: str,
    show_failures: bool,
    disagreements: bool,
    case_id: str | None,
    judge: str | None,
    show_calls: bool,
    show_kappa: bool,
    ci: Any,
    limit: int,
    as_json: bool,
) -> int:
    """Show a bake-off: its table, its strata, its cases. ID is a number, `last` or `@-2`.

    ID may also be a suite run, such as suite-7: its report is shown.
    """
    from evalq.bakeoff.conclude import result_of
    from evalq.bakeoff.inspect import CaseFilter, find_cases, require_judge
    from evalq.store import bakeoffs, suite_runs

    if suite_runs.is_name(bakeoff):
        for_cases = disagreements or case_id or judge or show_calls or show_kappa
        return _show_suite_run(context, bakeoff, for_cases=bool(for_cases), as_json=as_json)
    show = _choose_cases(failures=show_failures, disagreements=disagreements)
    wanted = CaseFilter(show, case_id, judge, limit)
    with context.open_session() as session:
        result = result_of(session.db, bakeoffs.find(session.db, bakeoff), ci=ci)
        require_judge(result, judge)
        if show_calls:
            _show_calls(session.db, result.id, wanted, as_json=as_json)
        elif show_kappa and not as_json:
            _show_kappa(result)
        elif show == "all" and not case_id and not judge:
            _show_tables(result, as_json=as_json)
        else:
            cases, total = find_cases(session.db, result, wanted)
            _show_cases(result, cases, total, wanted, as_json=as_json)
    return 0


def _choose_cases(*, failures: bool, disagreements: bool) -> "Filter":
    if failures:
        return "failures"
    return "disagreements" if disagreements else "all"


def _show_suite_run(context: Context, name: str, *, for_cases: bool, as_json: bool) -> int:
    """Show the report of a suite run; its cases and calls belong to its bake-offs."""
    from evalq.cli.suite import read_report, show_recorded_report

    document = read_report(context, name)
    if for_cases:
        ids = ", ".join(str(one) for one in document["eval_report"]["metadata"]["bakeoffs"])
        remedy = f"inspect one of its bake-offs: {ids}" if ids else "it has reached none"
        raise InputError(Problem(f"{name} is a suite run: it is shown as a whole", remedy))
    show_recorded_report(document, verbose=True, as_json=as_json)
    return 0


def _show_tables(result: "BakeOffResult", *, as_json: bool) -> None:
    from evalq.cli.progress import print_result
    from evalq.reports.final import render_plain_strata, render_strata

    if as_json:
        print_json(result.to_dict())
        return
    print_report(result, render_strata, render_plain_strata)
    print_result(result)


def _show_cases(
    result: "BakeOffResult", cases: "Sequence[CaseView]", total: int, wanted: "CaseFilter", *, as_json: bool
) -> None:
    from evalq.bakeoff.inspect import case_document

    if as_json:
        listed = [case_document(case) for case in cases]
        print_json({**result.to_dict(), "cases": listed, "n_cases_found": total})
    else:
        _print_cases(result, cases, total, wanted)


def _print_cases(
    result: "BakeOffResult", cases: "Sequence[CaseView]", total: int, wanted: "CaseFilter"
) -> None:
    from rich.console import Console

    from evalq.reports.cases import render_case, render_case_list

    console = Console(soft_wrap=False)
    if wanted.case_id:
        console.print(render_case(cases[0], console.width, ascii_only=console.options.ascii_only))
        return
    judges = [run.judge for run in result.runs if wanted.judge in (None, run.judge)]
    console.print(render_case_list(cases, judges, console.width, ascii_only=console.options.ascii_only))
    note(f"{len(cases)} of {total} cases")
    if cases:
        suggest(f"evalq inspect {result.id} --case {cases[0].case_id}")


def _show_kappa(result: "BakeOffResult") -> None:
    from evalq.cli.compare import print_kappa

    print_kappa(result.kappa)
    suggest(f"evalq inspect {result.id} --disagreements")


def _show_calls(db: "Database", bakeoff_id: int, wanted: "CaseFilter", *, as_json: bool) -> None:
    from evalq.bakeoff.holdout import refuse_cases
    from evalq.store import calls

    refuse_cases(db, bakeoff_id)
    found = calls.journal(db, bakeoff_id, case_id=wanted.case_id, judge=wanted.judge, limit=wanted.limit)
    rows = [asdict(call) for call in found]
    if as_json:
        print_json(rows)
        return
    cells = []
    for row in rows:
        cells.append(["" if row[name] is None else str(row[name]) for name in _CALL_COLUMNS])
    print_table(_CALL_COLUMNS, cells)
