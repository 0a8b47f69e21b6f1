"""Commands that start bake-offs: demo and bake-off."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import LimitedText, RunOptions
from evalq.cli.output import note, print_json
from evalq.cli.preflight import (
    check_plans,
    describe_plan,
    exit_code_of,
    look_up_costs,
    plan_document,
    print_readiness,
    print_warnings,
    warn_of_looks,
)
from evalq.definitions.money import money
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.bakeoff.request import Request

DEMO_TASK, DEMO_SET = "knowledge_audit", "dev-93"


@click.command("bake-off")
@options.task("A task: its name, or the path of its file; several by commas.", default="")
@click.option("--all-tasks", is_flag=True, help="Every task of the project, one after the other.")
@options.eval_set(
    "An evalset of the task: its name, or a path; task=set,task=set for several tasks. "
    "Default: the task's first that is not a holdout. A file in another format (EVAL.yaml, evals.json, "
    "promptfooconfig.yaml, a table of questions) and an eva prompt's folder or eval.yml need no --task."
)
@options.judges(
    "The models on trial, by name and separated by commas; default: the task's own. A system of your own: "
    "'command:./answer.sh', python:module:function or http://host:port/path; may be repeated."
)
@click.option(
    "--scorer", type=click.Choice(["llm_judge", "strict_substring"]), help="Instead of the task's own."
)
@options.grader_model("The grader: the model that marks answers; default: the task's own.")
@click.option(
    "--samples",
    type=int,
    help="Answers per judge and case; default: 1, or what a set in another format says.",
)
@click.option(
    "--trigger-mode",
    type=click.Choice(["tool_calls", "description"]),
    help="How to decide whether a judge would use a skill; default: as the judges can show it.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Order of the cases, and simulated answers."
)
@click.option(
    "--final-decision",
    "look",
    flag_value="final-decision",
    default=None,
    help="Look at a holdout-… set; that is recorded for good.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Only the first so many cases: a trial, marked as limited and never `last`.",
)
@click.option("--name", type=LimitedText(200), help="What to call it in lists.")
@options.notes
@options.ci
@options.max_cost
@options.allow_unpriced
@options.detach
@options.dry_run
@options.output
@options.display
@options.collect_run_options
@pass_context
def bake_off(
    context: Context,
    task: str,
    all_tasks: bool,
    eval_set: str | None,
    judges: list[str],
    scorer: Any,
    grader_model: str | None,
    samples: int | None,
    trigger_mode: Any,
    seed: int,
    look: Any,
    limit: int | None,
    name: str | None,
    run: RunOptions,
) -> int:
    """Run judges, the models on trial, on a task and compare them.

    Every judge answers every case of the evalset; the answers are graded and the judges compared on the
    same cases. Ctrl-C stops spending and prints the command that goes on.

    With several tasks, one bake-off follows the other under the one cap, and dollars are set against quality
    per task and over all; detached, they run at once, each under a share of the cap fixed up front.
    """
    from evalq.bakeoff.portfolio import select
    from evalq.bakeoff.request import Request
    from evalq.cli.portfolio import read_tasks, run_tasks

    names = [""]
    if task or all_tasks or not _brings_task(eval_set):
        names = read_tasks(context, task, all_tasks=all_tasks)
    request = Request(names[0], eval_set or "", judges, scorer, grader_model, samples, seed)
    request = replace(request, allow_unpriced=run.allow_unpriced, notes=run.notes)
    request = replace(request, look=look, trigger_mode=trigger_mode, limit=limit, name=name)
    if all_tasks or len(names) > 1:
        _refuse_other_ci(run.ci)
        return run_tasks(context, names, eval_set, request, run)
    if eval_set is None:
        (request,) = select(names, None, like=request, root=context.root)
    return _run(context, request, run)


@click.command()
@click.option(
    "--scorer",
    type=click.Choice(["llm_judge", "strict_substring"]),
    default="strict_substring",
    show_default=True,
    help="How answers are graded.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another draw of answers.")
@options.max_cost
@options.output
@options.display
@options.collect_run_options
@pass_context
def demo(context: Context, scorer: Any, seed: int, run: RunOptions) -> int:
    """Run a bake-off of seven simulated judges: no key, no cost, the real engines.

    651 jobs go through Postgres, Valkey, Celery and a chord. One judge answers nothing at all, as a broken
    integration would: it is left out of the ranking and the demo ends with exit code 3, partial.
    """
    from evalq.bakeoff.request import Request
    from evalq.definitions.catalogue import all_judges
    from evalq.definitions.judge import SimulatedJudge

    simulated = [name for name, judge in all_judges({}).items() if isinstance(judge, SimulatedJudge)]
    judges = [name for name in simulated if name != "sim-grader"]
    return _run(context, Request(DEMO_TASK, DEMO_SET, judges, scorer, seed=seed), run)


def _run(context: Context, request: "Request", run: RunOptions) -> int:
    from evalq.bakeoff.estimate import refine_estimate
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.formats import prepare

    plan = prepare(request, context.settings, context.root)
    cap_usd = context.cap_usd(run.max_cost_usd)
    if run.dry_run:
        (plan,) = look_up_costs(context, [plan])
        return _show_plan(context, plan, cap_usd, as_json=run.as_json)
    if run.detach:
        context.require_fleet()
    if not context.has_database():
        refuse_over_cap(plan, cap_usd)
    with context.open_session(fleet=not run.detach, providers=plan.providers) as session:
        from evalq.bakeoff.launch import start  # it loads Celery, which went on while the engines started

        plan = refine_estimate(session.db, plan)
        _announce(plan, cap_usd)
        warn_of_looks(session.db, [plan])
        bakeoff_id = start(session, plan, cap_usd=cap_usd, root=context.root)
        from evalq.cli.progress import (
            report_detached,
            watch_and_show,
        )  # while the first calls are on their way

        if run.detach:
            return report_detached(bakeoff_id)
        return watch_and_show(context, session, bakeoff_id, run, pause_on_interrupt=True)


def _announce(plan: "Plan", cap_usd: Decimal) -> None:
    """Print what will be asked and what it may cost; refuse a plan that costs more than the cap."""
    from evalq.bakeoff.plan import refuse_over_cap

    note(f"{describe_plan(plan)}, cap ${money(cap_usd)}")
    print_warnings(plan)
    refuse_over_cap(plan, cap_usd)


def _show_plan(context: Context, plan: "Plan", cap_usd: Decimal, *, as_json: bool) -> int:
    found = check_plans(context, [plan])
    if as_json:
        print_json(plan_document(plan, cap_usd, found))
    _announce(plan, cap_usd)
    if not as_json:
        print_readiness(found)
    return exit_code_of(found)


def _brings_task(eval_set: str | None) -> bool:
    """Whether a set is in another tool's format, which contains its own task."""
    from evalq.formats import recognise

    return eval_set is not None and recognise(Path(eval_set)) is not None


def _refuse_other_ci(ci: str) -> None:
    if ci != "wilson":
        raise InputError(
            Problem("--ci is for a bake-off on one task", f"`evalq inspect ID --ci {ci}` shows each with it")
        )
