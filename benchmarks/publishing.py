"""Records and publishes 100,000 jobs on fresh embedded engines: seconds, jobs a second, producer memory."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import psutil
import psycopg

from evalq.bakeoff import publish
from evalq.bakeoff.plan import make_plan
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.engines.broker import Broker, make_app
from evalq.engines.embedded import attach
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database, apply_schema

N_CASES, N_JUDGES = 20_000, 5
BUDGET_S = 15.0


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long the block took."""
    started = time.perf_counter()
    yield
    print(f"{what:<44} {time.perf_counter() - started:8.2f} s")


def main() -> None:
    """Plan, record, publish."""
    task = TaskConfig(
        name="bench",
        system_prompt="",
        user_template="{q}",
        scoring=ScoringConfig(mode="strict_substring"),
        max_tokens=16,
    )
    cases = [EvalCase(id=f"c{i}", inputs={"q": "?"}, expected={"answer": "x"}) for i in range(N_CASES)]
    judges = [_judge(f"j{i}") for i in range(N_JUDGES)]
    with tempfile.TemporaryDirectory() as folder, attach(Path(folder)) as engines:
        db, broker = Database(engines.database_url), Broker(make_app(engines.broker_url))
        apply_schema(db)
        with timed(f"plan {N_CASES * N_JUDGES:,} jobs"):
            plan = make_plan(task, EvalSet(name="bench", cases=cases), judges)
        with timed("record them (COPY)"):
            bakeoff_id = db.in_transaction(lambda tx: bakeoffs.add(tx, plan, bakeoffs.Terms(Decimal(5))))
        _publish(db, broker, bakeoff_id)
        db.close()


def _judge(name: str) -> SimulatedJudge:
    return SimulatedJudge.model_validate(
        {"name": name, "provider": "simulated", "model": name, "price": {"input": 0, "output": 0}}
    )


def _publish(db: Database, broker: Broker, bakeoff_id: int) -> None:
    publish.open_chords(db, broker, bakeoff_id)
    process, out = psutil.Process(), 0
    before = process.memory_info().rss
    started = time.perf_counter()
    for gate in jobs.gates_with_ready_jobs(db):
        while sent := publish.pump(db, broker, gate):
            out += sent
            with psycopg.connect(db.url, autocommit=True) as connection:
                # As if workers had done them: a window is refilled as its jobs end.
                connection.execute("UPDATE jobs SET state = 'done' WHERE state = 'queued'")
    seconds = time.perf_counter() - started
    grown = (process.memory_info().rss - before) / 1e6
    verdict = "within" if seconds <= BUDGET_S else "OVER"
    print(f"{f'mark and publish {out:,} jobs':<44} {seconds:8.2f} s   {out / seconds:,.0f} jobs/s")
    print(f"{'producer memory grown while publishing':<44} {grown:8.1f} MB")
    waiting = broker.queue_length("calls.simulated")
    print(f"{verdict} the budget of {BUDGET_S:.0f} s; {waiting:,} messages in the queue")


if __name__ == "__main__":
    main()
