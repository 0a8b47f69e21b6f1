"""Commands on several bake-offs at once: bake-off over many tasks, and frontier."""

import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.options import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.bakeoff.portfolio import Entry
    from evalq.bakeoff.request import Request
    from evalq.cli.progress import Screen
    from evalq.engines.session import Session
    from evalq.results import BakeOffResult, PortfolioResult


@click.command()
@click.argument("ids", metavar="ID,ID...")
@click.option("--json", "as_json", is_flag=True, help="The evalq.portfolio/1 document on stdout.")
def frontier(ids: str, as_json: bool) -> int:
    """Set dollars against quality over bake-offs of the same judges, one per task.

    A judge is on the frontier when no other is as cheap and as good. Overall, each task weighs the same.
    """
    from evalq.bakeoff.portfolio import read_portfolio
    from evalq.engines.session import open_session
    from evalq.store import bakeoffs

    with open_session(load_settings(Path.cwd(), options.environ())) as session:
        found = [bakeoffs.get(session.db, bakeoffs.find(session.db, name)) for name in options.names(ids)]
        tasks = [row.task_name for row in found]
        if len(set(tasks)) < len(tasks) or not tasks:
            raise InputError(Problem(f"{ids!r} are not bake-offs of different tasks", "name one per task"))
        result = read_portfolio(session.db, [row.id for row in found])
    if as_json:
        click.echo(json_text(result.to_dict()))
    else:
        _print_frontier(result)
    commands = [command for command in result.next if not command.startswith("evalq frontier")]
    _say_next([*commands, f"evalq inspect {result.bakeoffs[0].id}"])
    return 0


def named_tasks(task: str, *, all_tasks: bool) -> list[str]:
    """The tasks meant by --task, a path being one whatever is in it, or by --all-tasks."""
    from evalq.bakeoff.portfolio import all_tasks as tasks_of

    names = [task] if Path(task).is_file() else options.names(task)
    if bool(names) == all_tasks:
        message = "--task and --all-tasks exclude each other." if names else "Missing option '--task'."
        raise click.UsageError(message)
    return tasks_of(project_root(Path.cwd())) if all_tasks else names


def run_tasks(names: Sequence[str], eval_set: str | None, like: "Request", **how: Any) -> int:
    """The same judges on several tasks: one bake-off after the other, then all of them together."""
    from evalq.bakeoff.portfolio import Entry, refuse_total_over_cap, select
    from evalq.formats import prepare_all

    root, settings = project_root(Path.cwd()), load_settings(Path.cwd(), options.environ())
    requests = select(names, eval_set, like=like, root=root)
    plans = prepare_all(requests, settings, root)
    max_cost_usd, is_dry = how.pop("max_cost_usd"), how.pop("dry_run")
    cap_usd = settings.max_cost_usd if max_cost_usd is None else max_cost_usd
    _say_preflight(plans, cap_usd)
    refuse_total_over_cap(plans, cap_usd)
    if is_dry:
        return 0
    entries = [Entry(request, plan) for request, plan in zip(requests, plans, strict=True)]
    return _run(entries, cap_usd, settings=settings, root=root, **how)


def _run(
    entries: "Sequence[Entry]",
    cap_usd: Decimal,
    *,
    settings: Any,
    root: Path,
    detach: bool,
    as_json: bool,
    output: Path | None,
    display: Any,
) -> int:
    from evalq.cli.bakeoff import warn_of_looks
    from evalq.cli.progress import Screen
    from evalq.engines.session import open_session

    screen = Screen(display or settings.display, as_json=as_json, output=output)
    if detach:
        options.require_a_fleet(settings)
    with open_session(settings, fleet=not detach) as session:
        warn_of_looks(session.db, [entry.plan for entry in entries])
        if detach:
            return _leave_to_the_fleet(session, entries, cap_usd, root)
        return _run_in_turn(session, entries, screen, cap_usd=cap_usd, root=root)


