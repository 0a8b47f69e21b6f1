"""Bake-offs on several tasks: how `bake-off` runs them, and the command `frontier`."""

import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_report, suggest, write_json
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
    from evalq.bakeoff.portfolio import PortfolioTask
    from evalq.bakeoff.request import Request
    from evalq.engines.session import Session
    from evalq.results import BakeOffResult, PortfolioResult


@click.command()
@options.bakeoff_id("ids", metavar="ID,ID...")
@options.as_json("The evalq.portfolio/1 document on stdout.")
@pass_context
def frontier(context: Context, ids: str, as_json: bool) -> int:
    """Compare cost and quality over bake-offs of the same judges, one per task.

    A judge is on the frontier when no other is as cheap and as good. Overall, each task weighs the same.
    """
    from evalq.bakeoff.portfolio import read_portfolio
    from evalq.store import bakeoffs

    with context.open_session() as session:
        numbers = [bakeoffs.find(session.db, name) for name in options.split_names(ids)]
        found = [bakeoffs.get(session.db, number) for number in numbers]
        if not found or len({row.task_name for row in found}) < len(found):
            raise InputError(Problem(f"{ids!r} are not bake-offs of different tasks", "name one per task"))
        result = read_portfolio(session.db, [row.id for row in found])
    if as_json:
        print_json(result.to_dict())
    else:
        _print_frontier(result)
    commands = [command for command in result.next if not command.startswith("evalq frontier")]
    _suggest_in_turn([*commands, f"evalq inspect {result.bakeoffs[0].id}"])
    return 0


def read_tasks(context: Context, task: str, *, all_tasks: bool) -> list[str]:
    """The tasks of --task, where a path is always one task, or those of --all-tasks."""
    names = [task] if Path(task).is_file() else options.split_names(task)
    if names and all_tasks:
        raise click.UsageError("--task and --all-tasks exclude each other.")
    if not names and not all_tasks:
        raise click.UsageError("Missing option '--task'.")
    if not all_tasks:
        return names
    from evalq.bakeoff.portfolio import all_tasks as list_all_tasks

    return list_all_tasks(context.root)


def run_tasks(
    context: Context, names: Sequence[str], eval_set: str | None, like: "Request", run: RunOptions
) -> int:
    """Run the same judges on several tasks, one bake-off after the other, then compare all of them."""
    from evalq.bakeoff.estimate import refine_estimate
    from evalq.bakeoff.portfolio import PortfolioTask, refuse_total_over_cap, select
    from evalq.formats import prepare_all

    requests = select(names, eval_set, like=like, root=context.root)
    plans = prepare_all(requests, context.settings, context.root)
    cap_usd = context.cap_usd(run.max_cost_usd)
    if run.dry_run:
        plans = look_up_costs(context, plans)
        found = check_plans(context, plans)
        if run.as_json:
            print_json([plan_document(plan, cap_usd, check_plans(context, [plan])) for plan in plans])
        _announce_all(plans, cap_usd)
        if not run.as_json:
            print_readiness(found)
        return exit_code_of(found)
    if run.detach:
        context.require_fleet()
    providers = frozenset().union(*(plan.providers for plan in plans))
    if not context.has_database():
        refuse_total_over_cap(plans, cap_usd)
    with context.open_session(fleet=not run.detach, providers=providers) as session:
        plans = [refine_estimate(session.db, plan) for plan in plans]
        _announce_all(plans, cap_usd)
        entries = [PortfolioTask(request, plan) for request, plan in zip(requests, plans, strict=True)]
        warn_of_looks(session.db, plans)
        if run.detach:
            return _start_all(context, session, entries, cap_usd)
        return _run_in_turn(context, session, entries, cap_usd, run)


