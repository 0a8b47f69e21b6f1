"""A Celery application of the tests' own, on the pool and the transports that workers use."""

import asyncio
import os
from typing import Any

from evalq.engines.broker import make_app
from evalq.records import Outcome
from workers.job_events import PUT_BACK, JobEnd, describe_outcome

app = make_app(os.environ["EVALQ_BROKER_URL"], messages=os.environ["MESSAGES"])  # type: ignore[arg-type]
app.conf.update(worker_pool="workers.pool:Pool", worker_prefetch_multiplier=2)


def _client() -> Any:
    return app.backend.client


@app.task(name="run_case")  # type: ignore[untyped-decorator]
async def run_case(number: int) -> None:
    """Count, and wait until the test opens the door, if it has shut it."""
    client = _client()
    client.rpush("started", number)
    while client.get("door") == b"shut":
        await asyncio.sleep(0.02)
    client.rpush("ended", number)


@app.task(name="fail")  # type: ignore[untyped-decorator]
async def fail(number: int) -> None:
    """Raise."""
    raise ValueError(f"number {number}")


@app.task(name="end", Request="workers.job_events:JobRequest")  # type: ignore[untyped-decorator]
async def end(number: int) -> JobEnd:
    """End as jobs do, without raising: errored, or put back."""
    return describe_outcome(Outcome("errored", "call_permanent", "secret")) if number == 1 else PUT_BACK


@app.task(name="wait_for_ever", soft_time_limit=None)  # type: ignore[untyped-decorator]
async def wait_for_ever(number: int) -> None:
    """Wait; say when it was made to end."""
    client = _client()
    client.rpush("started", number)
    try:
        await asyncio.Event().wait()
    finally:
        client.rpush("cancelled", number)


@app.task(name="conclude")  # type: ignore[untyped-decorator]
def conclude(run_id: int) -> None:
    """The callback of a chord, in a thread."""
    _client().rpush("concluded", run_id)
