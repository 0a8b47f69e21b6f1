"""The command that has a model draft cases, and accepts them after people edited them: generate."""

import sys
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.definitions.money import money
from evalq.reports.text import one_line

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.cases.draft import Drafted, DraftOptions, DraftPlan

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("cases", metavar="[CASE]...", nargs=-1)
@options.task("The task cases are drafted for: its name, or the path of its file.")
@click.option(
    "--n", "--count", "n", type=click.IntRange(1, 10_000), default=60, show_default=True, help="How many."
)
@options.judge("The model that drafts; `evalq judges` lists them.", metavar="MODEL")
@options.eval_set("The evalset to write; default: draft-N.", metavar="draft-NAME")
@click.option("--strata", type=_PATH, help="A YAML file of strata; default: those of the set to draft like.")
@click.option(
    "--like", metavar="SET", help="The set to draft like, not a holdout; default: the task's first."
)
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
@options.as_json("The evalq.drafts/1 document.")
@options.collect_run_options
@pass_context
def generate(
    context: Context,
    cases: tuple[str, ...],
    task: str | None,
    n: int,
    judge: str | None,
    eval_set: str | None,
    strata: Path | None,
    like: str | None,
    seed: int,
    append: bool,
    accepted_set: str | None,
    every: bool,
    yes: bool,
    run: RunOptions,
) -> int:
    """Have a model draft cases, stratum by stratum, for people to edit.

    Every case is marked `draft: true`, and no bake-off asks it before it is accepted:
    `evalq generate --accept SET --all`, or by the ids of cases. Never into a holdout.
    """
    from evalq.cases.draft import DraftOptions

    if accepted_set is not None:
        return _accept(context, accepted_set, task, cases, every=every, as_json=run.as_json)
    if cases or every:
        raise click.UsageError("Cases and --all go with --accept SET.")
    if task is None:
        raise click.UsageError("Missing option '--task'.")
    if judge is None:
        raise click.UsageError("Missing option '--judge'.")
    wanted = DraftOptions(task, n, judge, eval_set, strata, like, seed, append, run.allow_unpriced)
    return _generate(context, wanted, run, yes=yes)


def _generate(context: Context, wanted: "DraftOptions", run: RunOptions, *, yes: bool) -> int:
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.bakeoff.probes import plan_query, run_query
    from evalq.cases.draft import collect_drafts, plan_drafts, write_drafts
    from evalq.cli.progress import first_interrupt

    drafting = plan_drafts(wanted, context.root)
    plan = plan_query(drafting.query(), context.settings)
    cap_usd = context.cap_usd(run.max_cost_usd)
    _announce(drafting, plan, cap_usd)
    refuse_over_cap(plan, cap_usd)
    if run.dry_run or not _may_spend(plan, yes=yes or run.as_json):
        return 0
    with first_interrupt() as interrupt:
        replies = run_query(
            drafting.query(), context.settings, context.root, cap_usd=cap_usd, is_interrupted=interrupt
        )
    if replies.state == "paused":
        note(f"bake-off {replies.bakeoff_id} is paused, and nothing was written")
        suggest(f"evalq resume {replies.bakeoff_id}, then the same command again")
        return 130
    drafted = collect_drafts(drafting, replies)
    if drafted.drafts.cases:
        write_drafts(drafting, drafted)
    _show(drafted, as_json=run.as_json)
    return drafted.exit_code


def _announce(drafting: "DraftPlan", plan: "Plan", cap_usd: Decimal) -> None:
    strata = len({call.stratum.name for call in drafting.calls})
    costs = f"est. ${money(plan.estimate_usd)}, at most ${money(plan.worst_usd)}, cap ${money(cap_usd)}"
    note(
        f"{drafting.task.name}: {drafting.options.n} drafts in {strata} strata, {plan.n_jobs} calls to "
        f"{plan.judges[0].name}, {costs}"
    )


def _may_spend(plan: "Plan", *, yes: bool) -> bool:
    """Ask a person on a terminal; a script consents by running the command."""
    if yes or not plan.worst_usd or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return click.confirm("ask the model?", default=False, err=True)


def _show(drafted: "Drafted", *, as_json: bool) -> None:
    from evalq.bakeoff.plan import accept_command

    n_cases = len(drafted.drafts.cases)
    command = f"evalq inspect {drafted.replies.bakeoff_id} --show-failures"
    if n_cases:
        command = accept_command(drafted.evalset.name, drafted.task)
    if as_json:
        print_json(drafted.document(written=bool(n_cases), next_commands=[command]))
    else:
        rows = [(one.stratum, str(one.asked), str(one.drafted)) for one in drafted.strata()]
        print_table(("stratum", "asked", "drafted"), rows)
    for one in drafted.drafts.dropped:
        note(f"dropped: {one_line(f'{one.question}: {one.reason}', 200)}")
    spent = f"${drafted.replies.spent_usd:.4f} spent"
    if drafted.replies.is_kept:
        spent = "asked before, nothing spent"
    note(f"{n_cases} of {drafted.n_asked} drafted, {spent}")
    if n_cases:
        note(f"wrote {n_cases} drafts to {drafted.path}: edit them there")
    suggest(command)


def _accept(
    context: Context, eval_set: str, task: str | None, cases: tuple[str, ...], *, every: bool, as_json: bool
) -> int:
    from evalq.cases.draft import accept

    done = accept(context.root, eval_set, task=task, ids=cases, every=every)
    command = f"evalq bake-off --task {done.task} --eval-set {eval_set}"
    if as_json:
        print_json({"schema": "evalq.accepted/1", **asdict(done), "next": [command]})
    else:
        click.echo(f"accepted {len(done.ids)} cases of {done.path}, {done.left} drafts left")
    suggest(command)
    return 0
