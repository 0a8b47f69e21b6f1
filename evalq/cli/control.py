"""Commands that control a bake-off from any machine of the fleet: watch, pause, resume, retry, cancel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import count, note, suggest
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.engines.session import Session


@click.command()
@options.bakeoff_id("bakeoff", metavar="ID", default="last")
@options.output
@options.display
@options.collect_run_options
@pass_context
def watch(context: Context, bakeoff: str, run: RunOptions) -> int:
    """Follow a bake-off until it ends. Ctrl-C stops watching, not the bake-off."""
    from evalq.cli.progress import watch_and_show
    from evalq.store import bakeoffs

    with context.open_session(fleet=True) as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff)
        return watch_and_show(context, session, bakeoff_id, run, pause_on_interrupt=False)


@click.command()
@options.bakeoff_id("words", metavar="[ID] [JUDGE]...", nargs=-1)
@pass_context
def pause(context: Context, words: Sequence[str]) -> int:
    """Stop spending on a bake-off, or on some of its judges while the others go on.

    A number, `last` or `@-2` names the bake-off, every other word a judge of it; ID/JUDGE names both.
    Calls in flight come home and are stored; `resume` goes on.
    """
    from evalq.bakeoff.control import pause as pause_some
    from evalq.store import bakeoffs

    name, judges = _split_words(words)
    with context.open_session() as session:
        bakeoff_id = bakeoffs.find(session.db, name)
        for paused in pause_some(session, bakeoff_id, judges=judges):
            if paused.is_new:
                click.echo(f"{paused.what} is paused")
            else:
                note(f"{paused.what} is {paused.state}; there is nothing to pause")
        _report_state(session, bakeoff_id)
    return 0


@click.command()
@options.bakeoff_id("bakeoff", metavar="ID", default="last")
@options.max_cost
@options.detach
@options.output
@options.display
@options.collect_run_options
@pass_context
def resume(context: Context, bakeoff: str, run: RunOptions) -> int:
    """Go on with a stopped bake-off and its paused judges; no job that has ended is run again.

    Except for a paused judge that has answered nothing: its failed calls, which nobody billed, are repeated.
    """
    from evalq.bakeoff.conclude import result_of
    from evalq.bakeoff.follow import exit_code
    from evalq.bakeoff.launch import restart
    from evalq.bakeoff.run_names import find_bakeoff
    from evalq.cli.progress import show_result

    if run.detach:
        context.require_fleet()
    with context.open_session(fleet=not run.detach) as session:
        bakeoff_id = find_bakeoff(session.db, bakeoff, doing="resume")
        if restart(session, bakeoff_id, cap_usd=run.max_cost_usd):
            return _detach_or_watch(context, session, bakeoff_id, run)
        note(f"bake-off {bakeoff_id} has nothing left to do: every job has ended")
        result = result_of(session.db, bakeoff_id)
        show_result(result, run)
        return exit_code(result)


@click.command()
@options.bakeoff_id("bakeoff", metavar="ID", default="last")
@click.option("--errors", is_flag=True, help="Every job that ended as errored; so it is without this, too.")
@options.judge("Only this judge's jobs; may be given again.", "judges", multiple=True)
@options.max_cost
@options.detach
@options.output
@options.display
@options.collect_run_options
@pass_context
def retry(context: Context, bakeoff: str, errors: bool, judges: Sequence[str], run: RunOptions) -> int:
    """Run the jobs of a bake-off, or of its run ID/JUDGE, that ended as errored again, and go on with it.

    Their attempts count from zero again. An answer that only could not be graded is kept and graded again;
    jobs that passed or failed stay as they are.
    """
    from evalq.bakeoff.launch import retry_errors
    from evalq.bakeoff.run_names import find_target

    del errors
    if run.detach:
        context.require_fleet()
    with context.open_session(fleet=not run.detach) as session:
        target = find_target(session.db, bakeoff)
        bakeoff_id, named = target.bakeoff_id, [target.judge] if target.judge else []
        n_jobs = retry_errors(session, bakeoff_id, judges=[*named, *judges], cap_usd=run.max_cost_usd)
        if n_jobs == 0:
            note(f"bake-off {bakeoff_id} has no errored job to run again")
            suggest(f"evalq inspect {bakeoff_id}")
            return 0
        note(f"bake-off {bakeoff_id}: {count(n_jobs, 'errored job')} to run again")
        return _detach_or_watch(context, session, bakeoff_id, run)


@click.command()
@options.bakeoff_id("bakeoff", metavar="ID", default="last")
@pass_context
def cancel(context: Context, bakeoff: str) -> int:
    """Stop a bake-off for good. Answers already paid for are stored and shown; `resume` takes it back."""
    from evalq.bakeoff.control import cancel as cancel_bakeoff
    from evalq.bakeoff.run_names import find_bakeoff
    from evalq.store import bakeoffs

    with context.open_session() as session:
        bakeoff_id = find_bakeoff(session.db, bakeoff, doing="cancel")
        if not cancel_bakeoff(session.db, bakeoff_id):
            state = bakeoffs.get(session.db, bakeoff_id).state
            note(f"bake-off {bakeoff_id} is {state}; there is nothing to cancel")
            return 0
    click.echo(f"bake-off {bakeoff_id} is cancelled")
    suggest(f"evalq inspect {bakeoff_id}", f"evalq resume {bakeoff_id}")
    return 0


def _detach_or_watch(context: Context, session: "Session", bakeoff_id: int, run: RunOptions) -> int:
    from evalq.cli.progress import report_detached, watch_and_show

    if run.detach:
        return report_detached(bakeoff_id)
    return watch_and_show(context, session, bakeoff_id, run, pause_on_interrupt=True)


def _split_words(words: Sequence[str]) -> tuple[str, list[str]]:
    """The bake-off and the judges among words in any order."""
    from evalq.store.bakeoffs import is_name, split_run_name

    names: dict[str, None] = {}
    judges: list[str] = []
    for word in words:
        named_run = split_run_name(word)
        if named_run:
            names[named_run[0]] = None
            judges.append(named_run[1])
        elif is_name(word):
            names[word] = None
        else:
            judges.append(word)
    if len(names) > 1:
        raise InputError(Problem(f"{' and '.join(names)} are two bake-offs", "pause one at a time"))
    return next(iter(names), "last"), judges


def _report_state(session: "Session", bakeoff_id: int) -> None:
    """Print whether any judge still runs, and the command that goes on."""
    from evalq.store import bakeoffs

    state = bakeoffs.get(session.db, bakeoff_id).state
    run_states = {run.state for run in bakeoffs.runs(session.db, bakeoff_id)}
    if "paused" in run_states and "running" not in run_states and state in ("running", "concluded"):
        end = "is concluded" if state == "concluded" else "concludes when the calls in flight are home"
        note(f"no judge is left to run: bake-off {bakeoff_id} {end}, without the paused")
    if "paused" in run_states or state in ("paused", "capped", "cancelled"):
        suggest(f"evalq resume {bakeoff_id}")
    elif state == "running":
        suggest(f"evalq watch {bakeoff_id}")
    else:
        suggest(f"evalq inspect {bakeoff_id}")