def _leave_to_the_fleet(session: "Session", entries: "Sequence[Entry]", cap_usd: Decimal, root: Path) -> int:
    """All at once, so the cap is split up front; the numbers go to stdout, for scripts."""
    from evalq.bakeoff.launch import start
    from evalq.bakeoff.portfolio import cap_shares

    ids = []
    for entry, share in zip(entries, cap_shares([entry.plan for entry in entries], cap_usd), strict=True):
        ids.append(str(start(session, entry.plan, cap_usd=share, root=root)))
        click.echo(ids[-1])
        what = f"{entry.plan.task.name}: bake-off {ids[-1]} runs on the fleet, "
        click.echo(f"{what}its share of the cap is ${share:.4f}", err=True)
    _say_next([f"evalq watch {ids[0]}", f"evalq frontier {','.join(ids)}"])
    return 0


def _run_in_turn(
    session: "Session", entries: "Sequence[Entry]", screen: "Screen", *, cap_usd: Decimal, root: Path
) -> int:
    from evalq.bakeoff.portfolio import run_in_turn
    from evalq.cli.options import first_interrupt
    from evalq.cli.progress import watch_to_end

    with first_interrupt() as interrupt:

        def watch(bakeoff_id: int) -> "BakeOffResult | None":
            result = watch_to_end(session, bakeoff_id, screen, interrupt=interrupt, pause_on_interrupt=True)
            if result.state == "concluded" or not interrupt():
                _show_one(result, screen)
            return None if interrupt() else result

        ended = run_in_turn(session, entries, cap_usd=cap_usd, root=root, watch=watch)
        if interrupt() and (ended.result.not_started or ended.result.bakeoffs[-1].state == "paused"):
            return _say_interrupted(ended.result)
        _show_all(ended.result, screen)
    return ended.exit_code


def _say_preflight(plans: "Sequence[Plan]", cap_usd: Decimal) -> None:
    from evalq.cli.bakeoff import preflight, say_drafts, say_look

    for plan in plans:
        click.echo(preflight(plan), err=True)
        say_drafts([plan])
        say_look(plan)
    estimate = sum((plan.estimate_usd for plan in plans), Decimal(0))
    worst = sum((plan.worst_usd for plan in plans), Decimal(0))
    calls = sum(plan.n_jobs for plan in plans)
    click.echo(
        f"{len(plans)} tasks: {calls} calls, est. ${estimate:.2f}, at most ${worst:.2f}, cap ${cap_usd:.2f}",
        err=True,
    )


def _show_one(result: "BakeOffResult", screen: "Screen") -> None:
    """A task's own table, as soon as there is one; a document has them all at the end."""
    from evalq.cli.progress import print_result
    from evalq.reports.frontier import plain_heading

    if screen.as_json:
        return
    if not sys.stdout.isatty():
        click.echo(plain_heading(result))
    print_result(result)


def _show_all(result: "PortfolioResult", screen: "Screen") -> None:
    document = json_text(result.to_dict())
    if screen.output:
        screen.output.write_text(document + "\n", "utf-8")
    if screen.as_json:
        click.echo(document)
    else:
        _print_frontier(result)
    _say_next(result.next)


def _print_frontier(result: "PortfolioResult") -> None:
    from rich.console import Console

    from evalq.reports.frontier import render_frontier, render_plain_frontier

    if not sys.stdout.isatty():
        click.echo(render_plain_frontier(result))
        return
    console = Console()
    console.print(render_frontier(result, width=console.width, ascii_only=console.options.ascii_only))


def _say_interrupted(result: "PortfolioResult") -> int:
    done = ", ".join(f"{each.task} {each.n_done} of {each.n_jobs}" for each in result.bakeoffs)
    rest = f"; not started: {', '.join(result.not_started)}" if result.not_started else ""
    spent = f"${result.spent_usd:.2f} spent, no more is, every answer paid for is stored"
    click.echo(f"jobs ended: {done}{rest}; {spent}", err=True)
    _say_next(result.next)
    return 130


def _say_next(commands: Sequence[str]) -> None:
    """One command a line: they are to be typed one after the other."""
    for command in commands:
        click.echo(f"next  {command}", err=True)
