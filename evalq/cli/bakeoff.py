"""Commands that start bake-offs: demo and bake-off."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.results import BakeOffResult
    from evalq.store.database import Database


def say_look(plan: "Plan") -> None:
    """Before a final decision: what it will record."""
    if plan.look == "final-decision":
        click.echo(
            f"final decision on {plan.evalset.name}: the look is recorded before the first call, its result "
            f"at the end, in Postgres and in evalsets/{plan.task.name}/holdout-runs.log",
            err=True,
        )


def warn_of_looks(db: "Database", plans: "Sequence[Plan]") -> None:
    """Loudly: a set that was looked at before has lost some of its worth."""
    from evalq.bakeoff.holdout import warn_before

    for plan in plans:
        warning = warn_before(db, plan) if plan.look == "final-decision" else None
        if warning:
            click.secho(f"WARNING  {warning}", fg="red", bold=True, err=True)


def complete_logs(db: "Database", result: "BakeOffResult") -> None:
    """After a look: the project's file gets the lines that the fleet wrote into Postgres."""
    from evalq.bakeoff.holdout import complete_files, is_holdout

    if is_holdout(result.eval_set):
        for problem in complete_files(db, project_root(Path.cwd())):
            click.echo(f"warning: {problem}", err=True)


DEMO_TASK, DEMO_SET = "knowledge_audit", "dev-93"


@click.command("bake-off")
@click.option("--task", default="", help="A task: its name, or the path of its file; several by commas.")
@click.option("--all-tasks", is_flag=True, help="Every task of the project, one after the other.")
@click.option(
    "--eval-set",
    help="An evalset of the task: its name, or a path; task=set,task=set for several tasks. "
    "Default: the task's first that is no holdout. A file in another format (EVAL.yaml, evals.json, "
    "promptfooconfig.yaml, a table of questions) and an eva prompt's folder or eval.yml need no --task.",
)
@click.option("--judges", default="", help="Judges by name, separated by commas; default: the task's own.")
@click.option(
    "--scorer", type=click.Choice(["llm_judge", "strict_substring"]), help="Instead of the task's own."
)
@click.option("--grader-model", help="The judge that grades, for llm_judge; default: the task's own.")
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
@options.ci
@options.max_cost
@options.allow_unpriced
@options.detach
@options.dry_run
@options.output
@options.display
def bake_off(
    task: str,
    all_tasks: bool,
    eval_set: str | None,
    judges: str,
    scorer: Any,
    grader_model: str | None,
    samples: int | None,
    trigger_mode: Any,
    seed: int,
    look: Any,
    allow_unpriced: bool,
    ci: Any,
    **how: Any,
) -> int:
    """Run judges on a task and compare them.

    Every judge answers every case of the evalset; the answers are graded and the judges compared on the
    same cases. Ctrl-C stops spending and prints the command that goes on.

    With several tasks, one bake-off follows the other under the one cap, and dollars are set against quality
    per task and over all; detached, they run at once, each under a share of the cap fixed up front.
    """
    from evalq.bakeoff.portfolio import select
    from evalq.bakeoff.request import Request
    from evalq.cli.portfolio import named_tasks, run_tasks

    is_own_task = not (task or all_tasks) and _brings_task(eval_set)
    names = [""] if is_own_task else named_tasks(task, all_tasks=all_tasks)
    asked = Request(names[0], eval_set or "", options.names(judges), scorer, grader_model, samples, seed)
    request = replace(asked, allow_unpriced=allow_unpriced, look=look, trigger_mode=trigger_mode)
    if all_tasks or len(names) > 1:
        _refuse_other_ci(ci)
        return run_tasks(names, eval_set, request, **how)
    if eval_set is None:
        (request,) = select(names, None, like=request, root=project_root(Path.cwd()))
    return _run(request, ci=ci, **how)


