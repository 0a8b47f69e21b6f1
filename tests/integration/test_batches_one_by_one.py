"""Batches against one job at a time: any story gives the same answers, refusals, rows and sums either way."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from one_by_one import OneByOne, apply_old_schema

from evalq.bakeoff.plan import Plan
from evalq.definitions.judge import OpenAIJudge, SimulatedJudge
from evalq.errors import CapReached, FaultKind, ProviderFault, PutBack
from evalq.records import Completion, Grade, Outcome, ToolCall
from evalq.store import bakeoffs, calls, jobs
from evalq.store.batches import Batches
from evalq.store.database import Database

JUDGES = [
    SimulatedJudge(name="sim", provider="simulated", model="sim"),
    OpenAIJudge(name="gpt", provider="openai", model="gpt"),
    OpenAIJudge(name="other", provider="openai", model="other"),
]
DAILY_CAPS = {"day": Decimal("0.8"), "provider:openai": Decimal("0.7"), "provider:simulated": Decimal("0.6")}
FAULTS: list[FaultKind] = ["ambiguous", "rate", "transient"]
TABLES = {
    "bakeoffs": "id, state, reserved_usd, spent_usd",
    "jobs": "id, state, fence, attempt, losses, lease_until IS NULL, not_before > now(), queued_at IS NULL",
    "call_journal": "key, bakeoff_id, job_id, purpose, judge, provider, model, attempt, state, reserved_usd, "
    "cost_usd, usage, request_id, fault_kind, fault_message, latency_ms, reply_state, reply, "
    "settled_at IS NULL",
    "completions": "job_id, state, answer, model, request_id, input_tokens, output_tokens, usage, "
    "latency_ms, cost_usd, tool_calls",
    "outcomes": "job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts",
    "grades": "job_id, grader, passed, score, reason, kind, required, weight, pending, details, ordinal",
}
SUMS = """
SELECT scope, sum(reserved_usd), sum(spent_usd) FROM spending
WHERE (reserved_usd, spent_usd) <> (0, 0) GROUP BY scope ORDER BY scope
"""
OF_JOB = "WHERE id = (SELECT bakeoff_id FROM jobs WHERE id = {job})"
EVENTS = {
    "pause a run": "UPDATE runs SET state = 'paused' WHERE id = (SELECT run_id FROM jobs WHERE id = {job})",
    "resume the runs": "UPDATE runs SET state = 'running'",
    "pause": f"UPDATE bakeoffs SET state = 'paused' {OF_JOB}",
    "cap": f"UPDATE bakeoffs SET state = 'capped' {OF_JOB}",
    "cancel": f"UPDATE bakeoffs SET state = 'cancelled' {OF_JOB}",
    "go on": "UPDATE bakeoffs SET state = 'running'",
    "lose": "UPDATE jobs SET state = 'ready', lease_until = NULL WHERE id = {job} AND state = 'leased'; "
    "SELECT close_lost_calls(ARRAY[{job}]::bigint[])",
    "lose all": "SELECT close_lost_calls(ARRAY(SELECT id FROM jobs))",
    "retry": "DELETE FROM completions WHERE job_id = {job}; "
    "UPDATE jobs SET retried_at = clock_timestamp(), state = 'ready' WHERE id = {job}",
    "loosen": "UPDATE bakeoffs SET cap_usd = cap_usd + 0.3",
}

N_JOBS = 8
job = st.integers(0, N_JOBS - 1)
tenths = st.integers(0, 5).map(lambda n: Decimal(n) / 10)


def several(*parts: "st.SearchStrategy[Any]") -> "st.SearchStrategy[Any]":
    return st.lists(st.tuples(*parts), min_size=2, max_size=8)


purpose = st.sampled_from(["answer", "answer", "grade"])
margin = st.sampled_from([Decimal(0), Decimal(0), Decimal("0.2")])
ends = st.sampled_from(["answered", "answered", "free", "tools", *FAULTS])
reservations = several(job, st.sampled_from(JUDGES), purpose, tenths, margin)
losses = st.sampled_from(["lose", "lose all", "retry"])
restarts = st.sampled_from(["go on", "resume the runs", "loosen"])
batch = st.one_of(
    st.tuples(st.just("claim"), several(job)),
    st.tuples(st.just("reserve"), reservations),
    st.tuples(st.just("settle"), several(st.integers(0, 50), ends)),
    st.tuples(st.just("settle"), several(st.integers(0, 5), ends)),
    st.tuples(st.just("finish"), several(job, st.booleans())),
    st.tuples(st.just("release"), several(job, st.sampled_from([0.0, 3600.0]))),
    st.tuples(st.just("event"), st.tuples(st.sampled_from(sorted(EVENTS)), job)),
    st.tuples(st.just("event"), st.tuples(losses, job)),
    st.tuples(st.just("event"), st.tuples(restarts, job)),
)
# Long ones: a late answer to a lost call of a job retried under a cap takes many steps to come by.
stories = st.lists(batch, min_size=20, max_size=28)

ONE_CALL = ("reserve", [(0, JUDGES[0], "answer", Decimal("0.1"), Decimal(0))])
LATE_AFTER_A_RETRY = [ONE_CALL, ("event", ("retry", 0)), ("settle", [(0, "answered")])]
# The second holder's answer is stored when the first one's comes home.
LATE_AFTER_ANOTHER = [
    ONE_CALL,
    ("event", ("lose", 0)),
    ("claim", [(0,)]),
    ONE_CALL,
    ("settle", [(0, "answered")]),
    ("release", [(0, 0.0)]),
    ("settle", [(1, "free")]),
]


@dataclass
class Side:
    """One of two databases, and what its worker holds."""

    db: Database
    connection: psycopg.Connection[Any]
    held: dict[int, jobs.Job] = field(default_factory=dict)
    call_ids: dict[str, int] = field(default_factory=dict)

    def clear(self) -> None:
        self.connection.execute("TRUNCATE bakeoffs, spending, spending_caps RESTART IDENTITY CASCADE")
        self.held, self.call_ids = {}, {}

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        dumped = {
            table: self.connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2".encode()).fetchall()
            for table, columns in TABLES.items()
        }
        # A batch opens the sums of a day also when it refuses all its calls.
        dumped["spending"] = self.connection.execute(SUMS).fetchall()
        return dumped


@pytest.fixture
def sides(db: Database, new_database: Callable[[str], tuple[str, Database]]) -> Iterator[tuple[Side, Side]]:
    """A database of today's schema and one of the schema before batches."""
    old = new_database("template0")[1]
    apply_old_schema(old)
    with (
        psycopg.connect(db.url, autocommit=True) as ours,
        psycopg.connect(old.url, autocommit=True) as theirs,
    ):
        yield Side(db, ours), Side(old, theirs)


