"""The command that has cases drafted by a model, and accepts what people have made of them: generate."""

import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.output import json_text
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.bakeoff.probes import QueryReplies
    from evalq.cases.draft import Drafted, DraftOptions, DraftPlan

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("cases", metavar="[CASE]...", nargs=-1)
@click.option("--task", help="The task cases are drafted for: its name, or the path of its file.")
@click.option("--n", "--count", "n", type=click.IntRange(1, 10_000), default=60, show_default=True)
@click.option("--judge", metavar="MODEL", help="The judge that drafts; `evalq judges` lists them.")
@click.option("--eval-set", metavar="draft-NAME", help="The evalset to write; default: draft-N.")
@click.option("--strata", type=_PATH, help="A YAML file of strata; default: those of the set to draft like.")
@click.option("--like", metavar="SET", help="The set to draft like, no holdout; default: the task's first.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Another seed, other cases.",
)
@click.option("--append", is_flag=True, help="Add to the drafts if they are there; no case twice.")
@click.option(
    "--accept", "accepted_set", metavar="SET", help="Accept drafts of SET: the CASEs named, or --all."
)
@click.option("--all", "every", is_flag=True, help="With --accept: every draft of the set.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@options.dry_run
@options.max_cost
@options.allow_unpriced
@click.option("--json", "as_json", is_flag=True, help="The evalq.drafts/1 document.")
def generate(
    cases: tuple[str, ...],
    task: str | None,
    judge: str | None,
    accepted_set: str | None,
    every: bool,
    as_json: bool,
    **how: Any,
) -> int:
    """Have a model draft cases, stratum by stratum, for people to edit.

    Every case is marked `draft: true`, and no bake-off asks it before it is accepted:
    `evalq generate --accept SET --all`, or by the ids of cases. Never into a holdout.
    """
    if accepted_set is not None:
        return _accept(accepted_set, task, cases, every=every, as_json=as_json)
    if cases or every:
        raise click.UsageError("Cases and --all go with --accept SET.")
    if task is None or judge is None:
        raise click.UsageError(f"Missing option '{'--task' if task is None else '--judge'}'.")
    return _generate(_order(task, judge, **how), as_json=as_json, **how)


def _order(task: str, judge: str, **how: Any) -> "DraftOptions":
    from evalq.cases.draft import DraftOptions

    named = {name: how[name] for name in ("eval_set", "strata", "like", "seed", "append", "allow_unpriced")}
    return DraftOptions(task, how["n"], judge, **named)


def _generate(
    order: "DraftOptions",
    *,
    dry_run: bool,
    yes: bool,
    max_cost_usd: Decimal | None,
    as_json: bool,
    **_rest: Any,
) -> int:
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.bakeoff.probes import plan_query
    from evalq.cases.draft import collect_drafts, plan_drafts, write_drafts

    root, settings = project_root(Path.cwd()), load_settings(Path.cwd(), os.environ)
    brief = plan_drafts(order, root)
    plan = plan_query(brief.query(), settings)
    cap_usd = settings.max_cost_usd if max_cost_usd is None else max_cost_usd
    _say_preflight(brief, plan, cap_usd)
    refuse_over_cap(plan, cap_usd)
    if dry_run or not _may_spend(plan, yes=yes or as_json):
        return 0
    replies = _ask(brief, cap_usd)
    if replies.state == "paused":
        click.echo(f"bake-off {replies.bakeoff_id} is paused, and nothing was written", err=True)
        click.echo(f"next  evalq resume {replies.bakeoff_id}, then the same command again", err=True)
        return 130
    drafted = collect_drafts(brief, replies)
    if drafted.drafts.cases:
        write_drafts(brief, drafted)
    _show(drafted, as_json=as_json)
    return drafted.exit_code


def _say_preflight(brief: "DraftPlan", plan: "Plan", cap_usd: Decimal) -> None:
    strata = len({question.stratum.name for question in brief.questions})
    costs = f"est. ${plan.estimate_usd:.2f}, at most ${plan.worst_usd:.2f}, cap ${cap_usd:.2f}"
    click.echo(
        f"{brief.task.name}: {brief.order.n} drafts in {strata} strata, {plan.n_jobs} calls to "
        f"{plan.judges[0].name}, {costs}",
        err=True,
    )


def _may_spend(plan: "Plan", *, yes: bool) -> bool:
    """A person on a terminal is asked; a script has said so by running the command."""
    if yes or not plan.worst_usd or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return click.confirm("ask the model?", default=False, err=True)


def _ask(brief: "DraftPlan", cap_usd: Decimal) -> "QueryReplies":
    from evalq.bakeoff.probes import run_query
    from evalq.cli.progress import first_interrupt

    settings, root = load_settings(Path.cwd(), os.environ), project_root(Path.cwd())
    with first_interrupt() as interrupt:
        return run_query(brief.query(), settings, root, cap_usd=cap_usd, is_interrupted=interrupt)


def _show(drafted: "Drafted", *, as_json: bool) -> None:
    from evalq.bakeoff.plan import accept_command
    from evalq.cli.output import print_table
    from evalq.reports.text import one_line

    n_cases, is_written = len(drafted.drafts.cases), bool(drafted.drafts.cases)
    accept_all = accept_command(drafted.evalset.name, drafted.task)
    inspect = f"evalq inspect {drafted.replies.bakeoff_id} --show-failures"
    commands = [accept_all] if is_written else [inspect]
    if as_json:
        click.echo(json_text(drafted.document(written=is_written, next_commands=commands)))
    else:
        rows = [(one.stratum, str(one.asked), str(one.drafted)) for one in drafted.strata()]
        print_table(("stratum", "asked", "drafted"), rows)
    for one in drafted.drafts.dropped:
        click.echo(f"dropped: {one_line(f'{one.question}: {one.reason}', 200)}", err=True)
    spent = (
        "asked before, nothing spent"
        if drafted.replies.is_kept
        else f"${drafted.replies.spent_usd:.4f} spent"
    )
    click.echo(f"{n_cases} of {drafted.n_asked} drafted, {spent}", err=True)
    if is_written:
        click.echo(f"wrote {n_cases} drafts to {drafted.path}: edit them there", err=True)
    click.echo(f"next  {commands[0]}", err=True)


def _accept(eval_set: str, task: str | None, cases: tuple[str, ...], *, every: bool, as_json: bool) -> int:
    from dataclasses import asdict

    from evalq.cases.draft import accept

    done = accept(project_root(Path.cwd()), eval_set, task=task, ids=cases, every=every)
    command = f"evalq bake-off --task {done.task} --eval-set {eval_set}"
    if as_json:
        click.echo(json_text({"schema": "evalq.accepted/1", **asdict(done), "next": [command]}))
    else:
        click.echo(f"accepted {len(done.ids)} cases of {done.path}, {done.left} drafts left")
    click.echo(f"next  {command}", err=True)
    return 0
