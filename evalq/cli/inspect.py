"""Commands that show bake-offs: runs and inspect."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.answer_views import InspectOptions, show
from evalq.cli.context import Context, pass_context
from evalq.cli.output import fit_columns, note, print_json, print_table, suggest
from evalq.definitions.money import money
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.store.bakeoffs import ListedBakeOff
    from evalq.store.database import Database


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
        "runs": [
            {"run_id": run_id, "name": f"{bakeoff.id}/{judge}"}
            for run_id, judge in zip(bakeoff.run_ids, bakeoff.judges, strict=True)
        ],
    }


def _print_runs(rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        note("no bake-off yet; `evalq demo` runs one without any key")
        return
    table = [_list_cells(row) for row in rows]
    head = list(table[0])
    cells = [list(row.values()) for row in table]
    drop = ("started (UTC)", "$ / cap", "done", "name", "best judge")
    print_table(*fit_columns(head, cells, drop=drop))
    suggest(f"evalq inspect {rows[0]['id']}")


def _list_cells(row: dict[str, Any]) -> dict[str, str]:
    """The cells of one bake-off by heading."""
    return {
        "id": str(row["id"]),
        "task": row["task"],
        "set": row["eval_set"],
        "state": _format_state(row),
        "done": f"{row['done']}/{row['jobs']}",
        "best judge": _format_best(row["best"]),
        "$ / cap": f"{money(Decimal(row['spent_usd']))}/{row['cap_usd']}",
        "started (UTC)": row["started_at"][:16].replace("T", " "),
        "runs": _format_numbers([run["run_id"] for run in row["runs"]]),
        "name": row["name"] or row["note"] or "–",
    }


def _format_state(row: dict[str, Any]) -> str:
    """The state; of one that is not a plain bake-off also what it is: limited, smoke, final-decision."""
    if row["type"] == "bake-off":
        return str(row["state"])
    return str(row["type"]) if row["state"] == "concluded" else f"{row['state']} ({row['type']})"


def _format_numbers(numbers: Sequence[int]) -> str:
    """The numbers of a bake-off's runs: 901–906, or one by one where they are not consecutive."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}–{numbers[-1]}"
    return ",".join(map(str, numbers))


def _format_best(best: dict[str, Any] | None) -> str:
    if best is None:
        return "–"
    low, high = best["ci_low"] * 100, best["ci_high"] * 100
    return f"{best['judge']} {best['accuracy']:.0%} ({low:.0f}–{high:.0f})"


@click.command()
@options.bakeoff_id("bakeoff", metavar="[ID]", required=False)
@click.option("--run-id", "run_id", help="One run, by its number or as ID/JUDGE, instead of ID.")
@click.option("--show-failures", is_flag=True, help="What failed or could not be graded, by reason.")
@click.option(
    "--disagreements", is_flag=True, help="Cases on which judges disagree; broken judges do not count."
)
@click.option("--case", "case_id", help="One case with every answer in full.")
@options.judge("Only this judge's answers; as ID/JUDGE.")
@click.option(
    "--diff", nargs=2, metavar="JUDGE JUDGE", help="Cases that two judges answered differently, word by word."
)
@click.option("--confusion", is_flag=True, help="Which labels judges confuse, with precision and recall.")
@click.option(
    "--calls", "show_calls", is_flag=True, help="The journal: every call with its price or its fault."
)
@click.option("--kappa", "show_kappa", is_flag=True, help="Who errs alike: the matrix of κ and AC1.")
@options.ci
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Cases shown at most."
)
@options.as_json("The evalq.bakeoff/1 document, with the cases asked for.")
@options.collect_options(InspectOptions, "wanted")
@pass_context
def inspect(
    context: Context, bakeoff: str | None, run_id: str | None, wanted: InspectOptions, ci: Any
) -> int:
    """Show a bake-off: its table, its strata, its cases. ID is a number, `last` (if left out) or `@-2`.

    One of its runs is ID/JUDGE, as in 7/grok-4.3 or last/grok-4.3. ID may also be a suite run, such as
    suite-7: its report is shown.
    """
    from evalq.bakeoff.conclude import result_of
    from evalq.store import suite_runs

    if bakeoff and suite_runs.is_name(bakeoff):
        return _show_suite_run(context, bakeoff, for_cases=wanted.is_about_cases, as_json=wanted.as_json)
    with context.open_session() as session:
        bakeoff_id, judge = _find_shown(session.db, bakeoff, run_id, wanted.judge)
        show(session.db, result_of(session.db, bakeoff_id, ci=ci), replace(wanted, judge=judge))
    return 0


def _find_shown(
    db: "Database", bakeoff: str | None, run_id: str | None, judge: str | None
) -> tuple[int, str | None]:
    """The bake-off to show, and the judge if only one is meant."""
    from evalq.bakeoff.run_names import find_run, find_target

    if bakeoff and run_id:
        raise InputError(Problem("both ID and --run-id are given", "give one of them"))
    target = find_run(db, run_id) if run_id else find_target(db, bakeoff or "last")
    if judge and target.judge and judge != target.judge:
        raise InputError(Problem(f"{target.judge} and --judge {judge} are two judges", "name one of them"))
    return target.bakeoff_id, judge or target.judge


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
