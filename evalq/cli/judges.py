"""The command that lists the judges one can name."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.json_output import json_text
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.definitions.judge import JudgeConfig

_LIMITS = ("rpm", "input_tpm", "output_tpm", "concurrency")


@click.command()
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A list of {name, provider, model, price, limits, key_present, aliases}.",
)
def judges(as_json: bool) -> int:
    """List the judges one can name: those that come with evalq and those of evalq.yaml."""
    from evalq.catalogue import catalogue
    from evalq.keys import environment_with_keys

    environ = environment_with_keys(os.environ)
    known = catalogue(load_settings(Path.cwd(), os.environ).judges).values()
    rows = [_row(judge, environ) for judge in known]
    if as_json:
        click.echo(json_text(rows))
    else:
        _print(rows)
    return 0


def _row(judge: "JudgeConfig", environ: Mapping[str, str]) -> dict[str, Any]:
    from evalq.catalogue import aliases_of
    from evalq.pricing import price_of

    price = price_of(judge)
    return {
        "name": judge.name,
        "provider": judge.provider,
        "model": judge.model,
        "price": {"input": str(price.input), "output": str(price.output)} if price else None,
        "limits": {limit: getattr(judge, limit) for limit in _LIMITS},
        "key_present": all(environ.get(name, "").strip() for name in _variables(judge)),
        "aliases": aliases_of(judge.name),
    }


def _variables(judge: "JudgeConfig") -> list[str]:
    """The variables without which the judge cannot be asked."""
    headers = judge.headers_env.values() if judge.provider == "http" else ()
    return [*headers, *([judge.key_name] if judge.key_name else [])]


def _print(rows: list[dict[str, Any]]) -> None:
    from evalq.cli.table import print_table
    from evalq.pricing import prices_as_of

    head = ("judge", "provider", "model", "$ per Mtok in/out", "limits", "key", "also called")
    print_table(head, [_cells(row) for row in rows])
    click.echo(
        f"prices of {prices_as_of() or 'an unknown day'}, or as set in evalq.yaml; ? = no price", err=True
    )
    click.echo("next  evalq bake-off --task TASK --eval-set SET --judges A,B", err=True)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    price = row["price"]
    limits = ", ".join(f"{value:,.10g} {name}" for name, value in row["limits"].items() if value is not None)
    return (
        row["name"],
        row["provider"],
        row["model"],
        f"{price['input']}/{price['output']}" if price else "?",
        limits or "-",
        "yes" if row["key_present"] else "no",
        ", ".join(row["aliases"]) or "-",
    )
