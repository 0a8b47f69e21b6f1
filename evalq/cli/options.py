"""Options that several commands share."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalq.reports.text import one_line

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
    from evalq.engines import describe
    from evalq.errors import Refused
    from evalq.settings import data_dir

    if settings.database_url and settings.broker_url:
        return
    status = describe(data_dir(settings, Path.cwd(), os.environ))
    if not (status and status.kept):
        raise Refused("nobody would run it: start the embedded fleet with `evalq up`, or set the URLs of one")


# Control and direction characters of model text: a terminal obeys them even inside a JSON string.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def json_text(value: Any) -> str:
    """Indented JSON; letters of every language stay, what a terminal would obey is escaped."""
    return _harmless(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def json_line(value: Any) -> str:
    """The same on one line, for JSONL."""
    return _harmless(json.dumps(value, ensure_ascii=False, default=str)) + "\n"


def _harmless(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a head; every cell is cleaned of control characters."""
    cells = [[one_line(str(cell)) for cell in row] for row in (head, *rows)]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


class Interrupt:
    """Whether the user has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """For those who poll."""
        return self.requested

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first one is noted, the next one aborts."""
        del number, frame
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def first_interrupt() -> Iterator[Interrupt]:
    """Turn the first SIGINT or SIGTERM into a request while the block runs."""
    interrupt = Interrupt()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, interrupt.on_signal) for number in numbers}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
