"""Follow a bake-off on the screen, let Ctrl-C stop it, and show its result."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from evalq.bakeoff import holdout
from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.follow import exit_code, follow_to_end
from evalq.cli.context import Context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_report, suggest, warn, write_json
from evalq.definitions.money import money
from evalq.engines.session import Session
from evalq.reports.live import choose_view
from evalq.results import BakeOffResult, Progress
from evalq.store.database import Database
from evalq.store.jobs import count_leased

IDLE_HINT_S = 20.0


class Interrupt:
    """Whether the user has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """For callers that poll."""
        return self.requested

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Record the first signal; raise KeyboardInterrupt at the next."""
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


def watch_and_show(
    context: Context, session: Session, bakeoff_id: int, run: RunOptions, *, pause_on_interrupt: bool
) -> int:
    """Follow a bake-off and show its result; Ctrl-C pauses it, or only stops the watching."""
    with first_interrupt() as interrupt:
        result = watch_to_end(
            context, session, bakeoff_id, run, interrupt=interrupt, pause_on_interrupt=pause_on_interrupt
        )
        if interrupt() and result.state != "concluded":
            return _report_interrupt(result, is_paused=pause_on_interrupt)
        show_result(result, run)
    return exit_code(result)


def watch_to_end(
    context: Context,
    session: Session,
    bakeoff_id: int,
    run: RunOptions,
    *,
    interrupt: Callable[[], bool],
    pause_on_interrupt: bool = True,
) -> BakeOffResult:
    """Follow until it ends, or until the user interrupts and the calls in flight are home."""
    with choose_view(run.display or context.settings.display, sys.stderr, context.environ) as view:
        follow_to_end(
            session,
            bakeoff_id,
            show=_hint_when_idle(view.update, session),
            is_interrupted=interrupt,
            pause_on_interrupt=pause_on_interrupt,
        )
    result = result_of(session.db, bakeoff_id, ci=run.ci)
    complete_holdout_log(context, session.db, result)
    return result


def complete_holdout_log(context: Context, db: Database, result: BakeOffResult) -> None:
    """After a look at a holdout, copy the log lines from Postgres to the project's file."""
    if holdout.is_holdout(result.eval_set):
        for problem in holdout.complete_files(db, context.root):
            warn(problem)


def show_result(result: BakeOffResult, run: RunOptions) -> None:
    """Show a table on a terminal, tab-separated rows in a pipe, JSON on request; and fill the -o file."""
    if run.output:
        write_json(run.output, result.to_dict())
    if run.as_json:
        print_json(result.to_dict())
    else:
        print_result(result)


def print_result(result: BakeOffResult) -> None:
    """Print the final table, for people or for pipes."""
    from evalq.reports.final import render_final, render_plain

    print_report(result, render_final, render_plain)


def report_detached(bakeoff_id: int) -> int:
    """Print the number of a bake-off left to the fleet to stdout, for scripts."""
    click.echo(bakeoff_id)
    note(f"bake-off {bakeoff_id} runs on the fleet")
    suggest(f"evalq watch {bakeoff_id}", f"evalq cancel {bakeoff_id}")
    return 0


def _hint_when_idle(show: Callable[[Progress], None], session: Session) -> Callable[[Progress], None]:
    """The same display, with one hint if no worker takes a job."""
    hinted = False

    def show_and_hint(progress: Progress) -> None:
        nonlocal hinted
        show(progress)
        is_idle = progress.done == 0 and progress.elapsed_s > IDLE_HINT_S and progress.state == "running"
        if is_idle and not hinted and not count_leased(session.db, progress.bakeoff_id):
            hinted = True
            note(_explain_idleness(session))

    return show_and_hint


def _explain_idleness(session: Session) -> str:
    """Why nothing has ended yet: without workers nothing can; with some, their provider may be away."""
    if session.broker.workers():
        return "workers run, but no answer has come back yet; `evalq limits` and `evalq doctor` may say why"
    return "no worker answers; is `evalq worker` running? try `evalq doctor`"


def _report_interrupt(result: BakeOffResult, *, is_paused: bool) -> int:
    done = f"{result.n_done} of {result.n_jobs} jobs ended, ${money(result.spent_usd)} spent"
    if is_paused:
        note(f"bake-off {result.id}: {done}; no more is spent, every answer paid for is stored")
        suggest(f"evalq resume {result.id}")
    else:
        note(f"bake-off {result.id}: {done}; it goes on without you watching")
        suggest(f"evalq watch {result.id}")
    return 130
