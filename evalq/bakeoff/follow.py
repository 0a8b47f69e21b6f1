"""Follows a bake-off to its end: shows progress, recovers lost jobs, stops spending on an interrupt."""

import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from evalq.bakeoff import recover
from evalq.bakeoff.control import drain, stop_spending
from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.progress import read_progress
from evalq.engines.session import Session
from evalq.errors import Unreachable
from evalq.results import BakeOffResult, BakeOffState, Progress
from evalq.store import bakeoffs

ENDED: tuple[BakeOffState, ...] = ("concluded", "cancelled", "capped", "paused")

_POLL_S = 0.15
_POLL_NEAR_END_S = 0.03
_NEAR_END = 0.9
"""Of the jobs: from here on the end is looked for often, so that the table soon follows the last answer."""

_SHOW_EVERY_S = 0.25
_REAP_EVERY_S = 2.0
_AWAY_S = 60.0
"""How long a server may be away before the follower gives up."""


def show_nothing(progress: Progress) -> None:
    """Display of a bake-off without a viewer."""
    del progress


def is_never_interrupted() -> bool:
    """Interrupt of a bake-off that runs without a user."""
    return False


def run_to_end(
    session: Session,
    plan: Plan,
    *,
    cap_usd: Decimal,
    root: Path,
    run_type: str,
    is_interrupted: Callable[[], bool] = is_never_interrupted,
) -> int:
    """Start a bake-off and follow it to its end; return its id."""
    bakeoff_id = start(session, plan, cap_usd=cap_usd, root=root, run_type=run_type)
    follow_to_end(session, bakeoff_id, is_interrupted=is_interrupted)
    return bakeoff_id


def follow_to_end(
    session: Session,
    bakeoff_id: int,
    *,
    show: Callable[[Progress], None] = show_nothing,
    is_interrupted: Callable[[], bool] = is_never_interrupted,
    pause_on_interrupt: bool = True,
) -> BakeOffState:
    """Follow until the bake-off ends and no call of it is in flight; return its state.

    An interrupt (or KeyboardInterrupt) pauses the bake-off; without `pause_on_interrupt` it only ends the
    following.
    """
    try:
        state = follow(session, bakeoff_id, show=show, is_interrupted=is_interrupted)
    except KeyboardInterrupt:
        if pause_on_interrupt:
            stop_spending(session.db, bakeoff_id, show=show)
        raise
    if state == "running" and pause_on_interrupt:
        stop_spending(session.db, bakeoff_id, show=show)
        return read_progress(session.db, bakeoff_id).state
    if state not in ("running", "concluded"):
        drain(session.db, bakeoff_id, show=show)
    return state


def follow(
    session: Session,
    bakeoff_id: int,
    *,
    show: Callable[[Progress], None],
    is_interrupted: Callable[[], bool],
) -> BakeOffState:
    """Show progress until the bake-off ends or the user interrupts, and recover jobs that were lost.

    A database or broker that is away for up to a minute is waited for.
    """
    state: BakeOffState = "running"
    last_seen = time.monotonic()
    rounds = _Rounds(session, bakeoff_id, show)
    while state not in ENDED and not is_interrupted():
        try:
            state = rounds.look()
            last_seen = time.monotonic()
        except Unreachable:
            if time.monotonic() - last_seen > _AWAY_S:
                raise
        if state not in ENDED:
            time.sleep(rounds.pause_s)
    return state


class _Rounds:
    """The rounds of a follower: the state each time, the progress and the recovery when they are due."""

    def __init__(self, session: Session, bakeoff_id: int, show: Callable[[Progress], None]) -> None:
        self._session = session
        self._bakeoff_id = bakeoff_id
        self._show = show
        self._next_show = self._next_reap = time.monotonic()
        self.pause_s = _POLL_NEAR_END_S

    def look(self) -> BakeOffState:
        """Do what is due; return the bake-off's state, the last one shown when it has ended."""
        state = bakeoffs.get(self._session.db, self._bakeoff_id).state
        now = time.monotonic()
        if state in ENDED or now >= self._next_show:
            progress = read_progress(self._session.db, self._bakeoff_id)
            self._show(progress)
            state = progress.state
            is_near_end = progress.done >= _NEAR_END * progress.total
            self.pause_s = _POLL_NEAR_END_S if is_near_end else _POLL_S
            # Reading the progress of a large bake-off takes at most a twentieth of the database's time.
            took_s = min(time.monotonic() - now, 0.25)
            self._next_show = time.monotonic() + max(_SHOW_EVERY_S, 20 * took_s)
        if state not in ENDED and now >= self._next_reap:
            lost_after_s = self._session.settings.fleet.lost_after_s
            recover.reap(self._session.db, self._session.broker, lost_after_s=lost_after_s)
            self._session.keep_fleet()
            self._next_reap = time.monotonic() + _REAP_EVERY_S
        return state


def exit_code(result: BakeOffResult) -> int:
    """0 fine, 3 partial, 4 stopped at the cap."""
    if result.state == "capped":
        return 4
    if result.is_partial:
        return 3
    return 0
