"""The command that makes sure of judges: one real call each."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.json_output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.smoke import Smoke


@click.command()
@click.option(
    "--smoke", is_flag=True, help="One call per judge, on the first case of a set that is no holdout."
)
@click.option("--task", required=True, help="A task: its name, or the path of its file.")
@click.option("--judges", default="", help="Judges by name, separated by commas; default: the task's own.")
@click.option(
    "--eval-set", help="Where the case is taken from; default: the task's first set that is no holdout."
)
@click.option("--json", "as_json", is_flag=True)
@options.max_cost
@options.allow_unpriced
def verify(
    smoke: bool,
    task: str,
    judges: str,
    eval_set: str | None,
    as_json: bool,
    max_cost_usd: Any,
    allow_unpriced: bool,
) -> int:
    """Make one real call per judge: answer, latency, tokens, cost, limits, or the fault with its remedy."""
    from evalq.smoke import smoke_test

    if not smoke:
        raise InputError(Problem("verify needs to know what to verify", "add --smoke"))
    settings = load_settings(Path.cwd(), os.environ)
    found = smoke_test(
        settings,
        project_root(Path.cwd()),
        task=task,
        eval_set=eval_set,
        judges=options.names(judges),
        cap_usd=max_cost_usd if max_cost_usd is not None else settings.max_cost_usd,
        allow_unpriced=allow_unpriced,
    )
    if as_json:
        click.echo(json_text([one.document() for one in found]))
    else:
        _print(found)
    return 0 if all(one.ok for one in found) else 3


def _print(found: "Sequence[Smoke]") -> None:
    from evalq.reports.text import one_line

    for one in found:
        click.echo(f"{'✓' if one.ok else '✗'} {one.judge}: {one_line(one.line(), 300)}")
        if one.ok:
            click.echo(f"    {one_line(one.answer, 200)}")
