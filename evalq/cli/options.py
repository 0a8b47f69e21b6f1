"""Options that several commands share."""

import os
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from evalq.settings import Settings


_Command = TypeVar("_Command", bound=Callable[..., Any])


class Dollars(click.ParamType[Decimal]):
    """An amount of dollars, exact."""

    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Read a finite amount that is not negative."""
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            self.fail(f"{value!r} is no amount of dollars; write for instance 2.50", param, ctx)
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} must be 0 or more", param, ctx)
        return amount


max_cost = click.option(
    "--max-cost-usd", type=Dollars(), help="The cap of the whole bake-off; default: 5, or evalq.yaml's."
)
allow_unpriced = click.option(
    "--allow-unpriced", is_flag=True, help="Run judges without a known price; the cap cannot hold for them."
)
detach = click.option("--detach", is_flag=True, help="Leave it to the fleet and return at once.")
dry_run = click.option("--dry-run", is_flag=True, help="Check and price everything, call nothing.")
ci = click.option(
    "--ci",
    type=click.Choice(["wilson", "clopper_pearson", "beta", "bootstrap"]),
    default="wilson",
    show_default=True,
    help="How the intervals shown are made; what is stored has Wilson's.",
)
display = click.option(
    "--display",
    type=click.Choice(["auto", "rich", "plain", "none"]),
    help="Progress on stderr; default: auto.",
)


def output(command: _Command) -> _Command:
    """--json and -o FILE: the machine-readable result, on stdout or in a file."""
    to_file = click.option(
        "-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON result to FILE."
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="The evalq.bakeoff/1 document on stdout.")
    return as_json(to_file(command))


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def environ() -> Mapping[str, str]:
    """The environment settings are read from."""
    return os.environ


def require_a_fleet(settings: "Settings") -> None:
    """Refuse to leave a bake-off to a fleet that is not there."""
    from evalq.embedded import describe
    from evalq.errors import Refused
    from evalq.settings import data_dir

    if settings.database_url and settings.broker_url:
        return
    status = describe(data_dir(settings, Path.cwd(), os.environ))
    if not (status and status.kept):
        raise Refused("nobody would run it: start the embedded fleet with `evalq up`, or set the URLs of one")
