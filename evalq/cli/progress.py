"""Following a bake-off on the screen, and showing what it came to."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.follow import exit_code, follow_to_end
from evalq.cli.bakeoff import complete_logs
from evalq.cli.options import first_interrupt, json_text
from evalq.engines.session import Session
from evalq.reports.live import choose_view
from evalq.results import BakeOffResult, CiMethod, Progress
from evalq.store.jobs import leased_count

IDLE_HINT_S = 20.0


@dataclass(frozen=True)
class Screen:
    """Where progress and result go: stderr for the one, stdout (and a file) for the other."""

    display: Literal["auto", "rich", "plain", "none"]
    as_json: bool
    output: Path | None
    ci: CiMethod = "wilson"

    def show(self, result: BakeOffResult) -> None:
        """The result: a table on a terminal, tab-separated when piped, JSON when asked."""
        document = json_text(result.to_dict())
        if self.output:
            self.output.write_text(document + "\n", "utf-8")
        if self.as_json:
            click.echo(document)
        else:
            print_result(result)


def print_result(result: BakeOffResult) -> None:
    """The final table, for people or for pipes."""
    from rich.console import Console

    from evalq.reports.final import render_final, render_plain

    if not sys.stdout.isatty():
        click.echo(render_plain(result))
        return
    console = Console()
    console.print(render_final(result, width=console.width, ascii_only=console.options.ascii_only))


def watch_and_show(session: Session, bakeoff_id: int, screen: Screen, *, pause_on_interrupt: bool) -> int:
    """Follow, then show; the exit code says how it ended. Ctrl-C pauses it, or only ends the watching."""
    with first_interrupt() as interrupt:
        result = watch_to_end(
            session, bakeoff_id, screen, interrupt=interrupt, pause_on_interrupt=pause_on_interrupt
        )
        if interrupt() and result.state != "concluded":
            return _say_interrupted(result, is_paused=pause_on_interrupt)
        screen.show(result)
    return exit_code(result)


def watch_to_end(
    session: Session,
    bakeoff_id: int,
    screen: Screen,
    *,
    interrupt: Callable[[], bool],
    pause_on_interrupt: bool,
) -> BakeOffResult:
    """Follow until it ends, or until the user interrupts and the calls in flight are home."""
    with choose_view(screen.display, sys.stderr, os.environ) as view:
        show = _hinting(view.update, session)
        follow_to_end(
            session, bakeoff_id, show=show, is_interrupted=interrupt, pause_on_interrupt=pause_on_interrupt
        )
    result = result_of(session.db, bakeoff_id, ci=screen.ci)
    complete_logs(session.db, result)
    return result


def say_detached(bakeoff_id: int) -> int:
    """The bake-off is the fleet's; its number goes to stdout, for scripts."""
    click.echo(bakeoff_id)
    click.echo(f"bake-off {bakeoff_id} runs on the fleet", err=True)
    click.echo(f"next  evalq watch {bakeoff_id}   evalq cancel {bakeoff_id}", err=True)
    return 0


def say_finished(session: Session, bakeoff_id: int, screen: Screen) -> int:
    """Every job has ended: the result, with its exit code."""
    click.echo(f"bake-off {bakeoff_id} has nothing left to do: every job has ended", err=True)
    result = result_of(session.db, bakeoff_id)
    screen.show(result)
    return exit_code(result)


def _hinting(show: Callable[[Progress], None], session: Session) -> Callable[[Progress], None]:
    """The same display, and one word about a fleet that is not there."""
    hinted = False

    def show_and_hint(progress: Progress) -> None:
        nonlocal hinted
        show(progress)
        is_idle = progress.done == 0 and progress.elapsed_s > IDLE_HINT_S and progress.state == "running"
        if is_idle and not hinted and not leased_count(session.db, progress.bakeoff_id):
            hinted = True
            click.echo(
                "no worker has taken a job yet; is `evalq worker` running? `evalq doctor` tells", err=True
            )

    return show_and_hint


def _say_interrupted(result: BakeOffResult, *, is_paused: bool) -> int:
    done = f"{result.n_done} of {result.n_jobs} jobs ended, ${result.spent_usd:.2f} spent"
    what = (
        "no more is spent, every answer paid for is stored"
        if is_paused
        else "it goes on without you watching"
    )
    command = f"evalq {'resume' if is_paused else 'watch'} {result.id}"
    click.echo(f"bake-off {result.id}: {done}; {what}\nnext  {command}", err=True)
    return 130
