"""The engines a bake-off runs on when no URLs are set: Valkey, Postgres and a fleet of its own."""

from evalq.engines.embedded import Engines, EngineStatus, ServerStatus, attach, describe, stop_engines
from evalq.engines.fleet import WorkerFleet, reap_stale_fleets, start_fleet, worker_argv

__all__ = [
    "EngineStatus",
    "Engines",
    "ServerStatus",
    "WorkerFleet",
    "attach",
    "describe",
    "reap_stale_fleets",
    "start_fleet",
    "stop_engines",
    "worker_argv",
]
