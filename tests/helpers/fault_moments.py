"""The instant to strike at: an answer is on its way to every slot, and the fleet holds its breath."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from fault_scene import Scene, profiles

_SLOW_MS, _QUICK_MS = 3000, 80
_BUSY = """
    SELECT count(*) FROM pg_stat_activity
    WHERE state <> 'idle' AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
_CALLS = "SELECT count(*), count(*) FILTER (WHERE state = 'sent' AND purpose = 'answer') FROM call_journal"


@contextmanager
def mid_call(scene: Scene) -> Iterator[int]:
    """Workers stopped with an answer on its way to each slot; they go on after the block. How many slots.

    No statement and no permit is under way either: whatever is asked afterwards was decided afterwards.
    """
    names = [name for name in scene.workers if name != "beat"]
    n_slots = scene.slots * len(names)
    scene.simulator.set_profiles(profiles(_SLOW_MS, marker=profiles(_QUICK_MS)["marker"]))
    scene.wait(lambda: _is_mid_call(scene, n_slots) and _froze(scene, names, n_slots))
    scene.simulator.set_profiles(profiles(_QUICK_MS))
    try:
        yield n_slots
    finally:
        _signal(scene, names, signal.SIGCONT)


def n_asked(scene: Scene) -> int:
    """Calls the provider has seen."""
    return int(scene.simulator.ledger()["requests"])


def _froze(scene: Scene, names: list[str], n_slots: int) -> bool:
    """Stop the workers; if the instant was missed, let them go on."""
    _signal(scene, names, signal.SIGSTOP)
    if scene.sql(_BUSY) == [(0,)] and _is_mid_call(scene, n_slots):
        return True
    _signal(scene, names, signal.SIGCONT)
    return False


def _is_mid_call(scene: Scene, n_slots: int) -> bool:
    made, sent = scene.sql(_CALLS)[0]
    return bool(sent == n_slots and made == n_asked(scene))


def _signal(scene: Scene, names: list[str], number: signal.Signals) -> None:
    for name in names:
        scene.signal_worker(name, number)
