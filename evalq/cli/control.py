"""Commands that steer a bake-off from any machine of the fleet: watch, pause, resume, retry, cancel."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.errors import InputError, Problem
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.cli.progress import Screen
    from evalq.engines.session import Session


@click.command()
@click.argument("bakeoff", metavar="ID", default="last")
@options.output
@options.display
def watch(bakeoff: str, as_json: bool, output: Path | None, display: Any) -> int:
    """Follow a bake-off until it ends. Ctrl-C stops watching, not the bake-off."""
    from evalq.cli.progress import Screen, watch_and_show
    from evalq.engines.session import open_session
    from evalq.store import bakeoffs

    settings = load_settings(Path.cwd(), options.environ())
    screen = Screen(display or settings.display, as_json=as_json, output=output)
    with open_session(settings, fleet=True) as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff)
        return watch_and_show(session, bakeoff_id, screen, pause_on_interrupt=False)


@click.command()
@click.argument("words", metavar="[ID] [JUDGE]...", nargs=-1)
def pause(words: Sequence[str]) -> int:
    """Stop spending on a bake-off, or on some of its judges while the others go on.

    What is a number, `last` or `@-2` is the bake-off, everything else a judge of it. Calls in flight come
    home and are stored; `resume` goes on.
    """
    from evalq.bakeoff.control import pause as pause_some
    from evalq.engines.session import open_session
    from evalq.store import bakeoffs

    name, judges = _bakeoff_and_judges(words)
    with open_session(load_settings(Path.cwd(), options.environ())) as session:
        bakeoff_id = bakeoffs.find(session.db, name)
        for paused in pause_some(session, bakeoff_id, judges=judges):
            idle = "" if paused.is_new else "; there is nothing to pause"
            click.echo(
                f"{paused.what} is {'paused' if paused.is_new else paused.state}{idle}", err=not paused.is_new
            )
        _say_what_is_left(session, bakeoff_id)
    return 0


@click.command()
@click.argument("bakeoff", metavar="ID", default="last")
@options.max_cost
@options.detach
@options.output
@options.display
def resume(bakeoff: str, max_cost_usd: Decimal | None, **how: Any) -> int:
    """Go on with a stopped bake-off and its paused judges; no job that has ended is run again."""
    from evalq.bakeoff.launch import restart
    from evalq.cli.progress import say_finished

    def begin(session: "Session", bakeoff_id: int) -> bool:
        return restart(session, bakeoff_id, cap_usd=max_cost_usd)

    return _go_on(bakeoff, begin, otherwise=say_finished, **how)


@click.command()
@click.argument("bakeoff", metavar="ID", default="last")
@click.option("--errors", is_flag=True, help="Every job that ended as errored; the only kind there is.")
@click.option("--judge", "judges", multiple=True, help="Only this judge's jobs; may be given again.")
@options.max_cost
@options.detach
@options.output
@options.display
def retry(bakeoff: str, errors: bool, judges: Sequence[str], max_cost_usd: Decimal | None, **how: Any) -> int:
    """Run again the jobs of a bake-off that ended as errored, and go on with it.

    Their calls count from nought again. An answer that could only not be graded is kept and graded again;
    whatever passed or failed stays as it is.
    """
    from evalq.bakeoff.launch import retry_errors

    if not errors:
        raise InputError(
            Problem("retry does not say what to run again", f"write `evalq retry {bakeoff} --errors`")
        )

    def begin(session: "Session", bakeoff_id: int) -> bool:
        n_jobs = retry_errors(session, bakeoff_id, judges=judges, cap_usd=max_cost_usd)
        if n_jobs:
            click.echo(
                f"bake-off {bakeoff_id}: {n_jobs} errored job{'s' * (n_jobs > 1)} to run again", err=True
            )
        return n_jobs > 0

    return _go_on(bakeoff, begin, otherwise=_say_nothing_errored, **how)


@click.command()
@click.argument("bakeoff", metavar="ID", default="last")
def cancel(bakeoff: str) -> int:
    """Stop a bake-off for good. Answers already paid for are stored and shown; `resume` takes it back."""
    from evalq.engines.session import open_session
    from evalq.store import bakeoffs

    with open_session(load_settings(Path.cwd(), options.environ())) as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff)
        if not bakeoffs.move(
            session.db, bakeoff_id, "cancelled", from_states=["running", "paused", "capped"]
        ):
            state = bakeoffs.get(session.db, bakeoff_id).state
            click.echo(f"bake-off {bakeoff_id} is {state}; there is nothing to cancel", err=True)
            return 0
    click.echo(f"bake-off {bakeoff_id} is cancelled")
    click.echo(f"next  evalq inspect {bakeoff_id}   evalq resume {bakeoff_id}", err=True)
    return 0


def _go_on(
    bakeoff: str,
    begin: Callable[["Session", int], bool],
    *,
    otherwise: Callable[["Session", int, "Screen"], int],
    detach: bool,
    as_json: bool,
    output: Path | None,
    display: Any,
) -> int:
    """Have a bake-off go on and follow it to its end; `otherwise` when `begin` found nothing to do."""
    from evalq.cli.progress import Screen, say_detached, watch_and_show
    from evalq.engines.session import open_session
    from evalq.store import bakeoffs

    settings = load_settings(Path.cwd(), options.environ())
    screen = Screen(display or settings.display, as_json=as_json, output=output)
    if detach:
        options.require_a_fleet(settings)
    with open_session(settings, fleet=not detach) as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff)
        if not begin(session, bakeoff_id):
            return otherwise(session, bakeoff_id, screen)
        if detach:
            return say_detached(bakeoff_id)
        return watch_and_show(session, bakeoff_id, screen, pause_on_interrupt=True)


def _bakeoff_and_judges(words: Sequence[str]) -> tuple[str, list[str]]:
    """Words in any order: those that name a bake-off, and the judges."""
    from evalq.store.bakeoffs import is_name

    names = [word for word in words if is_name(word)]
    if len(names) > 1:
        raise InputError(Problem(f"{' and '.join(names)} are two bake-offs", "pause one at a time"))
    return (names or ["last"])[0], [word for word in words if not is_name(word)]


def _say_what_is_left(session: "Session", bakeoff_id: int) -> None:
    """Whether anything still runs, and the command that goes on."""
    from evalq.store import bakeoffs

    state, runs = bakeoffs.get(session.db, bakeoff_id).state, bakeoffs.runs(session.db, bakeoff_id)
    is_paused = any(run.state == "paused" for run in runs)
    if is_paused and state in ("running", "concluded") and not any(run.state == "running" for run in runs):
        end = "is concluded" if state == "concluded" else "concludes when the calls in flight are home"
        click.echo(f"no judge is left to run: bake-off {bakeoff_id} {end}, without the paused", err=True)
    if is_paused or state in ("paused", "capped", "cancelled"):
        click.echo(f"next  evalq resume {bakeoff_id}", err=True)
    else:
        click.echo(f"next  evalq {'watch' if state == 'running' else 'inspect'} {bakeoff_id}", err=True)


def _say_nothing_errored(session: "Session", bakeoff_id: int, screen: "Screen") -> int:
    del session, screen
    click.echo(f"bake-off {bakeoff_id} has no errored job to run again", err=True)
    click.echo(f"next  evalq inspect {bakeoff_id}", err=True)
    return 0
