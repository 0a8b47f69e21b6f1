"""Real engines for every test: Valkey and Postgres, a fresh database and an empty broker each time."""

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from celery import Celery
from patience import PATIENCE_S

from evalq.bakeoff.plan import Plan, make_plan
from evalq.calling.metered import CallControl
from evalq.calling.rate_limit import Gatekeeper
from evalq.calling.spool import Spool
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import Price, SimulatedJudge
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.engines.async_scripts import AsyncScripts
from evalq.engines.broker import Broker, make_app
from evalq.engines.embedded import Engines, attach
from evalq.engines.fleet import QUEUES, WorkerFleet, start_fleet
from evalq.records import Completion, Outcome, Usage, Verdict
from evalq.settings import Settings
from evalq.store import bakeoffs, calls, jobs
from evalq.store.batches import Batches
from evalq.store.database import Database, apply_schema
from workers.connections import Connections

_names = (f"test_{number}" for number in itertools.count(1))

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """The servers all tests of this process share."""
    with attach(tmp_path_factory.mktemp("e") / "d") as engines:
        yield engines


@pytest.fixture(scope="session")
def administer(engines: Engines) -> Iterator[Callable[[str], None]]:
    """Runs one statement on the server's first database."""
    with psycopg.connect(engines.database_url, autocommit=True) as connection:
        # A database a test is many files a test; what is thrown away need not survive a power cut.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
        yield lambda statement: connection.execute(statement) and None


def _named(url: str, name: str) -> str:
    return url.replace("/evalq?", f"/{name}?")


@pytest.fixture(scope="session")
def template(engines: Engines, administer: Callable[[str], None]) -> str:
    """A database with the schema and nothing else, to be copied."""
    administer("CREATE DATABASE template_evalq")
    db = Database(_named(engines.database_url, "template_evalq"))
    apply_schema(db)
    db.close()
    return "template_evalq"


@pytest.fixture
def new_database(
    engines: Engines, administer: Callable[[str], None]
) -> Iterator[Callable[[str], tuple[str, Database]]]:
    """Makes databases from a template; they are dropped after the test."""
    made: list[tuple[str, Database]] = []

    def make(source: str) -> tuple[str, Database]:
        name = next(_names)
        administer(f"CREATE DATABASE {name} TEMPLATE {source}")
        if source != "template0":
            # A setting of the template that its copies do not have.
            administer(f"ALTER DATABASE {name} SET search_path TO evalq, public")
        made.append((name, Database(_named(engines.database_url, name), max_size=16)))
        return made[-1]

    yield make
    for name, db in made:
        db.close()
        administer(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def db(new_database: Callable[[str], tuple[str, Database]], template: str) -> Database:
    """A database of this test's own, with the schema."""
    return new_database(template)[1]


@pytest.fixture
def empty_db(new_database: Callable[[str], tuple[str, Database]]) -> Database:
    """A database of this test's own, with nothing in it."""
    return new_database("template0")[1]


@pytest.fixture
def sql(db: Database) -> Iterator[Sql]:
    """Runs a statement of the test's own and returns its rows, if it has any."""
    with psycopg.connect(db.url, autocommit=True) as connection:

        def run(statement: str, *params: object) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode(), params or None)
            return cursor.fetchall() if cursor.description else []

        yield run


@pytest.fixture
def valkey(engines: Engines) -> Iterator["redis.Redis"]:
    """The broker seen from below, empty at first."""
    with redis.Redis.from_url(engines.broker_url, decode_responses=True) as client:
        client.flushdb()
        yield client


@pytest.fixture
def app(engines: Engines, valkey: "redis.Redis") -> Iterator[Celery]:
    """The producer's Celery application."""
    app = make_app(engines.broker_url)
    yield app
    app.backend.client.close()
    app.close()


@pytest.fixture
def broker(app: Celery) -> Broker:
    """What publishes."""
    return Broker(app)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The loop of this test's coroutines, for what lives longer than one of them."""
    with asyncio.Runner() as runner:
        yield runner


async def no_wait(seconds: float) -> None:
    """Sleep, without the time that takes."""
    del seconds


@pytest.fixture
def batches(db: Database, runner: asyncio.Runner) -> Iterator[Batches]:
    """The batches of a worker on this test's database."""
    batches = Batches(db.url, lease_s=600)
    yield batches
    runner.run(batches.close())


@pytest.fixture
def control(
    db: Database,
    batches: Batches,
    engines: Engines,
    valkey: "redis.Redis",
    runner: asyncio.Runner,
    tmp_path: Path,
) -> Iterator[CallControl]:
    """What the calls of a worker share; its waits take no time."""
    scripts = AsyncScripts(engines.broker_url)
    gatekeeper = Gatekeeper(scripts, sleep=no_wait)
    spool = Spool(tmp_path / "spool", db, batches)
    yield CallControl(db, batches, gatekeeper, spool, asyncio.Semaphore(8))
    runner.run(gatekeeper.drain())
    runner.run(scripts.close())


