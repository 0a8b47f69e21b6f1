"""Commands for the keys file: set, list, unset."""

import sys
from typing import Any

import click

from evalq import keys as stored
from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_table, suggest


@click.group()
def keys() -> None:
    """Keep API keys in a file that only you can read; keys in the environment come first."""


@keys.command("set")
@click.argument("provider_or_variable")
@pass_context
def keys_set(context: Context, provider_or_variable: str) -> int:
    """Store the key of a provider or a variable: typed without echo, or read from a pipe."""
    name = stored.variable_of(provider_or_variable)
    path = stored.store_key(context.environ, name, _prompt_for_key(name))
    click.echo(f"{name} is kept in {path}")
    if context.environ.get(name):
        note(f"note: the environment's own {name} comes first")
    suggest("evalq keys list", "evalq judges")
    return 0


@keys.command("list")
@options.as_json("A list of {name, present, source}.")
@pass_context
def keys_list(context: Context, as_json: bool) -> int:
    """List the keys judges ask for and those in the file: present or absent, never a value."""
    rows = _list_keys(context)
    if as_json:
        print_json(rows)
        return 0
    cells = [(row["name"], "present" if row["present"] else "absent", row["source"] or "-") for row in rows]
    print_table(("key", "state", "source"), cells)
    suggest("evalq keys set PROVIDER", "evalq judges")
    return 0


@keys.command("unset")
@click.argument("provider_or_variable")
@pass_context
def keys_unset(context: Context, provider_or_variable: str) -> int:
    """Remove a key from the file."""
    name = stored.variable_of(provider_or_variable)
    if stored.remove_key(context.environ, name):
        click.echo(f"{name} is removed")
    else:
        click.echo(f"there was no {name} in {stored.keys_file(context.environ)}")
    if context.environ.get(name):
        note(f"note: the environment still has {name}")
    suggest("evalq keys list")
    return 0


def _prompt_for_key(name: str) -> str:
    """The key typed without echo, or the first line of a pipe."""
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True)).strip()
    return sys.stdin.readline().strip()


def _list_keys(context: Context) -> list[dict[str, Any]]:
    """Every key of a provider, of a judge in evalq.yaml or in the file, and where its value comes from."""
    in_file = stored.stored_names(context.environ)
    names = {*stored.PROVIDER_KEYS.values(), *in_file}
    for judge in context.settings.judges.values():
        if judge.key_name:
            names.add(judge.key_name)
    rows = []
    for name in sorted(names):
        source = "file" if name in in_file else None
        if context.environ.get(name):
            source = "environment"
        rows.append({"name": name, "present": source is not None, "source": source})
    return rows
