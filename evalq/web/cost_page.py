"""What was spent: by judge and purpose, and by day, real dollars apart from simulated ones."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.store import calls
from evalq.store.calls import DayCost
from evalq.web.site import render, site_of

AGES = {"1d": 1, "7d": 7, "30d": 30, "90d": 90, "365d": 365}
SIMULATED = "simulated"


@dataclass(frozen=True)
class JudgeCostLine:
    """The calls of one judge for one purpose."""

    provider: str
    judge: str
    purpose: str
    calls: int
    unknown: int
    cost_usd: Decimal


@dataclass(frozen=True)
class CostTable:
    """Dollars by judge and by day; `unknown` calls may have been billed, so their worst case is in it."""

    lines: Sequence[JudgeCostLine]
    days: Sequence[tuple[date, Decimal]]
    total_usd: Decimal
    unknown: int


def show_costs(request: Request) -> Response:
    """The spending of a window, judging and grading apart."""
    since = request.query_params.get("since", "30d")
    if since not in AGES:
        raise HTTPException(400, f"since is one of {', '.join(AGES)}")
    rows = calls.costs_since(site_of(request).db, datetime.now(UTC) - timedelta(days=AGES[since]))
    return render(
        request,
        "cost_page.html",
        command=f"evalq cost --since {since}",
        since=since,
        ages=list(AGES),
        paid=make_table([row for row in rows if row.provider != SIMULATED]),
        simulated=make_table([row for row in rows if row.provider == SIMULATED]),
    )


def make_table(rows: Sequence[DayCost]) -> CostTable:
    """The rows summed over days, dearest first, and over judges, newest first."""
    by_judge: defaultdict[tuple[str, str, str], list[DayCost]] = defaultdict(list)
    by_day: defaultdict[date, Decimal] = defaultdict(Decimal)
    for row in rows:
        by_judge[row.provider, row.judge, row.purpose].append(row)
        by_day[row.day] += row.cost_usd
    lines = []
    for names, some in by_judge.items():
        cost = sum((row.cost_usd for row in some), Decimal(0))
        n_calls, unknown = sum(row.calls for row in some), sum(row.unknown for row in some)
        lines.append(JudgeCostLine(*names, n_calls, unknown, cost))
    return CostTable(
        sorted(lines, key=lambda line: (-line.cost_usd, line.judge, line.purpose)),
        sorted(by_day.items(), reverse=True),
        sum(by_day.values(), Decimal(0)),
        sum(row.unknown for row in rows),
    )


ROUTES = [Route("/cost", show_costs)]
