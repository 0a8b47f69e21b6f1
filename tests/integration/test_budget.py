"""The cap: what is spent and set aside never exceeds it, whatever the calls come to."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from threading import Event, Thread
from typing import Any

import pytest
import redis

from evalq.calling.metered import CallControl, ConnectedJudge, Meter
from evalq.definitions.judge import OpenAIJudge, SimulatedJudge
from evalq.errors import CapReached, FaultKind, ProviderFault, PutBack
from evalq.records import CaseContext, Completion, Prompt, Purpose
from evalq.store import bakeoffs, calls, jobs, outcomes
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Reserve = Callable[..., int | None]

BUDGET = "SELECT reserved_usd, spent_usd FROM bakeoffs"
JOURNAL = "SELECT state, reserved_usd, cost_usd, fault_kind FROM call_journal ORDER BY id"
QUESTION = Prompt("", "Why?", 16, CaseContext("t", "c"))


def usd(amount: str) -> Decimal:
    return Decimal(amount)


@pytest.fixture
def job(db: Database, record: Callable[..., int], job_ids: Callable[[int], list[int]]) -> jobs.Job:
    """A job in hand, of a bake-off that may cost one dollar."""
    found = jobs.claim(db, job_ids(record(1, cap_usd=1))[0], lease_s=60)
    assert found
    return found


@pytest.fixture
def reserve(db: Database, job: jobs.Job) -> Reserve:
    """Sets dollars aside for a call of that job, to a provider that takes money."""
    judge = OpenAIJudge(name="gpt", provider="openai", model="gpt")

    def set_aside(amount: str, purpose: Purpose = "answer", attempt: int = 1) -> int | None:
        return calls.reserve(db, job, calls.Call(judge, purpose, "key", attempt, usd(amount)))

    return set_aside


def test_a_reservation_is_replaced_by_the_price(
    db: Database, sql: Sql, reserve: Reserve, answer: Completion
) -> None:
    call_id = reserve("0.40")
    assert sql(BUDGET) == [(usd("0.40"), usd("0"))]
    assert sql(JOURNAL) == [("sent", usd("0.40"), None, None)]
    calls.settle(db, call_id or 0, calls.answered(replace(answer, cost_usd=usd("0.15"))))
    assert sql(BUDGET) == [(usd("0"), usd("0.15"))]
    assert sql(JOURNAL) == [("settled", usd("0.40"), usd("0.15"), None)]


def test_settling_twice_counts_once(db: Database, sql: Sql, reserve: Reserve, answer: Completion) -> None:
    call_id = reserve("0.40") or 0
    calls.settle(db, call_id, calls.answered(replace(answer, cost_usd=usd("0.15"))))
    calls.settle(db, call_id, calls.answered(replace(answer, cost_usd=usd("0.35"), text="another")))
    calls.settle(db, call_id, calls.failed(ProviderFault("ambiguous", "cut off")))
    assert sql(BUDGET) == [(usd("0"), usd("0.15"))]
    assert sql("SELECT answer FROM completions") == [("capital 1",)]


def test_an_answer_is_stored_in_the_statement_that_settles_it(
    db: Database, sql: Sql, reserve: Reserve, answer: Completion
) -> None:
    calls.settle(db, reserve("0.40") or 0, calls.answered(answer))
    columns = "state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms, cost_usd"
    stored = ("answered", "capital 1", "sim-a", "request-1", 30, 4, answer.usage.raw, 120, answer.cost_usd)
    assert sql(f"SELECT {columns} FROM completions") == [stored]
    times = "SELECT k.stored_at = c.settled_at FROM completions k JOIN call_journal c USING (job_id)"
    assert sql(times) == [(True,)]


def test_a_grading_call_stores_no_answer(
    db: Database, sql: Sql, reserve: Reserve, answer: Completion
) -> None:
    calls.settle(db, reserve("0.40", "grade") or 0, calls.answered(answer))
    assert sql("SELECT count(*) FROM completions") == [(0,)]
    assert sql("SELECT purpose, state FROM call_journal") == [("grade", "settled")]


def test_an_ambiguous_fault_keeps_its_reservation_as_spent(db: Database, sql: Sql, reserve: Reserve) -> None:
    calls.settle(
        db, reserve("0.40") or 0, calls.failed(ProviderFault("ambiguous", "cut off", request_id="r"))
    )
    assert sql(BUDGET) == [(usd("0"), usd("0.40"))]
    assert sql(JOURNAL) == [("unknown", usd("0.40"), usd("0.40"), "ambiguous")]
    assert sql("SELECT count(*) FROM completions") == [(0,)]


@pytest.mark.parametrize("kind", ["rate", "transient", "permanent", "fatal"])
def test_any_other_fault_costs_nothing(db: Database, sql: Sql, reserve: Reserve, kind: FaultKind) -> None:
    calls.settle(db, reserve("0.40") or 0, calls.failed(ProviderFault(kind, "a\x00b")))
    assert sql(BUDGET) == [(usd("0"), usd("0"))]
    assert sql(JOURNAL) == [("settled", usd("0.40"), usd("0"), kind)]


def test_a_call_that_fits_only_without_the_calls_in_flight_waits(reserve: Reserve) -> None:
    assert reserve("0.60")
    assert reserve("0.60", attempt=2) is None
    assert reserve("0.40", attempt=3)


def test_a_call_that_fits_exactly_is_let_through(reserve: Reserve) -> None:
    assert reserve("1.0000000000")


def test_a_call_that_would_not_fit_even_alone_reaches_the_cap(
    db: Database, reserve: Reserve, answer: Completion
) -> None:
    with pytest.raises(CapReached, match=r"\$1\.0001"):
        reserve("1.0001")
    calls.settle(db, reserve("0.50") or 0, calls.answered(replace(answer, cost_usd=usd("0.45"))))
    with pytest.raises(CapReached, match=r"the cap of the bake-off"):
        reserve("0.56")


def test_a_call_of_a_stopped_bake_off_is_put_back(db: Database, job: jobs.Job, reserve: Reserve) -> None:
    bakeoffs.move(db, job.bakeoff_id, "paused", from_states=["running"])
    with pytest.raises(PutBack, match="was stopped"):
        reserve("0.10")


@pytest.mark.parametrize("state", ["paused", "capped"])
def test_what_was_paid_for_is_still_graded_after_the_stop(
    db: Database, job: jobs.Job, reserve: Reserve, state: Any
) -> None:
    bakeoffs.move(db, job.bakeoff_id, state, from_states=["running"])
    assert reserve("0.10", "grade")


def test_a_cancelled_bake_off_is_not_even_graded(db: Database, job: jobs.Job, reserve: Reserve) -> None:
    bakeoffs.move(db, job.bakeoff_id, "cancelled", from_states=["running"])
    with pytest.raises(PutBack, match="was stopped"):
        reserve("0.10", "grade")


def test_callers_at_once_never_exceed_the_cap(
    db: Database, sql: Sql, reserve: Reserve, answer: Completion, at_once: Callable[..., list[Any]]
) -> None:
    """Each sets 9 cents aside and pays 7, again and again, until nothing more fits under the dollar."""
    over, done = [], Event()

    def watch() -> None:
        while not done.is_set():
            budget = db.row("bakeoff", bakeoff_id=1) or {}
            if budget["spent_usd"] + budget["reserved_usd"] > budget["cap_usd"]:
                over.append(budget)

    def spend() -> int:
        paid = 0
        while True:
            try:
                call_id = reserve("0.09")
            except CapReached:
                return paid
            if call_id:
                calls.settle(db, call_id, calls.answered(replace(answer, cost_usd=usd("0.07"))))
                paid += 1

    watcher = Thread(target=watch)
    watcher.start()
    paid = sum(at_once(spend, 12))
    done.set()
    watcher.join()
    assert over == []
    assert sql(BUDGET) == [(usd("0"), paid * usd("0.07"))]
    assert usd("0.91") < paid * usd("0.07") <= usd("1")


def test_the_cap_is_never_set_below_what_is_spent_and_reserved(
    db: Database, sql: Sql, job: jobs.Job, reserve: Reserve
) -> None:
    reserve("0.60")
    bakeoffs.set_cap(db, job.bakeoff_id, usd("0.10"))
    assert sql("SELECT cap_usd FROM bakeoffs") == [(usd("0.60"),)]


class Failing:
    """A judge whose first calls fail in the given ways."""

    def __init__(self, *faults: FaultKind, then: Completion) -> None:
        self.faults, self.then = list(faults), then

    async def complete(self, prompt: Prompt) -> Completion:
        if self.faults:
            raise ProviderFault(self.faults.pop(0), "not now")
        return self.then


def test_every_attempt_has_its_own_reservation_and_journal_row(
    db: Database,
    control: CallControl,
    runner: asyncio.Runner,
    sql: Sql,
    job: jobs.Job,
    judge: Callable[..., SimulatedJudge],
    answer: Completion,
) -> None:
    caller = ConnectedJudge(judge(), Failing("transient", "ambiguous", then=answer))
    said = runner.run(Meter(control, job).ask(caller, QUESTION, "answer"))
    reserved = usd("0.000084")  # 4 bytes, 64 of overhead, 16 tokens of answer
    assert sql(JOURNAL) == [
        ("settled", reserved, usd("0"), "transient"),
        ("unknown", reserved, reserved, "ambiguous"),
        ("settled", reserved, usd("0.000034"), None),
    ]
    assert sql("SELECT array_agg(attempt ORDER BY id) FROM call_journal") == [([1, 2, 3],)]
    assert (said.cost_usd, sql(BUDGET)) == (usd("0.000034"), [(usd("0"), reserved + usd("0.000034"))])


def test_an_answer_that_states_no_usage_costs_its_reservation_and_is_counted(
    db: Database,
    control: CallControl,
    runner: asyncio.Runner,
    sql: Sql,
    job: jobs.Job,
    judge: Callable[..., SimulatedJudge],
) -> None:
    caller = ConnectedJudge(judge(), Failing(then=Completion("answered", "because")))
    said = runner.run(Meter(control, job).ask(caller, QUESTION, "answer"))
    reserved = usd("0.000084")
    assert said.is_cost_assumed
    assert sql(JOURNAL) == [("settled", reserved, reserved, None)]
    assert sql(BUDGET) == [(usd("0"), reserved)]
    [total] = outcomes.evidence(db, job.bakeoff_id).calls.values()
    assert (total.assumed, total.above) == (1, 0)


def test_an_answer_that_costs_more_than_its_reservation_is_charged_as_stated_and_counted(
    db: Database,
    control: CallControl,
    runner: asyncio.Runner,
    job: jobs.Job,
    judge: Callable[..., SimulatedJudge],
) -> None:
    dear = Completion("answered", "because", stated_usd=usd("0.5"))
    caller = ConnectedJudge(judge(), Failing(then=dear))
    said = runner.run(Meter(control, job).ask(caller, QUESTION, "answer"))
    assert said.cost_usd == usd("0.5")
    [total] = outcomes.evidence(db, job.bakeoff_id).calls.values()
    assert (total.cost_usd, total.assumed, total.above) == (usd("0.5"), 0, 1)


def test_a_worker_that_stops_does_not_wait_for_room_under_the_cap(
    db: Database,
    control: CallControl,
    runner: asyncio.Runner,
    valkey: "redis.Redis",
    reserve: Reserve,
    job: jobs.Job,
    judge: Callable[..., SimulatedJudge],
    answer: Completion,
) -> None:
    async def stop(_: float) -> None:
        raise PutBack("the worker is stopping")

    assert reserve("0.99995")
    asked = ConnectedJudge(judge(), Failing(then=answer))
    control.gatekeeper.sleep = stop
    with pytest.raises(PutBack, match="stopping"):
        runner.run(Meter(control, job).ask(asked, QUESTION, "answer"))
    assert valkey.zcard(f"evalq:gate:{asked.judge.gate}:calls") == 0


def test_an_ambiguous_call_is_repeated_once_and_no_more(
    db: Database,
    control: CallControl,
    runner: asyncio.Runner,
    sql: Sql,
    job: jobs.Job,
    judge: Callable[..., SimulatedJudge],
    answer: Completion,
) -> None:
    caller = ConnectedJudge(judge(), Failing("ambiguous", "ambiguous", then=answer))
    with pytest.raises(ProviderFault, match="ambiguous"):
        runner.run(Meter(control, job).ask(caller, QUESTION, "answer"))
    assert [row[0] for row in sql(JOURNAL)] == ["unknown", "unknown"]


def test_a_daily_cap_holds_over_bake_offs_and_counts_what_was_spent_before_it(
    db: Database, sql: Sql, reserve: Reserve, answer: Completion
) -> None:
    calls.settle(db, reserve("0.40") or 0, calls.answered(replace(answer, cost_usd=usd("0.30"))))
    calls.set_daily_caps(db, {"day": usd("0.50")})
    assert sql("SELECT scope, spent_usd, reserved_usd FROM spending") == [("day", usd("0.30"), usd("0"))]
    assert reserve("0.15", attempt=2)
    assert reserve("0.10", attempt=3) is None
    with pytest.raises(CapReached, match="the cap of the day"):
        reserve("0.21", attempt=4)


def test_a_providers_cap_is_its_own(db: Database, sql: Sql, reserve: Reserve, answer: Completion) -> None:
    calls.set_daily_caps(db, {"provider:openai": usd("0.50"), "provider:xai": usd("0.01")})
    calls.settle(db, reserve("0.40") or 0, calls.answered(replace(answer, cost_usd=usd("0.35"))))
    with pytest.raises(CapReached, match="provider:openai"):
        reserve("0.20", attempt=2)
    spent = "SELECT scope, spent_usd, reserved_usd FROM spending ORDER BY scope"
    assert sql(spent)[0] == ("provider:openai", usd("0.35"), usd("0"))
    calls.set_daily_caps(db, {})
    assert reserve("0.20", attempt=3)


def test_a_margin_must_stay_free_beside_the_call(
    db: Database, job: jobs.Job, judge: Callable[..., SimulatedJudge]
) -> None:
    call = calls.Call(judge(), "answer", "key", 1, usd("0.60"), margin_usd=usd("0.50"))
    with pytest.raises(CapReached):
        calls.reserve(db, job, call)
    assert calls.reserve(db, job, replace(call, margin_usd=usd("0.40")))


def test_calls_lost_with_their_worker_count_as_spent_and_as_tried(
    db: Database, sql: Sql, job: jobs.Job, reserve: Reserve
) -> None:
    calls.set_daily_caps(db, {"day": usd("5")})
    reserve("0.40")
    sql("UPDATE jobs SET lease_until = now() - interval '1 second'")
    jobs.return_expired(db)
    again = jobs.claim(db, job.id, lease_s=60)
    assert again
    assert sql(JOURNAL) == [("unknown", usd("0.40"), usd("0.40"), "lost")]
    assert sql(BUDGET) == [(usd("0"), usd("0.40"))]
    assert sql("SELECT reserved_usd, spent_usd FROM spending") == [(usd("0"), usd("0.40"))]
    assert calls.tries_before(db, again, "key") == calls.Tries(made=1, ambiguous=1)
    assert calls.tries_before(db, again, "another") == calls.Tries()
