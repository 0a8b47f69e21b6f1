"""Seeded schedules of faults: what is broken next, and how."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from random import Random

import psycopg
import redis.exceptions
from fault_scene import Scene

QUEUE = "calls.openai"
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def kill_worker(scene: Scene, rng: Random) -> None:
    """SIGKILL one of the workers."""
    scene.kill_worker(_any_worker(scene, rng))


def kill_beat(scene: Scene, rng: Random) -> None:
    """SIGKILL the scheduler."""
    del rng
    scene.kill_worker("beat")


def kill_valkey(scene: Scene, rng: Random) -> None:
    """SIGKILL the broker; it comes back with what its file holds."""
    del rng
    scene.kill_valkey(keeps_its_file=True)


def empty_valkey(scene: Scene, rng: Random) -> None:
    """SIGKILL the broker; it comes back empty."""
    del rng
    scene.kill_valkey(keeps_its_file=False)


def flush_valkey(scene: Scene, rng: Random) -> None:
    """FLUSHALL."""
    del rng
    with scene.valkey() as client:
        client.flushall()


def stop_postgres(scene: Scene, rng: Random) -> None:
    """Stop Postgres immediately and leave it away for a moment."""
    scene.stop_postgres()
    time.sleep(rng.random())


def cut_connections(scene: Scene, rng: Random) -> None:
    """Terminate every connection to Postgres."""
    del rng
    scene.note_in_flight()
    scene.sql(CUT)


def stall_worker(scene: Scene, rng: Random) -> None:
    """SIGSTOP a worker for longer than its lease."""
    name = _any_worker(scene, rng)
    scene.note_in_flight()
    pid = scene.pid(name)
    if pid:
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(scene.lease_s * 1.5, _continue, [pid]).start()


def ask_worker_to_stop(scene: Scene, rng: Random) -> None:
    """SIGTERM: it drains, and is started again."""
    if pid := scene.pid(_any_worker(scene, rng)):
        os.kill(pid, signal.SIGTERM)


def repeat_messages(scene: Scene, rng: Random) -> None:
    """Every message that waits is delivered five times."""
    del rng
    with scene.valkey() as client:
        for message in client.lrange(QUEUE, 0, -1):
            client.rpush(QUEUE, *[message] * 4)


def drop_messages(scene: Scene, rng: Random) -> None:
    """One in five of the messages that wait is gone."""
    with scene.valkey() as client:
        for message in client.lrange(QUEUE, 0, -1):
            if rng.random() < 0.2:
                client.lrem(QUEUE, 1, message)


Act = Callable[[Scene, Random], None]
ACTS: tuple[Act, ...] = (
    kill_worker,
    kill_beat,
    kill_valkey,
    empty_valkey,
    flush_valkey,
    stop_postgres,
    cut_connections,
    stall_worker,
    ask_worker_to_stop,
    repeat_messages,
    drop_messages,
)


def schedule(rng: Random) -> Iterator[Act]:
    """Every act once in a random order, then again in another."""
    while True:
        yield from rng.sample(ACTS, len(ACTS))


def perform(scene: Scene, act: Act, rng: Random) -> None:
    """Do it, whatever is away already, and start again what is dead."""
    down_already = (psycopg.OperationalError, redis.exceptions.ConnectionError, OSError)
    with contextlib.suppress(*down_already):
        act(scene, rng)
    scene.revive()


def _any_worker(scene: Scene, rng: Random) -> str:
    return rng.choice([name for name in sorted(scene.workers) if name != "beat"])


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
