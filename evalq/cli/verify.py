"""The command that makes sure of judges: against their own past, or with one real call each."""

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.json_output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import Settings, load_settings, project_root

if TYPE_CHECKING:
    from evalq.smoke import Smoke


@click.command()
@click.option(
    "--smoke", is_flag=True, help="One call per judge, on the first case of a set that is no holdout."
)
@click.option("--task", required=True, help="A task: its name, or the path of its file.")
@click.option("--judges", default="", help="Judges by name, separated by commas; default: the task's own.")
@click.option(
    "--eval-set", help="The set to check on; with --smoke by default the task's first that is no holdout."
)
@click.option(
    "--rule",
    type=click.Choice(["seed", "confirm", "sequential"]),
    default="confirm",
    show_default=True,
    help="seed: 5 points under the last four runs' median; confirm: that, then four fresh repeats and an "
    "exact test; sequential: evidence against an accepted run.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless a judge got worse.")
@click.option("--json", "as_json", is_flag=True)
@options.max_cost
@options.allow_unpriced
def verify(
    smoke: bool,
    task: str,
    judges: str,
    eval_set: str | None,
    as_json: bool,
    max_cost_usd: Decimal | None,
    allow_unpriced: bool,
    rule: Any,
    quiet: bool,
) -> int:
    """Check judges for drift: against their own last runs, or against an accepted one.

    Exit code 0: as they were; 1: a judge got worse; 3: inconclusive. With --smoke one real call per judge:
    answer, latency, tokens, cost, limits, or the fault with its remedy.
    """
    settings = load_settings(Path.cwd(), os.environ)
    cap_usd = max_cost_usd if max_cost_usd is not None else settings.max_cost_usd
    names = options.names(judges)
    if smoke:
        return _smoke(settings, task, eval_set, names, cap_usd, allow_unpriced, as_json)
    if eval_set is None:
        raise InputError(
            Problem("verify needs to know what to verify", "name a set with --eval-set, or add --smoke")
        )
    from evalq.verification import check_request

    request = check_request(task, eval_set, names, allow_unpriced=allow_unpriced)
    return _check(settings, request, rule, cap_usd=cap_usd, quiet=quiet, as_json=as_json)


def _smoke(
    settings: Settings,
    task: str,
    eval_set: str | None,
    judges: Sequence[str],
    cap_usd: Decimal,
    allow_unpriced: bool,
    as_json: bool,
) -> int:
    from evalq.smoke import smoke_test

    found = smoke_test(
        settings,
        project_root(Path.cwd()),
        task=task,
        eval_set=eval_set,
        judges=judges,
        cap_usd=cap_usd,
        allow_unpriced=allow_unpriced,
    )
    if as_json:
        click.echo(json_text([one.document() for one in found]))
    else:
        _print_smoke(found)
    return 0 if all(one.ok for one in found) else 3


def _print_smoke(found: "Sequence[Smoke]") -> None:
    from evalq.reports.text import one_line

    for one in found:
        click.echo(f"{'✓' if one.ok else '✗'} {one.judge}: {one_line(one.line(), 300)}")
        if one.ok:
            click.echo(f"    {one_line(one.answer, 200)}")


def _check(
    settings: Settings, request: Any, rule: Any, *, cap_usd: Decimal, quiet: bool, as_json: bool
) -> int:
    """Open a check, watch it to its verdicts, have its alerts delivered, show them."""
    from evalq.bakeoff import prepare
    from evalq.cli.bakeoff import say_drafts
    from evalq.cli.checking import Verdicts, watch_check
    from evalq.plan import refuse_over_cap
    from evalq.session import open_session
    from evalq.verification import checks_of, exit_code, open_check

    root = project_root(Path.cwd())
    plan = prepare(request, settings, root)
    say_drafts([plan])
    refuse_over_cap(plan, cap_usd)
    with open_session(settings, fleet=True) as session:
        broker = session.broker()
        bakeoff_id = open_check(session, broker, plan, rule=rule, cap_usd=cap_usd, root=root)
        paused = watch_check(session, broker, bakeoff_id, display="none" if quiet else settings.display)
        found = checks_of(session.db, bakeoff_id)
    Verdicts(plan, rule, bakeoff_id, found).show(as_json=as_json, quiet=quiet)
    if paused is not None:
        click.echo(f"the check is paused\nnext  evalq resume {paused}", err=True)
        return 130
    return exit_code(found)
