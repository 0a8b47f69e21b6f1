"""Figures for Prometheus at /metrics: jobs, calls, dollars, gates, queues and workers."""

import secrets
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import cast

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from evalq.errors import Unreachable
from evalq.reports.prometheus_text import CONTENT_TYPE, Histogram, Metric, write_metrics
from evalq.store import metrics
from evalq.store.database import Database
from evalq.web.fleet_page import FleetView, read_fleet
from evalq.web.security import AccessPolicy
from evalq.web.site import Site, site_of, visitor_of

_AGE_S = 5.0
_BOUNDS_MS = (50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000)


def show_metrics(request: Request) -> Response:
    """The figures, a few seconds old at most; a scraper brings the token as `Authorization: Bearer`."""
    if not (visitor_of(request).is_owner or _brings_bearer(request)):
        needed = {"www-authenticate": "Bearer"}
        return PlainTextResponse("bring EVALQ_WEB_TOKEN as Authorization: Bearer …\n", 401, needed)
    site = site_of(request)
    text = site.cache.get("metrics", lambda: write_metrics(gather(site)), age_s=_AGE_S)
    return Response(text, media_type=CONTENT_TYPE)


def _brings_bearer(request: Request) -> bool:
    token = cast("AccessPolicy", request.app.state.policy).token
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    is_same = secrets.compare_digest(sent.strip().encode(), (token or "").encode())
    return token is not None and scheme.lower() == "bearer" and is_same


def gather(site: Site) -> Iterator[Metric]:
    """Every figure; of a part that is away only that it is away."""
    up = Metric("evalq_up", "gauge", "Whether the database and the broker answer: 1 or 0.")
    try:
        found = [*_measure_jobs(site.db), *_measure_calls(site.db), *_measure_dollars(site.db)]
        up.add(1, part="database")
    except Unreachable:
        found = []
        up.add(0, part="database")
    fleet = read_fleet(site)
    up.add(0 if fleet.problem else 1, part="broker")
    yield up
    yield from found
    if not fleet.problem:
        yield from _measure_fleet(fleet)


def _measure_jobs(db: Database) -> Iterator[Metric]:
    jobs = Metric("evalq_jobs", "gauge", "Jobs of running bake-offs by state; those that ended by verdict.")
    for count in metrics.count_jobs(db):
        jobs.add(count.n, bakeoff=str(count.bakeoff_id), judge=count.judge, state=count.state)
    yield jobs


def _measure_calls(db: Database) -> Iterator[Metric]:
    """Counters of the day: they start from zero at midnight UTC, as if the process had been restarted."""
    made = Metric("evalq_calls_total", "counter", "Calls of the day (UTC) that ended, by outcome.")
    spent = Metric("evalq_call_cost_usd_total", "counter", "Dollars of the calls of the day (UTC).")
    dollars: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    for count in metrics.count_calls(db):
        whose = {"provider": count.provider, "judge": count.judge, "purpose": count.purpose}
        made.add(count.n, **whose, outcome=count.outcome)
        dollars[count.provider, count.judge, count.purpose] += count.cost_usd
    for (provider, judge, purpose), usd in dollars.items():
        spent.add(usd, provider=provider, judge=judge, purpose=purpose)
    yield from (made, spent, _measure_latencies(db))


def _measure_latencies(db: Database) -> Metric:
    latency = Metric(
        "evalq_call_latency_seconds", "histogram", "Latency of the answered calls of the day (UTC)."
    )
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS_MS) + 1))
    totals: dict[tuple[str, str], float] = defaultdict(float)
    for count in metrics.count_latencies(db, _BOUNDS_MS):
        counts[count.judge, count.purpose][count.bucket] += count.n
        totals[count.judge, count.purpose] += count.total_s
    bounds_s = [bound / 1000 for bound in _BOUNDS_MS]
    for (judge, purpose), buckets in counts.items():
        values = Histogram(bounds_s, buckets, total=totals[judge, purpose])
        latency.add_histogram(values, judge=judge, purpose=purpose)
    return latency


def _measure_dollars(db: Database) -> Iterator[Metric]:
    cap = Metric("evalq_cap_usd", "gauge", "The caps of running bake-offs and of the day.")
    spent = Metric("evalq_spent_usd", "gauge", "Dollars spent under each cap.")
    reserved = Metric("evalq_reserved_usd", "gauge", "Dollars set aside for calls in flight under each cap.")
    for one in metrics.bakeoff_spending(db):
        scope = f"bakeoff:{one.bakeoff_id}"
        cap.add(one.cap_usd, scope=scope)
        spent.add(one.spent_usd, scope=scope)
        reserved.add(one.reserved_usd, scope=scope)
    for day in metrics.daily_spending(db):
        cap.add(day.cap_usd, scope=day.scope)
        spent.add(day.spent_usd, scope=day.scope)
        reserved.add(day.reserved_usd, scope=day.scope)
    yield from (cap, spent, reserved)


def _measure_fleet(fleet: FleetView) -> Iterator[Metric]:
    workers = Metric("evalq_workers", "gauge", "Workers that answer.")
    workers.add(len(fleet.workers))
    depth = Metric("evalq_queue_messages", "gauge", "Messages that wait in each queue.")
    for name, length in fleet.queues:
        depth.add(length, queue=name)
    waiting = Metric("evalq_gate_waiting", "gauge", "Callers that wait for a permit of the limiter.")
    in_flight = Metric("evalq_gate_in_flight", "gauge", "Calls in flight at each gate.")
    rate = Metric("evalq_gate_requests_per_minute", "gauge", "Permits given in the last minute.")
    closed = Metric(
        "evalq_gate_closed", "gauge", "Whether a gate is closed: a 429 was met, or its breaker is open."
    )
    for gate in fleet.gates:
        waiting.add(gate.waiting, gate=gate.name)
        in_flight.add(gate.in_flight, gate=gate.name)
        rate.add(round(gate.used_rpm, 1), gate=gate.name)
        closed.add(1 if gate.closed_until or gate.breaker_open_until else 0, gate=gate.name)
    yield from (workers, depth, waiting, in_flight, rate, closed)


ROUTES = [Route("/metrics", show_metrics)]

OPEN_PATHS = ("/metrics",)
"""A scraper has no session: this page checks the token by itself."""
