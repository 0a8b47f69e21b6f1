"""The command that lists the judges one can name."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.definitions.judge import JudgeConfig


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="A list of {name, provider, model, price, key_present}."
)
def judges(as_json: bool) -> int:
    """List the judges one can name: those that come with evalq and those of evalq.yaml."""
    from evalq.catalogue import catalogue

    rows = [_row(judge) for judge in catalogue(load_settings(Path.cwd(), os.environ).judges).values()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        _print(rows)
    return 0


def _row(judge: "JudgeConfig") -> dict[str, Any]:
    from evalq.pricing import price_of

    price = price_of(judge)
    return {
        "name": judge.name,
        "provider": judge.provider,
        "model": judge.model,
        "price": {"input": str(price.input), "output": str(price.output)} if price else None,
        "key_present": not judge.api_key_env or bool(os.environ.get(judge.api_key_env)),
    }


def _print(rows: list[dict[str, Any]]) -> None:
    from evalq.cli.table import print_table

    cells = [
        (
            row["name"],
            row["provider"],
            row["model"],
            _price(row["price"]),
            "yes" if row["key_present"] else "no",
        )
        for row in rows
    ]
    print_table(("judge", "provider", "model", "$ per Mtok in/out", "key"), cells)
    click.echo("next  evalq bake-off --task TASK --eval-set SET --judges A,B", err=True)


def _price(price: dict[str, str] | None) -> str:
    return f"{price['input']}/{price['output']}" if price else "?"
