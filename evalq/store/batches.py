"""Many jobs in few statements: what coroutines ask of Postgres at the same time is done together."""

from collections.abc import Sequence

from evalq.records import Grade, Outcome
from evalq.store import calls, jobs
from evalq.store.coalescer import Coalescer
from evalq.store.database import Row, known_version
from evalq.store.jobs import Job
from evalq.store.lasting_connection import PATIENCE_S, LastingConnection

CLAIM_TICK_S = 0.03
RESERVE_TICK_S = 0.008
SETTLE_TICK_S = 0.008
"""Short: answers that wait to be settled are lost when the process is killed, and paid for again."""
FINISH_TICK_S = 0.03
RELEASE_TICK_S = 0.03

_MAX_CHARS = 8_000_000
"""Of the answers and grades in one statement; a larger one is sent alone."""


class Batches:
    """Claims, reserves, settles, finishes and releases for the coroutines of one loop.

    Each method does what its namesake in `jobs` or `calls` does, and returns when that is committed. It
    raises Unreachable when the database stays away for `patience_s` or was lost on the way. Then the work may
    have been committed, and asking again is safe: a lost claim comes back when its lease ends, a lost
    reservation is closed with the lost calls of its job, a settlement counts once, and a fence guards an end.
    """

    def __init__(self, url: str, *, lease_s: float, patience_s: float = PATIENCE_S) -> None:
        self._lease_s = lease_s
        self._before_call = LastingConnection(url, patience_s=patience_s)
        self._after_call = LastingConnection(url, patience_s=patience_s)
        self._claims = Coalescer(self._claim_all, tick_s=CLAIM_TICK_S)
        self._reservations = Coalescer(self._reserve_all, tick_s=RESERVE_TICK_S)
        self._settlements = Coalescer(
            self._settle_all, tick_s=SETTLE_TICK_S, size_of=len, max_size=_MAX_CHARS
        )
        self._ends = Coalescer(self._finish_all, tick_s=FINISH_TICK_S, size_of=len, max_size=_MAX_CHARS)
        self._releases = Coalescer(self._release_all, tick_s=RELEASE_TICK_S)

    async def open(self) -> None:
        """Connect; raises Unreachable."""
        await self._before_call.open()
        await self._after_call.open()

    async def close(self) -> None:
        """Finish what was asked, then disconnect."""
        for coalescer in (self._claims, self._reservations, self._settlements, self._ends, self._releases):
            await coalescer.drain()
        await self._before_call.close()
        await self._after_call.close()

    async def claim(self, job_id: int) -> Job | None:
        """Lease a job; None when it is done or held by another worker, or its bake-off is stopped."""
        row = await self._claims.ask(job_id)
        return jobs.read_job(row) if row else None

    async def reserve(self, job: Job, call: calls.Call) -> int | None:
        """Set a call's worst case aside under every cap and journal it; None while other calls hold the room.

        Raises CapReached when it would not fit even alone, PutBack when the bake-off was stopped.
        """
        row = await self._reservations.ask(calls.encode_reservation(job, call))
        return calls.read_reservation(job, call, row)

    async def settle(self, call_id: int, settlement: calls.Settlement) -> None:
        """Replace a reservation by the price, once; a judge's answer is stored in the same statement."""
        await self._settlements.ask(calls.encode_settlement(call_id, settlement))

    async def finish(self, job: Job, outcome: Outcome, grades: Sequence[Grade]) -> bool:
        """Write a job's end; False when the lease was lost and nothing was written."""
        return await self._ends.ask(jobs.encode_end(job, outcome, grades))

    async def release(self, job: Job, *, wait_s: float) -> None:
        """Put a job back; no worker tries it again for `wait_s`."""
        await self._releases.ask(jobs.encode_release(job, wait_s))

    async def _claim_all(self, job_ids: Sequence[int]) -> list[Row | None]:
        rows = await self._before_call.rows(
            "claim_jobs", job_ids=list(job_ids), lease_s=self._lease_s, schema_version=known_version()
        )
        claimed = {row["id"]: row for row in rows}
        # Of two who ask for the same job the first has it.
        return [claimed.pop(job_id, None) for job_id in job_ids]

    async def _reserve_all(self, encoded: Sequence[str]) -> list[Row | None]:
        rows = await self._before_call.rows(
            "reserve_calls", calls=_join(encoded), schema_version=known_version()
        )
        by_place = {row["place"]: row for row in rows}
        return [by_place.get(place) for place in range(1, len(encoded) + 1)]

    async def _settle_all(self, encoded: Sequence[str]) -> list[None]:
        await self._after_call.rows("settle_calls", is_repeatable=True, calls=_join(encoded))
        return [None] * len(encoded)

    async def _finish_all(self, encoded: Sequence[str]) -> list[bool]:
        rows = await self._after_call.rows("finish_jobs", jobs=_join(encoded))
        written = {row["place"] for row in rows}
        return [place in written for place in range(1, len(encoded) + 1)]

    async def _release_all(self, encoded: Sequence[str]) -> list[None]:
        await self._after_call.rows("release_jobs", is_repeatable=True, jobs=_join(encoded))
        return [None] * len(encoded)


def _join(encoded: Sequence[str]) -> str:
    """One JSON array of values that are JSON already."""
    return f"[{','.join(encoded)}]"