@click.command()
@click.option(
    "--scorer",
    type=click.Choice(["llm_judge", "strict_substring"]),
    default="strict_substring",
    show_default=True,
)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another draw of answers.")
@options.max_cost
@options.output
@options.display
def demo(scorer: Any, seed: int, **how: Any) -> int:
    """Run a bake-off of seven simulated judges: no key, no cost, the real engines.

    651 jobs through Postgres, Valkey, Celery and a chord. One judge answers nothing at all, as a broken
    integration would: it is left out of the ranking and the demo ends with exit code 3, partial.
    """
    from evalq.bakeoff.request import Request

    request = Request(DEMO_TASK, DEMO_SET, _demo_judges(), scorer, seed=seed)
    return _run(request, detach=False, dry_run=False, **how)


def _run(
    request: Any,
    *,
    max_cost_usd: Decimal | None,
    detach: bool,
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    display: Any,
    ci: Any = "wilson",
) -> int:
    from evalq.bakeoff.launch import start
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.cli.progress import Screen, say_detached, watch_and_show
    from evalq.engines.session import open_session
    from evalq.formats import prepare
    from evalq.reports.text import clean

    root, settings = project_root(Path.cwd()), load_settings(Path.cwd(), options.environ())
    plan = prepare(request, settings, root)
    cap_usd = max_cost_usd if max_cost_usd is not None else settings.max_cost_usd
    screen = Screen(display or settings.display, as_json=as_json, output=output, ci=ci)
    click.echo(f"{preflight(plan)}, cap ${cap_usd:.2f}", err=True)
    for warning in plan.warnings:
        click.echo(f"warning: {clean(warning)}", err=True)
    say_drafts([plan])
    say_look(plan)
    warn_of_own_graders(plan)
    refuse_over_cap(plan, cap_usd)
    if dry_run:
        return 0
    if detach:
        options.require_a_fleet(settings)
    with open_session(settings, fleet=not detach) as session:
        warn_of_looks(session.db, [plan])
        bakeoff_id = start(session, plan, cap_usd=cap_usd, root=root)
        if detach:
            return say_detached(bakeoff_id)
        return watch_and_show(session, bakeoff_id, screen, pause_on_interrupt=True)


def warn_of_own_graders(plan: "Plan") -> None:
    """Before anything is paid for: a judge that marks its own answers is no witness."""
    from evalq.bakeoff.plan import own_graders

    for name in own_graders(plan.judges, plan.graders):
        click.secho(
            f"WARNING  {name} is on trial and grades its own answers; name another with --grader-model",
            fg="red",
            bold=True,
            err=True,
        )


def _brings_task(eval_set: str | None) -> bool:
    """Whether a set is in another format, which says itself what is asked."""
    from evalq.formats import recognise

    return eval_set is not None and recognise(Path(eval_set)) is not None


def preflight(plan: "Plan") -> str:
    """What is about to be asked, and what it may cost."""
    grading = " plus grading" if plan.grader else ""
    judges = f"{len(plan.judges)} judge{'' if len(plan.judges) == 1 else 's'}"
    return (
        f"{plan.task.name} · {plan.evalset.name} · {judges}: {plan.n_jobs} calls{grading}, "
        f"est. ${plan.estimate_usd:.2f}, at most ${plan.worst_usd:.2f}"
    )


def say_drafts(plans: "Sequence[Plan]") -> None:
    """Cases that nobody has accepted are not asked: say so before anything is."""
    for plan in plans:
        if plan.draft_warning:
            click.echo(f"warning: {plan.draft_warning}", err=True)


def _refuse_other_ci(ci: str) -> None:
    if ci != "wilson":
        raise InputError(
            Problem("--ci is for a bake-off on one task", f"`evalq inspect ID --ci {ci}` shows each with it")
        )


def _demo_judges() -> list[str]:
    from evalq.definitions.catalogue import catalogue
    from evalq.definitions.judge import SimulatedJudge

    return [
        name for name, j in catalogue({}).items() if isinstance(j, SimulatedJudge) and name != "sim-grader"
    ]
