"""How much a bake-off asks of its embedded Postgres and Valkey, and what its journal says afterwards."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import redis

from evalq.engines.data_folder import DataFolder
from evalq.engines.embedded import attach

_EVERY_S = 0.5
# What this module itself sends.
_OWN_COMMANDS = ("info", "hello", "auth", "client|setinfo", "client|setname", "select")

_TRANSACTIONS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
_STATES = "SELECT state, count(*) FROM call_journal GROUP BY state ORDER BY state"
_LOSSES = "SELECT losses, count(*) FROM jobs GROUP BY losses ORDER BY losses"
_LOST = "SELECT count(*) FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id)"
_REPEATED = """
    SELECT j.id, c.key, c.attempt, c.state, c.fault_kind, c.sent_at, c.settled_at, j.fence, j.losses
    FROM call_journal c JOIN jobs j ON j.id = c.job_id
    WHERE c.key = ANY(%s) OR c.key IN (SELECT key FROM call_journal GROUP BY key HAVING count(*) > 1)
    ORDER BY j.id, c.id
"""
_LOG_WORDS = ("redeliver", "run again", "put back", "expired", "lost", "leaving", "fetched one by one")


@dataclass
class ValkeyWatch:
    """Valkey's own count of its commands, read while it runs: it forgets them when it stops."""

    data_dir: Path
    commands: dict[str, int] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "ValkeyWatch":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(_EVERY_S):
            server = DataFolder(self.data_dir).read().servers.get("valkey")
            if server is not None:
                self._read_until_gone(server.url)

    def _read_until_gone(self, url: str) -> None:
        with redis.Redis.from_url(url) as client:
            while not self._stopped.is_set():
                try:
                    self.commands = read_commands(client)
                except redis.RedisError:
                    return
                self._stopped.wait(_EVERY_S)


def read_commands(client: "redis.Redis") -> dict[str, int]:
    """Calls by command, those inside scripts included; without what this module sends itself."""
    counts = {}
    for name, figures in client.info("commandstats").items():
        command = name.removeprefix("cmdstat_")
        if command not in _OWN_COMMANDS:
            counts[command] = int(figures["calls"])
    return counts


@dataclass(frozen=True)
class Journal:
    """What the database of a finished bake-off says; a job's losses are the workers that died with it."""

    transactions: int
    states: dict[str, int]
    jobs_by_losses: dict[int, int]
    jobs_without_outcome: int
    repeated: Sequence[tuple[object, ...]]


def read_journal(data_dir: Path, keys: Sequence[str] = ()) -> Journal:
    """Start the project's Postgres once more and look; `keys` are questions the provider was asked twice."""
    with attach(data_dir, want=["postgres"]) as engines, psycopg.connect(engines.database_url) as connection:
        [(transactions,)] = connection.execute(_TRANSACTIONS).fetchall()
        states: dict[str, int] = dict(connection.execute(_STATES).fetchall())
        losses: dict[int, int] = dict(connection.execute(_LOSSES).fetchall())
        [(lost,)] = connection.execute(_LOST).fetchall()
        repeated = connection.execute(_REPEATED, [list(keys)]).fetchall()
        return Journal(int(transactions), states, losses, int(lost), repeated)


def find_redeliveries(data_dir: Path) -> list[str]:
    """The lines of the workers' and the supervisor's logs that speak of jobs coming back."""
    found = []
    for log in sorted((data_dir / "logs").glob("*.log")):
        for line in log.read_text("utf-8", "replace").splitlines():
            if any(word in line for word in _LOG_WORDS):
                found.append(f"{log.name}: {line}")
    return found