def _announce_all(plans: "Sequence[Plan]", cap_usd: Decimal) -> None:
    """Print what will be asked and what it may cost; refuse plans that cost more than the cap."""
    from evalq.bakeoff.portfolio import refuse_total_over_cap

    for plan in plans:
        note(describe_plan(plan))
        print_warnings(plan)
    estimate = sum((plan.estimate_usd for plan in plans), Decimal(0))
    worst = sum((plan.worst_usd for plan in plans), Decimal(0))
    calls = sum(plan.n_jobs for plan in plans)
    costs = f"est. ${money(estimate)}, at most ${money(worst)}, cap ${money(cap_usd)}"
    note(f"{len(plans)} tasks: {calls} calls, {costs}")
    refuse_total_over_cap(plans, cap_usd)


def _start_all(
    context: Context, session: "Session", entries: "Sequence[PortfolioTask]", cap_usd: Decimal
) -> int:
    """Leave all of them to the fleet at once, each with a share of the cap; print their numbers."""
    from evalq.bakeoff.launch import start
    from evalq.bakeoff.portfolio import cap_shares

    ids = []
    shares = cap_shares([entry.plan for entry in entries], cap_usd)
    for entry, share in zip(entries, shares, strict=True):
        bakeoff_id = start(session, entry.plan, cap_usd=share, root=context.root)
        click.echo(bakeoff_id)
        task = entry.plan.task.name
        note(f"{task}: bake-off {bakeoff_id} runs on the fleet, its share of the cap is ${share:.4f}")
        ids.append(str(bakeoff_id))
    _suggest_in_turn([f"evalq watch {ids[0]}", f"evalq frontier {','.join(ids)}"])
    return 0


def _run_in_turn(
    context: Context,
    session: "Session",
    entries: "Sequence[PortfolioTask]",
    cap_usd: Decimal,
    run: RunOptions,
) -> int:
    from evalq.bakeoff.portfolio import run_in_turn
    from evalq.cli.progress import first_interrupt, watch_to_end

    with first_interrupt() as interrupt:

        def watch(bakeoff_id: int) -> "BakeOffResult | None":
            result = watch_to_end(context, session, bakeoff_id, run, interrupt=interrupt)
            is_complete = result.state == "concluded" or not interrupt()
            if is_complete and not run.as_json:
                _print_task(result)
            return None if interrupt() else result

        ended = run_in_turn(session, entries, cap_usd=cap_usd, root=context.root, watch=watch)
        if interrupt() and (ended.result.not_started or ended.result.bakeoffs[-1].state == "paused"):
            return _report_interrupt(ended.result)
        _show_portfolio(ended.result, run)
    return ended.exit_code


def _print_task(result: "BakeOffResult") -> None:
    """Print one task's table as soon as it is complete."""
    from evalq.cli.progress import print_result
    from evalq.reports.frontier import plain_heading

    if not sys.stdout.isatty():
        click.echo(plain_heading(result))
    print_result(result)


def _show_portfolio(result: "PortfolioResult", run: RunOptions) -> None:
    if run.output:
        write_json(run.output, result.to_dict())
    if run.as_json:
        print_json(result.to_dict())
    else:
        _print_frontier(result)
    _suggest_in_turn(result.next)


def _print_frontier(result: "PortfolioResult") -> None:
    from evalq.reports.frontier import render_frontier, render_plain_frontier

    print_report(result, render_frontier, render_plain_frontier)


def _report_interrupt(result: "PortfolioResult") -> int:
    done = ", ".join(f"{each.task} {each.n_done} of {each.n_jobs}" for each in result.bakeoffs)
    rest = f"; not started: {', '.join(result.not_started)}" if result.not_started else ""
    spent = f"${money(result.spent_usd)} spent, no more is, every answer paid for is stored"
    note(f"jobs ended: {done}{rest}; {spent}")
    _suggest_in_turn(result.next)
    return 130


def _suggest_in_turn(commands: Sequence[str]) -> None:
    """One command a line, since they run one after the other."""
    for command in commands:
        suggest(command)
