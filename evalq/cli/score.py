"""Commands on grading: score stored answers again, and look after the verdict cache."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.options import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.rescore import Forecast, Rescore
    from evalq.records import BakeOffRow, RunRow
    from evalq.store.database import Database


@click.command()
@click.option(
    "--run-id",
    "run_names",
    required=True,
    help="Runs by number or as BAKEOFF:JUDGE, separated by commas; `last` for all of the newest bake-off.",
)
@click.option("--rescore", is_flag=True, help="Grade the stored answers anew; the only thing there is.")
@click.option(
    "--scorer", type=click.Choice(["llm_judge", "strict_substring"]), help="Instead of the one used then."
)
@click.option(
    "--graders",
    "graders_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of graders to mark with in place of the task's own.",
)
@click.option("--grader-model", help="Another grader model than the one used then.")
@click.option("--as-recorded", is_flag=True, help="By the task as it was then, not by its file as it is now.")
@click.option(
    "--final-decision", "is_final", is_flag=True, help="On a holdout-… set: one more look, recorded for good."
)
@options.max_cost
@options.dry_run
@options.output
@options.display
def score(
    run_names: str,
    rescore: bool,
    scorer: Any,
    graders_file: Path | None,
    grader_model: str | None,
    as_recorded: bool,
    is_final: bool,
    **how: Any,
) -> int:
    """Grade the stored answers of a run again; no judge is asked.

    The result is a new bake-off linked to the old one. Verdicts that grader models have given before come
    from the cache: the same graders cost nothing, a changed rubric asks for what it marks only.
    """
    from evalq.bakeoff.rescore import Regrading

    if not rescore:
        raise InputError(
            Problem(
                "a bake-off scores its answers by itself", "give --rescore to grade the stored answers anew"
            )
        )
    root = project_root(Path.cwd())
    wanted = Regrading(scorer, grader_model, graders_file, as_recorded, is_final, root)
    return _rescore(options.names(run_names), wanted, **how)


def _rescore(
    names: list[str],
    wanted: Any,
    *,
    max_cost_usd: Any,
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    display: Any,
) -> int:
    from evalq.bakeoff.rescore import forecast, plan_rescore, start_rescore
    from evalq.cli.progress import Screen, watch_and_show
    from evalq.engines.session import open_session

    settings = load_settings(Path.cwd(), options.environ())
    cap_usd = max_cost_usd if max_cost_usd is not None else settings.max_cost_usd
    with open_session(settings, fleet=not dry_run) as session:
        source, runs = named_runs(session.db, names)
        rescore = plan_rescore(session, runs, source, wanted)
        expected = forecast(session.db, rescore)
        click.echo(f"{_preflight(rescore, expected)}, cap ${cap_usd:.2f}", err=True)
        if dry_run:
            if as_json:
                click.echo(json_text(_forecast_document(rescore, expected)))
            return 0
        bakeoff_id = start_rescore(session, rescore, cap_usd=cap_usd, root=wanted.root)
        screen = Screen(display or settings.display, as_json=as_json, output=output)
        return watch_and_show(session, bakeoff_id, screen, pause_on_interrupt=True)


def named_runs(db: "Database", names: list[str]) -> "tuple[BakeOffRow, list[RunRow]]":
    """The runs meant and the one bake-off they are of; a bake-off's name means all of its runs."""
    from evalq.bakeoff.runs import find_runs
    from evalq.store import bakeoffs

    if len(names) == 1 and not names[0].isdecimal() and bakeoffs.is_name(names[0]):
        bakeoff_id = bakeoffs.find(db, names[0])
        return bakeoffs.get(db, bakeoff_id), bakeoffs.runs(db, bakeoff_id)
    entries = find_runs(db, names)
    if not entries:
        raise InputError(Problem("no run is named", "give --run-id N, or --run-id last"))
    if len({entry.bakeoff.id for entry in entries}) > 1:
        raise InputError(
            Problem("the runs are of several bake-offs", "score those of one bake-off at a time")
        )
    return entries[0].bakeoff, [entry.run for entry in entries]


def _preflight(rescore: "Rescore", expected: "Forecast") -> str:
    plan = rescore.plan
    return (
        f"{plan.task.name} · {plan.evalset.name} · bake-off {rescore.source.id} again, graded by "
        f"{rescore.graded_by}: {expected.answers} answers, {expected.cached} verdicts from the cache, "
        f"{expected.to_ask} to ask for, est. ${expected.usd:.4f}"
    )


def _forecast_document(rescore: "Rescore", expected: "Forecast") -> dict[str, Any]:
    return {
        "schema": "evalq.rescore/1",
        "bakeoff": rescore.source.id,
        "runs": [run.id for run in rescore.runs],
        "graded_by": rescore.graded_by,
        "answers": expected.answers,
        "cached_verdicts": expected.cached,
        "calls": expected.to_ask,
        "estimate_usd": f"{expected.usd:.4f}",
    }


@click.group()
def cache() -> None:
    """Look after the verdict cache: what grader models said, kept so that nobody asks twice."""


@cache.command()
@click.option("--json", "as_json", is_flag=True, help="A list, one entry per grader model.")
def stats(as_json: bool) -> int:
    """Show how many verdicts are kept, what they cost, and what they have saved."""
    from evalq.engines.session import open_session

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        rows = session.db.rows("cache_rows")
    if as_json:
        click.echo(json_text([_cache_row(row) for row in rows]))
    else:
        _print_cache([_cache_row(row) for row in rows])
    return 0


def _cache_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "grader_model": row["grader_model"],
        "verdicts": row["verdicts"],
        "cost_usd": f"{row['cost_usd']:.4f}",
        "uses": row["uses"],
        "saved_usd": f"{row['saved_usd']:.4f}",
        "oldest": row["oldest"].isoformat(),
        "newest": row["newest"].isoformat(),
    }


def _print_cache(rows: list[dict[str, Any]]) -> None:
    from evalq.cli.options import print_table

    if not rows:
        click.echo("the verdict cache is empty: no grader model was asked yet", err=True)
        return
    names = ("grader_model", "verdicts", "cost_usd", "uses", "saved_usd", "oldest")
    cells = [[str(row[name])[:19] if name == "oldest" else str(row[name]) for name in names] for row in rows]
    print_table(("grader", "verdicts", "cost $", "used", "saved $", "oldest (UTC)"), cells)
    click.echo("next  evalq cache prune --older-than 90 --dry-run", err=True)


@cache.command()
@click.option("--older-than", "days", type=click.IntRange(min=0), help="Verdicts older than so many days.")
@click.option("--grader", "grader_model", help="Verdicts of this grader model.")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@options.dry_run
def prune(days: int | None, grader_model: str | None, everything: bool, dry_run: bool) -> int:
    """Forget verdicts; grader models will be asked for them again, and paid."""
    from evalq.engines.session import open_session

    if days is None and grader_model is None and not everything:
        raise InputError(Problem("nothing says what to forget", "give --older-than DAYS, --grader or --all"))
    before = datetime.now(UTC) - timedelta(days=days) if days is not None else None
    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        which = {"before": before, "grader_model": grader_model}
        found = session.db.row("count_prunable", **which) or {"n": 0, "cost_usd": 0}
        if not dry_run:
            session.db.run("prune_verdicts", **which)
    done = "would go" if dry_run else "forgotten"
    click.echo(f"{found['n']} verdicts {done}, paid ${found['cost_usd']:.4f}")
    click.echo("next  evalq cache stats", err=True)
    return 0
