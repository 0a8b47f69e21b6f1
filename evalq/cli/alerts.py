"""Commands on alerts: list them with their deliveries, try every channel."""

from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, suggest
from evalq.errors import InputError, Problem
from evalq.reports.text import one_line

if TYPE_CHECKING:
    from evalq.store.alerts import AlertRow


@click.group(invoke_without_command=True)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Alerts shown at most."
)
@options.as_json("A list of alerts, newest first, on stdout.")
@click.pass_context
@pass_context
def alerts(context: Context, ctx: click.Context, limit: int, as_json: bool) -> int:
    """List the alerts with the channels each went to; `evalq alerts test` tries every channel."""
    if ctx.invoked_subcommand:
        return 0
    from evalq.store.alerts import newest_alerts

    with context.open_session() as session:
        rows = [_document(alert) for alert in newest_alerts(session.db, limit=limit)]
    if as_json:
        print_json(rows)
        return 0
    for row in rows:
        _print(row)
    if rows:
        suggest("evalq drift status")
    else:
        note("no alert was ever raised")
        suggest("evalq alerts test")
    return 0


@alerts.command("test")
@pass_context
def send_test(context: Context) -> int:
    """Send a test alert to every channel of evalq.yaml, and show which arrived."""
    from evalq.definitions.alert_channels import name_channels
    from evalq.drift.alerts import AlertMessage, AlertSender, try_to_send

    channels = context.settings.alerts
    if not channels:
        raise InputError(Problem("there is no channel", "add alerts: [{slack: {url_env: …}}] to evalq.yaml"))
    means = AlertSender(context.environment_with_keys())
    message = AlertMessage(
        "evalq: this is a test alert, nothing is wrong", {"schema": "evalq.alert/1", "kind": "test"}
    )
    errors = {name: try_to_send(channel, message, means) for name, channel in name_channels(channels).items()}
    for name, error in errors.items():
        click.echo(f"✗ {name}: {error}" if error else f"✓ {name}: arrived")
    suggest("evalq drift status")
    return 6 if any(errors.values()) else 0


def _document(alert: "AlertRow") -> dict[str, Any]:
    return {
        "id": alert.id,
        "raised_at": alert.raised_at.isoformat(),
        "key": alert.key,
        "text": alert.text,
        "document": alert.document,
        "deliveries": alert.deliveries,
    }


def _print(row: dict[str, Any]) -> None:
    first, *rest = row["text"].splitlines()
    click.echo(one_line(f"{row['id']}  {row['raised_at'][:16]}  {first}"))
    for line in rest:
        click.echo(f"    {one_line(line, 400)}")
    for sent in row["deliveries"]:
        error = f": {sent['last_error']}" if sent["last_error"] else ""
        tries = "1 try" if sent["attempts"] == 1 else f"{sent['attempts']} tries"
        click.echo(one_line(f"    {sent['channel']} {sent['state']} after {tries}{error}", 300))
    if not row["deliveries"]:
        click.echo("    to no channel yet: none is set, or no fleet is running")
