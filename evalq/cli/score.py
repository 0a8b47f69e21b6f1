"""Commands on grading: score stored answers again, and look after the verdict cache."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.definitions.money import money
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.bakeoff.rescore import Forecast, Rescore
    from evalq.records import BakeOffRow, RunRow
    from evalq.store.cached_verdicts import GraderCache
    from evalq.store.database import Database


@click.command()
@options.bakeoff_id("names", metavar="[ID]...", nargs=-1)
@click.option("--run-id", "run_names", help="Runs by their numbers or as ID/JUDGE, by commas, instead of ID.")
@click.option("--rescore", is_flag=True, help="Grade the stored answers again; required.")
@click.option(
    "--scorer", type=click.Choice(["llm_judge", "strict_substring"]), help="Instead of the one used then."
)
@click.option(
    "--graders",
    "graders_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of graders to mark with in place of the task's own.",
)
@options.grader_model("Another grader model than the one used then.")
@click.option("--as-recorded", is_flag=True, help="By the task as it was then, not by its file as it is now.")
@click.option(
    "--final-decision", "is_final", is_flag=True, help="On a holdout-… set: one more look, recorded for good."
)
@options.max_cost
@options.dry_run
@options.output
@options.display
@options.collect_run_options
@pass_context
def score(
    context: Context,
    names: Sequence[str],
    run_names: str | None,
    rescore: bool,
    scorer: Any,
    graders_file: Path | None,
    grader_model: str | None,
    as_recorded: bool,
    is_final: bool,
    run: RunOptions,
) -> int:
    """Grade the stored answers of a bake-off, or of its runs, again; no judge is asked.

    ID is a bake-off, `last`, or a run such as 7/grok-4.3; several runs must be of one bake-off. The result
    is a new bake-off linked to the old one. Verdicts that grader models have given before come from the
    cache: the same graders cost nothing, a changed rubric pays only for what it grades.
    """
    from evalq.bakeoff.rescore import Regrading, forecast, plan_rescore, start_rescore
    from evalq.cli.progress import watch_and_show

    if not rescore:
        raise InputError(
            Problem("a bake-off scores its answers by itself", "give --rescore to grade stored answers again")
        )
    wanted = Regrading(scorer, grader_model, graders_file, as_recorded, is_final, context.root)
    cap_usd = context.cap_usd(run.max_cost_usd)
    with context.open_session(fleet=not run.dry_run) as session:
        source, runs = _find_runs(session.db, names, run_names)
        plan = plan_rescore(session, runs, source, wanted)
        expected = forecast(session.db, plan)
        note(f"{_describe(plan, expected)}, cap ${money(cap_usd)}")
        if not run.dry_run:
            bakeoff_id = start_rescore(session, plan, cap_usd=cap_usd, root=context.root)
            return watch_and_show(context, session, bakeoff_id, run, pause_on_interrupt=True)
    if run.as_json:
        print_json(_forecast_document(plan, expected))
    return 0


def _find_runs(
    db: "Database", names: Sequence[str], run_names: str | None
) -> "tuple[BakeOffRow, list[RunRow]]":
    """The named runs and the one bake-off they belong to; a bake-off's name means all of its runs."""
    from evalq.bakeoff.run_names import find_targets
    from evalq.store import bakeoffs

    if bool(names) == bool(run_names and run_names.strip(" ,")):
        raise InputError(
            Problem("score takes ID or --run-id", "name one, as in `evalq score last --rescore`")
        )
    given = options.split_names(run_names) if run_names else names
    targets = find_targets(db, given, by_run_number=run_names is not None)
    ids = {target.bakeoff_id for target in targets}
    if len(ids) > 1:
        raise InputError(
            Problem("the runs are of several bake-offs", "score those of one bake-off at a time")
        )
    source = bakeoffs.get(db, targets[0].bakeoff_id)
    if any(target.run is None for target in targets):
        return source, bakeoffs.runs(db, source.id)
    return source, [target.run for target in targets if target.run]


def _describe(rescore: "Rescore", expected: "Forecast") -> str:
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
    """Manage the verdict cache: verdicts of grader models, kept so that none is paid for twice."""


@cache.command()
@options.as_json("A list, one entry per grader model.")
@pass_context
def stats(context: Context, as_json: bool) -> int:
    """Show how many verdicts are kept, what they cost, and what they have saved."""
    from evalq.store import cached_verdicts

    with context.open_session() as session:
        rows = [_cache_row(grader) for grader in cached_verdicts.by_grader(session.db)]
    if as_json:
        print_json(rows)
    else:
        _print_cache(rows)
    return 0


def _cache_row(grader: "GraderCache") -> dict[str, Any]:
    return {
        "grader_model": grader.grader_model,
        "verdicts": grader.verdicts,
        "cost_usd": f"{grader.cost_usd:.4f}",
        "uses": grader.uses,
        "saved_usd": f"{grader.saved_usd:.4f}",
        "oldest": grader.oldest.isoformat(),
        "newest": grader.newest.isoformat(),
    }


def _print_cache(rows: list[dict[str, Any]]) -> None:
    if not rows:
        note("the verdict cache is empty: no grader model was asked yet")
        return
    names = ("grader_model", "verdicts", "cost_usd", "uses", "saved_usd")
    cells = [[*(str(row[name]) for name in names), row["oldest"][:19]] for row in rows]
    print_table(("grader", "verdicts", "cost $", "used", "saved $", "oldest (UTC)"), cells)
    suggest("evalq cache prune --older-than 90 --dry-run")


@cache.command()
@click.option("--older-than", "days", type=click.IntRange(min=0), help="Verdicts older than this many days.")
@click.option("--grader", "grader_model", help="Verdicts of this grader model.")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@options.dry_run
@pass_context
def prune(
    context: Context, days: int | None, grader_model: str | None, everything: bool, dry_run: bool
) -> int:
    """Delete verdicts; grader models will be asked for them again, at a cost."""
    from evalq.store import cached_verdicts

    if days is None and grader_model is None and not everything:
        raise InputError(
            Problem("prune does not say what to forget", "give --older-than DAYS, --grader or --all")
        )
    before = datetime.now(UTC) - timedelta(days=days) if days is not None else None
    with context.open_session() as session:
        found = cached_verdicts.count_prunable(session.db, before=before, grader_model=grader_model)
        if not dry_run:
            cached_verdicts.prune(session.db, before=before, grader_model=grader_model)
    done = "would go" if dry_run else "forgotten"
    click.echo(f"{found.n} verdicts {done}, paid ${found.cost_usd:.4f}")
    suggest("evalq cache stats")
    return 0
