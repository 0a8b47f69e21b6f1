"""Commands for the keys file: set, list, unset."""

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click

from evalq import keys as stored
from evalq.cli.output import json_text


@click.group()
def keys() -> None:
    """Keep API keys in a file of your own, mode 0600; the environment's keys come first."""


@keys.command("set")
@click.argument("provider_or_variable")
def keys_set(provider_or_variable: str) -> int:
    """Store a key: asked for without echo, or read from a pipe. Name a provider or a variable."""
    name = stored.variable_of(provider_or_variable)
    path = stored.store_key(os.environ, name, _ask(name))
    click.echo(f"{name} is kept in {path}")
    if os.environ.get(name):
        click.echo(f"note: the environment's own {name} comes first", err=True)
    click.echo("next  evalq keys list   evalq judges", err=True)
    return 0


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="A list of {name, present, source}.")
def keys_list(as_json: bool) -> int:
    """List the keys judges ask for and those in the file: present or absent, never a value."""
    from evalq.cli.output import print_table

    rows = _rows(os.environ)
    if as_json:
        click.echo(json_text(rows))
        return 0
    print_table(
        ("key", "state", "source"),
        [(row["name"], "present" if row["present"] else "absent", row["source"] or "-") for row in rows],
    )
    click.echo("next  evalq keys set PROVIDER   evalq judges", err=True)
    return 0


@keys.command("unset")
@click.argument("provider_or_variable")
def keys_unset(provider_or_variable: str) -> int:
    """Remove a key from the file."""
    name = stored.variable_of(provider_or_variable)
    removed = stored.remove_key(os.environ, name)
    click.echo(
        f"{name} is forgotten" if removed else f"there was no {name} in {stored.keys_file(os.environ)}"
    )
    if os.environ.get(name):
        click.echo(f"note: the environment still has {name}", err=True)
    click.echo("next  evalq keys list", err=True)
    return 0


def _ask(name: str) -> str:
    """The key from the terminal, unseen, or the first line of what is piped in."""
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True)).strip()
    return sys.stdin.readline().strip()


def _rows(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    in_file = stored.stored_names(environ)
    names = sorted({*stored.PROVIDER_KEYS.values(), *_asked_for(environ), *in_file})
    return [_row(name, _source(name, environ, in_file)) for name in names]


def _row(name: str, source: str | None) -> dict[str, Any]:
    return {"name": name, "present": source is not None, "source": source}


def _source(name: str, environ: Mapping[str, str], in_file: Collection[str]) -> str | None:
    if environ.get(name):
        return "environment"
    return "file" if name in in_file else None


def _asked_for(environ: Mapping[str, str]) -> set[str]:
    """The variables of the judges in evalq.yaml."""
    from evalq.settings import load_settings

    judges = load_settings(Path.cwd(), environ).judges.values()
    return {judge.key_name for judge in judges if judge.key_name}
