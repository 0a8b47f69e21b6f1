"""Commands on alerts: list them with their deliveries, try every channel."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.store.database import Row


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="A list of alerts, newest first, on stdout.")
@click.pass_context
def alerts(ctx: click.Context, limit: int, as_json: bool) -> int:
    """List the alerts with where each went; `evalq alerts test` tries every channel."""
    if ctx.invoked_subcommand:
        return 0
    from evalq.engines.session import open_session

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        rows = [_document(row) for row in session.db.rows("alert_rows", limit=limit)]
    if as_json:
        click.echo(json_text(rows))
        return 0
    for row in rows:
        _print(row)
    click.echo(
        "next  evalq drift status" if rows else "no alert was ever raised\nnext  evalq alerts test", err=True
    )
    return 0


@alerts.command("test")
def send_test() -> int:
    """Send a test alert to every channel of evalq.yaml, and say what became of it."""
    from evalq.definitions.schedules import name_channels
    from evalq.drift.alerts import Means, Message, try_to_send
    from evalq.keys import environment_with_keys

    settings = load_settings(Path.cwd(), os.environ)
    if not settings.alerts:
        raise InputError(Problem("there is no channel", "add alerts: [{slack: {url_env: …}}] to evalq.yaml"))
    means = Means(environment_with_keys(os.environ))
    message = Message(
        "evalq: this is a test alert, nothing is wrong", {"schema": "evalq.alert/1", "kind": "test"}
    )
    errors = {
        name: try_to_send(channel, message, means) for name, channel in name_channels(settings.alerts).items()
    }
    for name, error in errors.items():
        click.echo(f"{'✗' if error else '✓'} {name}: {error or 'arrived'}")
    click.echo("next  evalq drift status", err=True)
    return 6 if any(errors.values()) else 0


def _document(row: "Row") -> dict[str, Any]:
    return {
        "id": row["id"],
        "raised_at": row["raised_at"].isoformat(),
        "key": row["key"],
        "text": row["text"],
        "document": row["document"],
        "deliveries": row["deliveries"],
    }


def _print(row: dict[str, Any]) -> None:
    from evalq.reports.text import one_line

    first, *rest = row["text"].splitlines()
    click.echo(one_line(f"{row['id']}  {row['raised_at'][:16]}  {first}"))
    for line in rest:
        click.echo(f"    {one_line(line, 400)}")
    for sent in row["deliveries"]:
        error = f": {sent['last_error']}" if sent["last_error"] else ""
        tries = f"{sent['attempts']} tr{'y' if sent['attempts'] == 1 else 'ies'}"
        click.echo(one_line(f"    {sent['channel']} {sent['state']} after {tries}{error}", 300))
    if not row["deliveries"]:
        click.echo("    to no channel yet: none is set, or no fleet is running")
