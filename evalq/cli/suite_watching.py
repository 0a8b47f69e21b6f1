"""The fleet as suites use it: every bake-off watched on the screen, within the suite's time, until Ctrl-C."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from evalq.cli.following import Screen, watch_to_end
from evalq.cli.interrupt import first_interrupt
from evalq.results import BakeOffResult
from evalq.session import Session
from evalq.settings import project_root
from evalq.suites.running import Fleet


@contextmanager
def watched_fleet(
    session: Session, cap_usd: Decimal, display: Any, *, limit_s: float | None = None
) -> Iterator[Fleet]:
    """A fleet for one suite. When its time is over, what runs is paused and the rest is not started.

    After a Ctrl-C the block ends with click's Abort, exit code 130.
    """
    deadline = None if limit_s is None else time.monotonic() + limit_s
    screen = Screen(display or session.settings.display, as_json=True, output=None)
    started: list[int] = []
    with first_interrupt() as interrupt:

        def is_over() -> bool:
            return interrupt() or (deadline is not None and time.monotonic() >= deadline)

        watch = _watcher(session, screen, is_over, started)
        yield Fleet(session, session.broker(), cap_usd, project_root(Path.cwd()), watch, is_over)
    if interrupt():
        click.echo("stopped: no more is spent, every answer paid for is stored", err=True)
        for bakeoff_id in started[-1:]:
            click.echo(f"next  evalq resume {bakeoff_id}", err=True)
        raise click.exceptions.Abort
    if limit_s is not None and is_over():
        click.echo(f"timeout_global: {limit_s:g} s are over; what was not reached is skipped", err=True)


def _watcher(
    session: Session, screen: Screen, is_over: Callable[[], bool], started: list[int]
) -> Callable[[int], BakeOffResult | None]:
    broker = session.broker()

    def watch(bakeoff_id: int) -> BakeOffResult | None:
        started.append(bakeoff_id)
        result = watch_to_end(session, broker, bakeoff_id, screen, interrupt=is_over, pause_on_interrupt=True)
        return None if is_over() and result.state != "concluded" else result

    return watch
