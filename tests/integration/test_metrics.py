"""Figures at /metrics: what they count, who may read them, and what they say when a part is away."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from patience import PATIENCE_S
from prometheus_client.parser import text_string_to_metric_families
from served_site import served_pages

from evalq.bakeoff.publish import open_chords, pump_all
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.broker import Broker
from evalq.engines.embedded import Engines
from evalq.engines.fleet import WorkerFleet
from evalq.engines.processes import wait_until
from evalq.engines.session import Session
from evalq.reports.prometheus_text import write_metrics
from evalq.settings import Settings
from evalq.store import bakeoffs, calls
from evalq.store.database import Database
from evalq.web.metrics_page import gather
from evalq.web.site import Site

TOKEN = "a token of sixteen letters"

Found = dict[str, dict[tuple[str, ...], float]]


def read(text: str) -> Found:
    """Values by metric and the values of its labels."""
    found: Found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            found.setdefault(one.name, {})[tuple(one.labels.values())] = one.value
    return found


@pytest.fixture
def figures(db: Database, engines: Engines) -> Callable[[], Found]:
    session = Session(db, engines.broker_url, is_embedded=True, settings=Settings())
    return lambda: read(write_metrics(gather(Site(session, lambda: False))))


def scrape(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urlopen(Request(f"{url}/metrics", headers=headers), timeout=PATIENCE_S) as reply:
            return reply.status, reply.headers["content-type"]
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers["content-type"]


def test_jobs_and_queues_are_counted_before_anyone_works(
    db: Database, broker: Broker, record: Callable[..., int], figures: Callable[[], Found]
) -> None:
    bakeoff_id = str(record(3))
    assert figures()["evalq_jobs"] == {(bakeoff_id, "sim-a", "ready"): 3}
    pump_all(db, broker)
    found = figures()
    assert found["evalq_jobs"] == {(bakeoff_id, "sim-a", "queued"): 3}
    assert found["evalq_queue_messages"]["calls.simulated",] == 3
    assert found["evalq_workers"][()] == 0
    assert found["evalq_up"] == {("database",): 1, ("broker",): 1}


def test_calls_are_counted_by_judge_and_outcome(
    db: Database,
    broker: Broker,
    record: Callable[..., int],
    judge: Callable[..., SimulatedJudge],
    figures: Callable[[], Found],
    start_worker: Callable[..., WorkerFleet],
) -> None:
    bakeoff_id = record(4, [judge("sim-a"), judge("sim-b")])
    open_chords(db, broker, bakeoff_id)
    pump_all(db, broker)
    start_worker()
    assert wait_until(lambda: bakeoffs.get(db, bakeoff_id).state == "concluded", timeout_s=PATIENCE_S)
    found = figures()
    made = {("simulated", name, "answer", "answered"): 4.0 for name in ("sim-a", "sim-b")}
    assert found["evalq_calls_total"] == made
    assert found["evalq_call_latency_seconds_count"] == {("sim-a", "answer"): 4, ("sim-b", "answer"): 4}
    assert found["evalq_call_latency_seconds_bucket"]["sim-a", "answer", "+Inf"] == 4
    assert found["evalq_workers"][()] == 1
    assert "evalq_jobs" not in found  # nothing runs any more


def test_dollars_are_shown_beside_their_caps(
    db: Database, record: Callable[..., int], figures: Callable[[], Found]
) -> None:
    bakeoff_id = record(1)
    calls.set_daily_caps(db, {"day": Decimal(20), "provider:openai": Decimal("7.5")})
    found = figures()
    assert found["evalq_cap_usd"]["day",] == 20
    assert found["evalq_cap_usd"]["provider:openai",] == 7.5
    assert found["evalq_cap_usd"][f"bakeoff:{bakeoff_id}",] > 0
    assert set(found["evalq_spent_usd"].values()) == {0}
    assert (
        found["evalq_cap_usd"].keys() == found["evalq_spent_usd"].keys() == found["evalq_reserved_usd"].keys()
    )


@pytest.mark.parametrize(
    ("latency_ms", "bucket"), [(1, "0.05"), (50, "0.05"), (51, "0.1"), (300_000, "300"), (300_001, "+Inf")]
)
def test_a_latency_is_in_the_first_bucket_that_holds_it(
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    sql: Callable[..., Any],
    figures: Callable[[], Found],
    latency_ms: int,
    bucket: str,
) -> None:
    bakeoff_id = record(1)
    sql(
        "INSERT INTO call_journal (bakeoff_id, job_id, latency_ms, purpose, judge, provider, model, key,"
        " attempt, state, reserved_usd, cost_usd)"
        " VALUES (%s, %s, %s, 'answer', 'a', 'p', 'm', 'k', 1, 'settled', 1, 1)",
        *(bakeoff_id, job_ids(bakeoff_id)[0], latency_ms),
    )
    buckets = figures()["evalq_call_latency_seconds_bucket"]
    assert next(labels[2] for labels, n in buckets.items() if n) == bucket


def test_a_scraper_needs_the_token_where_there_is_one(db: Database, engines: Engines) -> None:
    with served_pages(db, TOKEN, broker_url=engines.broker_url) as url:
        assert scrape(url)[0] == 401
        assert scrape(url, Authorization="Bearer wrong")[0] == 401
        assert scrape(url, Authorization=f"Basic {TOKEN}")[0] == 401
        assert scrape(url, Authorization=f"Bearer {TOKEN}") == (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
        )


def test_without_a_token_anyone_on_the_machine_may_read_it(db: Database, engines: Engines) -> None:
    with served_pages(db, broker_url=engines.broker_url) as url:
        assert scrape(url)[0] == 200
        assert scrape(url, Authorization="Bearer ")[0] == 200


def test_a_broker_that_is_away_is_a_figure_and_no_error(db: Database) -> None:
    session = Session(db, "redis://127.0.0.1:1/0", is_embedded=False, settings=Settings())
    found = read(write_metrics(gather(Site(session, lambda: False))))
    assert found["evalq_up"] == {("database",): 1, ("broker",): 0}
    assert "evalq_workers" not in found
