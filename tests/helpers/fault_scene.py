"""A fleet to be broken: its own Valkey, Postgres, simulator, workers and beat, and one bake-off on them."""

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import psycopg
import redis
from fault_witness import REPEATED, WITNESS
from forks import Forked, Forks
from patience import PATIENCE_S

from evalq.bakeoff import publish as enqueue
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request
from evalq.engines.broker import Broker, make_app
from evalq.engines.embedded import Engines, attach, describe
from evalq.engines.fleet import QUEUES, WorkerArgv, WorkerFleet, process_argv, start_fleet, worker_argv
from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator
from evalq.formats import prepare
from evalq.settings import load_settings
from evalq.store import bakeoffs
from evalq.store.database import Database, apply_schema

FRESH = {"LD_PRELOAD", "PYTHONPATH", "EVALQ_FLEET_MEMORY_MB"}
JUDGES = ("good", "poor")
PRICE = {"input": 1, "output": 5}
TASK = """\
name: capitals
system_prompt: Answer with one word.
user_template: "What is the capital of {country}?"
scoring:
  mode: llm_judge
  judge_model: marker
  pass_rule: exact_match
  rubric: "Expected: {expected}. Answer: {answer}. Reply with VALID or INVALID."
max_tokens: 16
"""


def prepare_folder(folder: Path) -> None:
    """A data folder with an initialised database, to be copied: initdb takes longer than all the rest."""
    with attach(folder) as engines:
        with psycopg.connect(engines.database_url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
        db = Database(engines.database_url)
        apply_schema(db)
        db.close()


class ForkedFleet:
    """A fleet of one process."""

    def __init__(self, forked: Forked) -> None:
        self._forked = forked

    @property
    def pids(self) -> tuple[int, ...]:
        """The process, if it runs."""
        return (self._forked.pid,) if self._forked.is_alive() else ()

    def stop(self, grace_s: float = 0) -> None:
        """End it at once; twice is harmless."""
        del grace_s
        self._forked.kill()


@dataclass
class Scene:
    """Everything a bake-off runs on, each part to be killed and started again by itself."""

    folder: Path
    engines: Engines
    simulator: Simulator
    broker: Broker
    forks: Forks
    lease_s: float = 12.0
    slots: int = 8
    workers: "dict[str, WorkerFleet | ForkedFleet]" = field(default_factory=dict)
    in_flight_at_kills: int = 0
    watching: "psycopg.Connection[Any] | None" = None
    lasting: dict[str, str] = field(default_factory=dict)

    # -- the world -------------------------------------------------------------------------------------------

    def environ(self, **more: str) -> dict[str, str]:
        """A worker's whole environment: test settings, so that failpoints count."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "EVALQ_DATABASE_URL": self.engines.database_url,
            "EVALQ_BROKER_URL": self.engines.broker_url,
            "EVALQ_FLEET_LEASE_S": str(self.lease_s),
            "EVALQ_SPOOL_DIR": str(self.folder / "spool"),
            "EVALQ_TESTING": "1",
            **self.lasting,
            **more,
        }

    def start_worker(self, name: str = "w1", *, argv: WorkerArgv | None = None, **env: str) -> None:
        """Start a worker process; its environment may say more, e.g. EVALQ_FAILPOINTS.

        Afresh where the interpreter itself must see that environment, or the command line is another.
        """
        if argv or FRESH & {*env, *self.lasting}:
            self.workers[name] = start_fleet(
                1,
                self.slots,
                queues=QUEUES,
                env=self.environ(**env),
                log_dir=self._logs(name),
                argv=argv or worker_argv,
            )
        else:
            self._fork(name, worker_argv(1, self.slots, QUEUES), env)

    def start_beat(self, name: str = "beat") -> None:
        """Start the scheduler."""
        schedule = str(self.folder / "beat-schedule")
        self._fork(name, process_argv("beat", "-s", schedule, "--pidfile="), {})

    def _fork(self, name: str, argv: list[str], env: Mapping[str, str]) -> None:
        path = self._logs(name) / "worker-1.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            forked = self.forks.start(
                ["-m", *argv[argv.index("workers.process") :]],
                cwd=Path.cwd(),
                env=self.environ(**env),
                stdout=log,
                stderr=log,
                leads=True,
            )
        self.workers[name] = ForkedFleet(forked)

    def _logs(self, name: str) -> Path:
        return self.folder / "logs" / name

    def start(self, *names: str, **env: str) -> None:
        """Start beat and workers of these names."""
        self.start_beat()
        for name in names or ("w1", "w2"):
            self.start_worker(name, **env)

    def pid(self, name: str) -> int:
        """The process of a worker, 0 when it is dead."""
        return next(iter(self.workers[name].pids), 0)

    def revive(self) -> None:
        """Start again whatever is dead, as a supervisor would; failpoints are not set again."""
        self.engines.revive()
        for name in [name for name, fleet in self.workers.items() if not fleet.pids]:
            self.workers[name].stop()
            self.start_beat() if name == "beat" else self.start_worker(name)

    def stop(self) -> None:
        """End every worker."""
        for fleet in self.workers.values():
            for pid in fleet.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            fleet.stop(grace_s=0)
        self._look_away()

    # -- breaking it -----------------------------------------------------------------------------------------

    def kill_worker(self, name: str) -> None:
        """SIGKILL a worker and all it started."""
        self.note_in_flight()
        if pid := self.pid(name):
            os.killpg(pid, signal.SIGKILL)
            wait_until(lambda: not self.workers[name].pids, timeout_s=PATIENCE_S)

    def signal_worker(self, name: str, number: signal.Signals) -> None:
        """Send a worker a signal."""
        os.kill(self.pid(name), number)

    def kill_valkey(self, *, keeps_its_file: bool) -> None:
        """SIGKILL the broker; without its append-only file it will come back empty."""
        self._kill_engine("valkey", signal.SIGKILL)
        if not keeps_its_file:
            shutil.rmtree(self.folder / "d" / "valkey" / "appendonlydir", ignore_errors=True)

    def stop_postgres(self) -> None:
        """As `pg_ctl stop -m immediate`: no checkpoint, every connection cut."""
        self.note_in_flight()
        self._kill_engine("postgres", signal.SIGQUIT)

    def _kill_engine(self, name: str, number: signal.Signals) -> None:
        pid = self.engine_pid(name)
        os.kill(pid, number)
        assert wait_until(lambda: not psutil.pid_exists(pid) or _is_zombie(pid), timeout_s=PATIENCE_S)

    def engine_pid(self, name: str) -> int:
        """The process of Valkey or Postgres."""
        status = describe(self.folder / "d")
        assert status
        return next(server.pid for server in status.servers if server.name == name)

    def note_in_flight(self) -> None:
        """Count the calls in flight right before a kill: so many may be repeated because of it."""
        with contextlib.suppress(psycopg.OperationalError):
            self.in_flight_at_kills += self.sql("SELECT count(*) FROM call_journal WHERE state = 'sent'")[0][
                0
            ]
            self.in_flight_at_kills += self.sql("SELECT count(*) FROM jobs WHERE state = 'leased'")[0][0]

    # -- the bake-off ----------------------------------------------------------------------------------------

    def plan(
        self,
        n_cases: int,
        *,
        judges: Sequence[str] = JUDGES,
        others: Mapping[str, Any] = MappingProxyType({}),
        **judge: Any,
    ) -> Plan:
        """A bake-off of judges behind the simulator, graded by a model behind it too; or of `others`."""
        self._write("tasks/capitals.yaml", TASK)
        self._write(f"evalsets/capitals/dev-{n_cases}.json", json.dumps({"cases": cases(n_cases)}))
        served = {"provider": "openai", "base_url": self.simulator.openai_url, "price": PRICE, **judge}
        names = {*judges, "marker"}
        known = {name: {"model": name, **served} for name in names} | dict(others)
        environ = {"EVALQ_JUDGES": json.dumps(known)}
        settings = load_settings(self.folder, environ)
        return prepare(Request("capitals", f"dev-{n_cases}", judges), settings, self.folder)

    def bake(
        self, plan: Plan, *, cap_usd: object = 5, ambiguous_repeats: int = 1, publish: bool = True
    ) -> int:
        """Record the bake-off and publish its first window; return its id."""
        db = Database(self.engines.database_url)
        terms = bakeoffs.Terms(Decimal(str(cap_usd)), ambiguous_repeats=ambiguous_repeats)
        bakeoff_id = db.in_transaction(lambda tx: bakeoffs.add(tx, plan, terms))
        if publish:
            enqueue.open_chords(db, self.broker, bakeoff_id)
            enqueue.pump_all(db, self.broker)
        db.close()
        return bakeoff_id

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    # -- looking at it ---------------------------------------------------------------------------------------

    def sql(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Rows of a statement of the test's own, on a connection that is opened again when it was cut."""
        try:
            return self._rows(statement, params)
        except psycopg.OperationalError:
            self._look_away()
        return self._rows(statement, params)

    def _look_away(self) -> None:
        if self.watching is not None:
            self.watching.close()
        self.watching = None

    def _rows(self, statement: str, params: tuple[object, ...]) -> list[tuple[Any, ...]]:
        if self.watching is None:
            url = self.engines.database_url
            self.watching = psycopg.connect(url, autocommit=True, connect_timeout=5)
        cursor = self.watching.execute(statement.encode(), params or None)
        return cursor.fetchall() if cursor.description else []

    def valkey(self) -> "redis.Redis":
        """The broker seen from below."""
        return redis.Redis.from_url(self.engines.broker_url)

    def n_outcomes(self) -> int:
        """Jobs ended so far, in all bake-offs; -1 while the database is away."""
        try:
            return int(self.sql("SELECT count(*) FROM outcomes")[0][0])
        except psycopg.OperationalError:
            return -1

    def state(self, bakeoff_id: int) -> str:
        """The bake-off's state; `away` while the database is."""
        try:
            return str(self.sql("SELECT state FROM bakeoffs WHERE id = %s", bakeoff_id)[0][0])
        except psycopg.OperationalError:
            return "away"

    def wait(
        self, condition: Callable[[], bool], *, reviving: bool = False, timeout_s: float = PATIENCE_S
    ) -> None:
        """Wait for something that must come; starting again what dies, if asked."""

        def look() -> bool:
            if reviving:
                self.revive()
            return condition()

        assert wait_until(look, timeout_s=timeout_s), self.describe()

    def wait_for_outcomes(self, n: int) -> None:
        """Wait until so many jobs have ended."""
        self.wait(lambda: self.n_outcomes() >= n)

    def wait_for_end(self, bakeoff_id: int, *, timeout_s: float = PATIENCE_S) -> str:
        """Wait until the bake-off runs no more, starting again what dies; its state."""
        self.wait(
            lambda: self.state(bakeoff_id) not in ("running", "away"), reviving=True, timeout_s=timeout_s
        )
        return self.state(bakeoff_id)

    def describe(self) -> str:
        """Where everything stands, for a test that waited in vain."""
        with contextlib.suppress(psycopg.OperationalError):
            states = self.sql("SELECT state, count(*), max(attempt), max(losses) FROM jobs GROUP BY state")
            repeated = self.sql(REPEATED)
            logs = {
                log: log.read_text("utf-8", "replace")[-1500:]
                for log in self.folder.glob("logs/*/worker-*.log")
            }
            said = "\n".join(f"{log.parent.name}: {text}" for log, text in logs.items())
            return f"jobs {states}, calls made more than once {repeated}\n{said}"
        return "the database is away"


def cases(n_cases: int) -> list[Mapping[str, Any]]:
    """Cases the simulator knows the answers to."""
    return [
        {
            "id": f"case-{i:04}",
            "inputs": {"country": f"country {i}"},
            "expected": {"answer": f"capital {i}"},
            "stratum": {"half": "even" if i % 2 else "odd"},
        }
        for i in range(n_cases)
    ]


def profiles(latency_ms: int, **more: Any) -> dict[str, Any]:
    """How the simulated models behave: one good, one poor, and a marker that is always right."""
    known = {"answer": "cases", "latency_ms": latency_ms}
    return {
        "good": {**known, "accuracy": 0.9},
        "poor": {**known, "accuracy": 0.5},
        "marker": {**known, "accuracy": 1.0},
        **more,
    }


@contextlib.contextmanager
def open_scene(
    template: Path, folder: Path, forks: Forks, *, n_cases: int, latency_ms: int = 80, **fields: Any
) -> Iterator[Scene]:
    """A scene in its folder, with engines and simulator running and no worker yet."""
    shutil.copytree(template, folder / "d", symlinks=True)
    sources = folder / "known"
    for name, text in (("task.yaml", TASK), ("set.json", json.dumps({"cases": cases(n_cases)}))):
        sources.mkdir(exist_ok=True)
        (sources / name).write_text(text, "utf-8")
    known = [{"task": str(sources / "task.yaml"), "eval_set": str(sources / "set.json")}]
    with (
        attach(folder / "d") as engines,
        running_simulator({"profiles": profiles(latency_ms), "cases": known}) as simulator,
    ):
        app = make_app(engines.broker_url)
        scene = Scene(folder, engines, simulator, Broker(app), forks, **fields)
        scene.sql(WITNESS)
        try:
            yield scene
        finally:
            scene.stop()
            app.backend.client.connection_pool.disconnect()  # closing the application does not
            app.close()


def _is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
