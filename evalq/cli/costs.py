"""Commands on money and limits: cost and limits."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.store.database import Row

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@click.command()
@click.option(
    "--since", default="30d", show_default=True, help="A date (2026-11-01) or an age (12h, 7d, 4w)."
)
@click.option(
    "--json", "as_json", is_flag=True, help="A list of {day, provider, judge, purpose, calls, cost_usd}."
)
def cost(since: str, as_json: bool) -> int:
    """Sum the journal: dollars by day, provider, judge and purpose."""
    from evalq.engines.session import open_session

    instant = _instant(since, datetime.now(UTC))
    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        rows = [_cost(row) for row in session.db.rows("costs", since=instant)]
    if as_json:
        click.echo(json_text(rows))
    else:
        _print_costs(rows)
    return 0


def _instant(text: str, now: datetime) -> datetime:
    if text[-1:] in _UNITS and text[:-1].isdecimal():
        return now - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            Problem(f"--since {text!r} is no date", "write 2026-11-01, or an age such as 7d")
        ) from None
    return day if day.tzinfo else day.replace(tzinfo=UTC)


def _cost(row: "Row") -> dict[str, Any]:
    return {
        "day": row["day"].isoformat(),
        "provider": row["provider"],
        "judge": row["judge"],
        "purpose": row["purpose"],
        "calls": row["calls"],
        "unknown": row["unknown"],
        "cost_usd": f"{row['cost_usd']:f}",
        "in_flight_usd": f"{row['in_flight_usd']:f}",
    }


def _print_costs(rows: Sequence[dict[str, Any]]) -> None:
    from evalq.cli.output import print_table

    cells = [
        (
            r["day"],
            r["provider"],
            r["judge"],
            r["purpose"],
            str(r["calls"]),
            str(r["unknown"]),
            f"{Decimal(r['cost_usd']):.4f}",
        )
        for r in rows
    ]
    print_table(("day (UTC)", "provider", "judge", "purpose", "calls", "unknown", "$"), cells)
    total = sum((Decimal(row["cost_usd"]) for row in rows), Decimal(0))
    click.echo(f"total ${total:.4f}", err=True)


@click.command()
@click.option("--json", "as_json", is_flag=True)
def limits(as_json: bool) -> int:
    """Show each gate live: its limits, what is used, in flight and waiting, and until when it is closed."""
    from evalq.bakeoff.progress import read_gates
    from evalq.engines.session import open_session

    settings = load_settings(Path.cwd(), os.environ)
    with open_session(settings) as session:
        gates = [gate.document() for gate in read_gates(session.broker, settings)]
    if as_json:
        click.echo(json_text(gates))
    else:
        _print_gates(gates)
    return 0


def _print_gates(gates: Sequence[dict[str, Any]]) -> None:
    from evalq.cli.output import print_table

    cells = [
        (
            gate["gate"],
            _limit(gate["limit"]),
            f"{gate['used_rpm']:.0f}/min",
            str(gate["in_flight"]),
            str(gate["waiting"]),
            _until(gate),
        )
        for gate in gates
    ]
    print_table(("gate", "limit", "used", "in flight", "waiting", "closed until"), cells)
    if not gates:
        click.echo("no gate has been used in the last day", err=True)


def _limit(limit: dict[str, Any]) -> str:
    return " ".join(f"{name}={value:g}" for name, value in limit.items() if value) or "none known"


def _until(gate: dict[str, Any]) -> str:
    return gate["closed_until"] or (
        f"breaker until {gate['breaker_open_until']}" if gate["breaker_open_until"] else "–"
    )