def settlement(end: str, place: int) -> calls.Settlement:
    if end in FAULTS:
        return calls.failed(ProviderFault(end, f"fault {place}"))  # type: ignore[arg-type]
    answer = Completion(
        "answered", f"answer {place}", latency_ms=place, cost_usd=Decimal("0.05"), request_id="r"
    )
    if end == "free":
        answer = replace(answer, cost_usd=Decimal(0))
    if end == "tools":
        answer = replace(answer, tool_calls=(ToolCall("look_up", {"place": place}),))
    return calls.answered(answer)


@dataclass
class Story:
    """Plays batches on both sides: together on ours, one by one on the old one."""

    new: Side
    old: Side
    batches: Batches
    job_ids: list[int]
    n: int = 0

    async def play(self, kind: str, wanted: Any) -> None:
        """One batch on both sides; every asker must have the same answer."""
        steps = {"claim": self.claim, "reserve": self.reserve, "settle": self.settle, "finish": self.finish}
        if kind == "event":
            self.happen(*wanted)
        elif kind == "release":
            await self.release(wanted)
        else:
            ours, theirs = await steps[kind](wanted)
            assert ours == theirs

    def happen(self, event: str, job: int) -> None:
        for side in (self.new, self.old):
            side.connection.execute(EVENTS[event].format(job=self.job_ids[job]).encode())

    async def claim(self, wanted: list[tuple[int]]) -> tuple[Any, Any]:
        ids = [self.job_ids[place] for (place,) in wanted]
        one_by_one = OneByOne(self.old.connection)
        ours = await asyncio.gather(*(self.batches.claim(job_id) for job_id in ids))
        theirs = [one_by_one.claim(job_id) for job_id in ids]
        self.new.held |= {job.id: job for job in ours if job}
        self.old.held |= {job.id: job for job in theirs if job}
        return ours, theirs

    async def reserve(self, wanted: list[tuple[Any, ...]]) -> tuple[Any, Any]:
        asked = []
        for place, judge, purpose, usd, margin_usd in wanted:
            self.n += 1
            call = calls.Call(judge, purpose, f"key {self.n:04}", self.n, usd, margin_usd)
            asked.append((self.job_ids[place], call))
        # The order in which a batch is served.
        asked.sort(key=lambda one: (self.new.held[one[0]].bakeoff_id, one[0]))
        asking = (self.batches.reserve(self.new.held[job_id], call) for job_id, call in asked)
        ours = await asyncio.gather(*asking, return_exceptions=True)
        theirs = [self._reserve_old(job_id, call) for job_id, call in asked]
        for (_, call), our_id, their_id in zip(asked, ours, theirs, strict=True):
            if isinstance(our_id, int) and isinstance(their_id, int):
                self.new.call_ids[call.key], self.old.call_ids[call.key] = our_id, their_id
        return [_kind_of(one) for one in ours], [_kind_of(one) for one in theirs]

    def _reserve_old(self, job_id: int, call: calls.Call) -> object:
        try:
            return OneByOne(self.old.connection).reserve(self.old.held[job_id], call)
        except (CapReached, PutBack) as exc:
            return exc

    async def settle(self, wanted: list[tuple[int, str]]) -> tuple[Any, Any]:
        keys = sorted(self.new.call_ids, reverse=True)
        ends = []
        for place, end in wanted:
            self.n += 1
            if keys:
                ends.append((keys[place % len(keys)], settlement(end, self.n)))
        await asyncio.gather(*(self.batches.settle(self.new.call_ids[key], end) for key, end in ends))
        for key, end in ends:
            OneByOne(self.old.connection).settle(self.old.call_ids[key], end)
        return None, None

    async def finish(self, wanted: list[tuple[int, bool]]) -> tuple[Any, Any]:
        ends = []
        for place, is_stale in wanted:
            self.n += 1
            fence = self.new.held[self.job_ids[place]].fence - is_stale
            grades = [Grade("a", True, 0.5, f"{self.n}"), Grade("b", None, None, details={"n": self.n})]
            ends.append((replace(self.new.held[self.job_ids[place]], fence=fence), grades))
        outcome = Outcome("failed", None, "said so")
        ours = await asyncio.gather(*(self.batches.finish(job, outcome, grades) for job, grades in ends))
        one_by_one = OneByOne(self.old.connection)
        return ours, [one_by_one.finish(job, outcome, grades) for job, grades in ends]

    async def release(self, wanted: list[tuple[int, float]]) -> None:
        put_back = [(self.new.held[self.job_ids[place]], wait_s) for place, wait_s in wanted]
        await asyncio.gather(*(self.batches.release(job, wait_s=wait_s) for job, wait_s in put_back))
        for job, wait_s in put_back:
            OneByOne(self.old.connection).release(job, wait_s=wait_s)


