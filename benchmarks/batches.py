"""What a job costs in Postgres, in batches of 1, 16 and 64 beside one by one: CPU of client and server."""

import asyncio
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import psutil

from evalq.bakeoff.plan import make_plan
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.engines.embedded import attach, describe
from evalq.records import Completion, Grade, Outcome, Usage
from evalq.store import bakeoffs, calls, jobs
from evalq.store.batches import Batches
from evalq.store.database import Database, apply_schema

N_JOBS = 2048
SIZES = (1, 16, 64)
JUDGE = SimulatedJudge.model_validate(
    {"name": "j", "provider": "simulated", "model": "j", "price": {"input": 0, "output": 0}}
)
CALL = calls.Call(JUDGE, "answer", "k" * 64, 1, Decimal("0.001"))
ANSWER = Completion(
    "answered", "word " * 100, Usage(300, 100, raw={"input_tokens": 300}), 200, Decimal("0.0005")
)
SETTLED = calls.answered(ANSWER)
GRADES = [Grade("strict_substring", True, 1.0, "equal")]
PASSED = Outcome("passed")


@dataclass(frozen=True)
class Cost:
    """CPU seconds."""

    client_s: float
    server_s: float

    def since(self, before: "Cost") -> "Cost":
        return Cost(self.client_s - before.client_s, self.server_s - before.server_s)


def main() -> None:
    """One job after another, then in batches."""
    with tempfile.TemporaryDirectory() as name, attach(Path(name) / "d", want=("postgres",)) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        status = describe(Path(name) / "d")
        assert status
        [postmaster] = [psutil.Process(server.pid) for server in status.servers if server.name == "postgres"]
        print(f"{'claim, reserve, settle, finish; CPU a job':<44} {'client':>9} {'server':>10}")
        one = measure_one_by_one(db, postmaster)
        show("one by one", one, one)
        for size in SIZES:
            show(f"in batches of {size}", asyncio.run(measure_batches(db, postmaster, size)), one)
        db.close()


def show(what: str, cost: Cost, one: Cost) -> None:
    client_ms, server_ms = (1000 * seconds / N_JOBS for seconds in (cost.client_s, cost.server_s))
    share = (cost.client_s + cost.server_s) / (one.client_s + one.server_s)
    print(f"{what:<44} {client_ms:6.3f} ms {server_ms:7.3f} ms   {share:5.0%} of one by one")


def record(db: Database) -> list[int]:
    task = TaskConfig(
        name="bench",
        system_prompt="",
        user_template="{q}",
        scoring=ScoringConfig(mode="strict_substring"),
        max_tokens=16,
    )
    cases = [EvalCase(id=f"c{i}", inputs={"q": "?" * 400}, expected={"answer": "x"}) for i in range(N_JOBS)]
    plan = make_plan(task, EvalSet(name="bench", cases=cases), [JUDGE])
    bakeoff_id = db.in_transaction(lambda tx: bakeoffs.add(tx, plan, bakeoffs.Terms(Decimal(1000))))
    last = bakeoff_id * N_JOBS  # every bake-off here has as many
    return list(range(last - N_JOBS + 1, last + 1))


def read_cpu(postmaster: psutil.Process) -> Cost:
    """CPU so far, of this process and of the processes of Postgres that are alive."""
    server_s = 0.0
    for process in (postmaster, *postmaster.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            server_s += times.user + times.system
    return Cost(time.process_time(), server_s)


def measure_one_by_one(db: Database, postmaster: psutil.Process) -> Cost:
    job_ids = record(db)
    before = read_cpu(postmaster)
    for job_id in job_ids:
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        call_id = calls.reserve(db, job, CALL)
        assert call_id
        calls.settle(db, call_id, SETTLED)
        assert jobs.finish(db, job, PASSED, GRADES)
    return read_cpu(postmaster).since(before)


async def measure_batches(db: Database, postmaster: psutil.Process, size: int) -> Cost:
    job_ids = record(db)
    batches = Batches(db.url, lease_s=60)
    await batches.open()
    before = read_cpu(postmaster)
    for start in range(0, len(job_ids), size):
        # All of them take each step together, as slots do that ask within a tick.
        await asyncio.gather(*(live(batches, job_id) for job_id in job_ids[start : start + size]))
    cost = read_cpu(postmaster).since(before)
    await batches.close()
    return cost


async def live(batches: Batches, job_id: int) -> None:
    job = await batches.claim(job_id)
    assert job
    call_id = await batches.reserve(job, CALL)
    assert call_id
    await batches.settle(call_id, SETTLED)
    assert await batches.finish(job, PASSED, GRADES)


if __name__ == "__main__":
    main()