@pytest.fixture
def here(
    db: Database, engines: Engines, valkey: "redis.Redis", runner: asyncio.Runner, tmp_path: Path
) -> Iterator[Connections]:
    """The connections of a worker whose keys file is in the test's folder; its waits take no time."""
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    settings = Settings(broker_url=engines.broker_url, spool_dir=tmp_path / "spool")
    here = Connections(db, settings, environ)
    here.control.gatekeeper.sleep = no_wait
    yield here
    runner.run(here.close())


@pytest.fixture
def start_worker(db: Database, engines: Engines, tmp_path: Path) -> Iterator[Callable[..., WorkerFleet]]:
    """Starts a real worker process on this test's database and broker; it is stopped after the test."""
    fleets: list[WorkerFleet] = []

    def start(queues: Sequence[str] = QUEUES) -> WorkerFleet:
        env = {
            "PATH": os.environ["PATH"],
            "EVALQ_DATABASE_URL": db.url,
            "EVALQ_BROKER_URL": engines.broker_url,
        }
        fleets.append(start_fleet(1, 8, queues=queues, env=env, log_dir=tmp_path / "logs"))
        return fleets[-1]

    yield start
    for fleet in fleets:
        fleet.stop()


@pytest.fixture
def judge() -> Callable[..., SimulatedJudge]:
    """Makes simulated judges that answer at once; a token costs a millionth of a dollar."""

    def make(name: str = "sim-a", **fields: Any) -> SimulatedJudge:
        price = Price(input=Decimal(1), output=Decimal(1))
        known = {"provider": "simulated", "model": name, "time_scale": 0.0, "price": price}
        return SimulatedJudge(name=name, **{**known, **fields})

    return make


@pytest.fixture
def task() -> TaskConfig:
    """One word is asked for and compared."""
    return TaskConfig(
        name="capitals",
        system_prompt="Answer with one word.",
        user_template="What is the capital of {country}?",
        scoring=ScoringConfig(mode="strict_substring", pass_rule="exact_match"),
        max_tokens=16,
    )


def evalset_of(n_cases: int) -> EvalSet:
    cases = [
        EvalCase(
            id=f"case-{i:04}",
            inputs={"country": f"country {i}"},
            expected={"answer": f"capital {i}"},
            stratum={"half": "even" if i % 2 else "odd"},
        )
        for i in range(n_cases)
    ]
    return EvalSet(name=f"dev-{n_cases}", cases=cases)


@pytest.fixture
def plan(task: TaskConfig, judge: Callable[..., SimulatedJudge]) -> Callable[..., Plan]:
    """Plans a bake-off of simulated judges on so many cases."""

    def make(n_cases: int = 3, judges: Sequence[SimulatedJudge] = (), **fields: Any) -> Plan:
        return make_plan(task, evalset_of(n_cases), judges or [judge()], **fields)

    return make


@pytest.fixture
def record(db: Database, plan: Callable[..., Plan]) -> Callable[..., int]:
    """Records a bake-off, publishes nothing, returns its id."""

    def make(
        n_cases: int = 3, judges: Sequence[SimulatedJudge] = (), cap_usd: object = 5, **fields: Any
    ) -> int:
        made = plan(n_cases, judges, **fields)
        return db.in_transaction(lambda tx: bakeoffs.add(tx, made, bakeoffs.Terms(Decimal(str(cap_usd)))))

    return make


@pytest.fixture
def job_ids(sql: Sql) -> Callable[[int], list[int]]:
    """The jobs of a bake-off."""
    return lambda bakeoff_id: [
        row[0] for row in sql("SELECT id FROM jobs WHERE bakeoff_id = %s ORDER BY id", bakeoff_id)
    ]


@pytest.fixture
def run_ids(sql: Sql) -> Callable[[int], list[int]]:
    """The runs of a bake-off."""
    return lambda bakeoff_id: [
        row[0] for row in sql("SELECT id FROM runs WHERE bakeoff_id = %s ORDER BY id", bakeoff_id)
    ]


@pytest.fixture
def answer() -> Completion:
    """An answer as a provider gives it."""
    usage = Usage(30, 4, raw={"input_tokens": 30, "output_tokens": 4})
    return Completion("answered", "capital 1", usage, 120, Decimal("0.000034"), "sim-a", "request-1")


@pytest.fixture
def end_job(
    db: Database, answer: Completion, judge: Callable[..., SimulatedJudge]
) -> Callable[[int, Verdict], None]:
    """Brings a job to its end as a worker would: claim, pay, store, finish."""

    def end(job_id: int, verdict: Verdict = "passed") -> None:
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        call_id = calls.reserve(db, job, calls.Call(judge(), "answer", "key", 1, Decimal("0.001")))
        assert call_id
        calls.settle(db, call_id, calls.answered(answer))
        assert jobs.finish(db, job, Outcome(verdict, "empty" if verdict == "errored" else None), [])

    return end


@pytest.fixture
def at_once() -> Callable[..., list[Any]]:
    """Runs the same function in several threads that start together; returns what each returned."""

    def run(function: Callable[[], Any], times: int) -> list[Any]:
        gate, results = threading.Barrier(times), []

        def wait_and_run() -> None:
            gate.wait(timeout=PATIENCE_S)
            results.append(function())

        threads = [threading.Thread(target=wait_and_run) for _ in range(times)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    return run