def _kind_of(answer: object) -> object:
    return "reserved" if isinstance(answer, int) else repr(answer)


async def tell(new: Side, old: Side, job_ids: list[int], story: list[tuple[str, Any]]) -> None:
    batches = Batches(new.db.url, lease_s=60)
    await batches.open()
    told = Story(new, old, batches, job_ids)
    await told.play("claim", [(place,) for place in range(N_JOBS)])
    for kind, wanted in story:
        await told.play(kind, wanted)
    await batches.close()


@given(story=stories, is_capped_daily=st.booleans())
@example(story=LATE_AFTER_A_RETRY, is_capped_daily=False)
@example(story=LATE_AFTER_ANOTHER, is_capped_daily=True)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_story_goes_the_same_way_in_batches_and_one_by_one(
    sides: tuple[Side, Side],
    plan: Callable[..., Plan],
    judge: Callable[..., SimulatedJudge],
    story: list[tuple[str, Any]],
    is_capped_daily: bool,
) -> None:
    new, old = sides
    for side in sides:
        side.clear()
        calls.set_daily_caps(side.db, DAILY_CAPS if is_capped_daily else {})
        for cap_usd in ("0.9", "0.6"):
            terms, made = bakeoffs.Terms(Decimal(cap_usd)), plan(2, [judge("sim-a"), judge("sim-b")])
            side.db.in_transaction(lambda tx, made=made, terms=terms: bakeoffs.add(tx, made, terms))
    job_ids = [row[0] for row in new.connection.execute("SELECT id FROM jobs ORDER BY id")]
    asyncio.run(tell(new, old, job_ids, story))
    assert new.dump() == old.dump()
