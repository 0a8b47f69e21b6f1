"""Commands on money and rate limits: cost and limits."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_table
from evalq.definitions.money import money
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.store.calls import DayCost

SIMULATED = "simulated"
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@click.command()
@click.option(
    "--since", default="30d", show_default=True, help="A date (2026-11-01) or an age (12h, 7d, 4w)."
)
@options.as_json("A list of {day, provider, judge, purpose, calls, cost_usd, simulated}.")
@pass_context
def cost(context: Context, since: str, as_json: bool) -> int:
    """Sum the journal: dollars by day, provider, judge and purpose."""
    from evalq.store import calls

    instant = _parse_since(since, datetime.now(UTC))
    with context.open_session() as session:
        rows = [_cost_document(day) for day in calls.costs_since(session.db, instant)]
    if as_json:
        print_json(rows)
    else:
        _print_costs(rows)
    return 0


def _parse_since(text: str, now: datetime) -> datetime:
    if text[-1:] in _UNITS and text[:-1].isdecimal():
        return now - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            Problem(f"--since {text!r} is not a date", "write 2026-11-01, or an age such as 7d")
        ) from None
    return day if day.tzinfo else day.replace(tzinfo=UTC)


def _cost_document(day: "DayCost") -> dict[str, Any]:
    return {
        "day": day.day.isoformat(),
        "provider": day.provider,
        "judge": day.judge,
        "purpose": day.purpose,
        "calls": day.calls,
        "unknown": day.unknown,
        "cost_usd": f"{day.cost_usd:f}",
        "in_flight_usd": f"{day.in_flight_usd:f}",
        "simulated": day.provider == SIMULATED,
    }


def _print_costs(rows: Sequence[dict[str, Any]]) -> None:
    """Print what was paid, then apart from it what was only simulated."""
    paid = [row for row in rows if not row["simulated"]]
    simulated = [row for row in rows if row["simulated"]]
    if paid or not simulated:
        _print_cost_table(paid, "$")
    note(f"total ${money(_total(paid), 4)}")
    if simulated:
        _print_cost_table(simulated, "simulated $")
        note(f"simulated ${money(_total(simulated), 4)}: nobody pays it, and no cap of the day counts it")


def _print_cost_table(rows: Sequence[dict[str, Any]], unit: str) -> None:
    names = ("day", "provider", "judge", "purpose", "calls", "unknown")
    cells = [[*(str(row[name]) for name in names), money(Decimal(row["cost_usd"]), 4)] for row in rows]
    print_table(("day (UTC)", "provider", "judge", "purpose", "calls", "unknown", unit), cells)


def _total(rows: Sequence[dict[str, Any]]) -> Decimal:
    return sum((Decimal(row["cost_usd"]) for row in rows), Decimal(0))


@click.command()
@options.as_json("A list of gates on stdout.")
@pass_context
def limits(context: Context, as_json: bool) -> int:
    """Show each gate live: its limits, what is used, in flight and waiting, and when it opens again."""
    from evalq.bakeoff.progress import read_gates

    with context.open_session() as session:
        gates = [gate.document() for gate in read_gates(session.broker, context.settings)]
    if as_json:
        print_json(gates)
    else:
        _print_gates(gates)
    return 0


def _print_gates(gates: Sequence[dict[str, Any]]) -> None:
    cells = [
        (
            gate["gate"],
            _format_limit(gate["limit"]),
            f"{gate['used_rpm']:.0f}/min",
            _format_in_flight(gate),
            str(gate["waiting"]),
            _format_closure(gate),
        )
        for gate in gates
    ]
    print_table(("gate", "limit", "used", "in flight", "waiting", "closed until"), cells)
    if not gates:
        note("no gate has been used in the last day")


def _format_limit(limit: dict[str, Any]) -> str:
    return " ".join(f"{name}={value:g}" for name, value in limit.items() if value) or "none known"


def _format_in_flight(gate: dict[str, Any]) -> str:
    """The calls in flight, and of how many where the gate has learned that."""
    room = f" of {gate['room']}" if gate["room"] else ""
    return f"{gate['in_flight']}{room}"


def _format_closure(gate: dict[str, Any]) -> str:
    if gate["closed_until"]:
        return str(gate["closed_until"])
    if gate["breaker_open_until"]:
        return f"breaker until {gate['breaker_open_until']}"
    return "–"
