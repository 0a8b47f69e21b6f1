"""The page of one bake-off: its answer, its leaderboard with charts, and its cases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from evalq.bakeoff.holdout import refuse_cases
from evalq.errors import Refused
from evalq.reports.charts import (
    BarRow,
    LatencyRow,
    frontier_chart,
    interval_bars,
    kappa_heatmap,
    latency_chart,
    strata_heatmap,
)
from evalq.results import BakeOffResult, Comparison
from evalq.store import bakeoffs, case_details
from evalq.summary.decision import decide
from evalq.summary.frontier import frontier
from evalq.web.bakeoff_view import BakeOffView, eta_s, interim_rate, open_view, projected_usd
from evalq.web.case_list import CasePage, read_cursor, read_page, read_show
from evalq.web.site import number_in_path, render, render_part, site_of

PART_HEADER = "x-evalq-part"
"""Sent by the script that turns pages: only the list of cases is wanted."""

FILTERS = (
    ("all", "All"),
    ("disagree", "Judges disagree"),
    ("any_fail", "Any fail"),
    ("all_fail", "All fail"),
    ("errors", "Errors"),
)
SIGNS = {
    "p": ("✓", "passed"),
    "f": ("✗", "failed"),
    "m": ("±", "samples differ"),
    "e": ("!", "not graded"),
    "w": ("?", "waits for review"),
}
_FLAGS = {"disagree": " --disagreements", "any_fail": " --show-failures", "all_fail": " --show-failures"}
_FLAGS["errors"] = " --show-failures"


@dataclass(frozen=True)
class CaseList:
    """What the list of cases is drawn from; `withheld` says why a holdout's cases are not shown."""

    page: CasePage | None
    previews: Mapping[str, str]
    withheld: str | None = None


def show_run(request: Request) -> Response:
    """A bake-off; with the script's header only its list of cases."""
    view = open_view(site_of(request), number_in_path(request, "bakeoff"))
    cases = read_cases(request, view)
    command = f"evalq inspect {view.id}{_FLAGS.get(read_show(request), '')}"
    values: dict[str, Any] = {
        "view": view,
        "judges": judges_in_order(view),
        "cases": cases,
        "filters": filters_of(view),
        "signs": SIGNS,
        "command": command,
    }
    if request.headers.get(PART_HEADER) == "cases":
        return HTMLResponse(render_part("parts/case_list.html", **values))
    result = view.result
    return render(
        request,
        "run_page.html",
        **values,
        result=result,
        decision=decide(result) if result else None,
        leads=paired_leads(result) if result else {},
        charts=draw_charts(result) if result else {},
        about=bakeoffs.provenance(view.site.db, view.id),
        errors=case_details.first_errors(view.site.db, view.id),
        **live_values(view),
    )


def live_values(view: BakeOffView) -> dict[str, Any]:
    """What changes while a bake-off is on its way; nothing for one that is concluded."""
    if view.is_final:
        return {"progress": None, "eta_s": None, "projected_usd": None, "interim_rate": interim_rate}
    return {
        "progress": view.progress,
        "eta_s": eta_s(view.progress),
        "projected_usd": projected_usd(view.progress),
        "interim_rate": interim_rate,
    }


def read_cases(request: Request, view: BakeOffView) -> CaseList:
    """The page of cases that the address asks for, unless the cases are withheld."""
    try:
        refuse_cases(view.site.db, view.id)
    except Refused as exc:
        return CaseList(None, {}, str(exc))
    page = read_page(
        view, read_show(request), after=read_cursor(request, "after"), before=read_cursor(request, "before")
    )
    ids = [row.case_id for row in page.rows]
    return CaseList(page, case_details.previews(view.site.db, view.id, ids))


def filters_of(view: BakeOffView) -> list[tuple[str, str]]:
    """The filters by name with their words; what flipped needs a bake-off to compare with."""
    flipped = "Flipped" if view.previous is None else f"Flipped vs {view.previous}"
    return [*FILTERS, ("flipped", flipped)]


def judges_in_order(view: BakeOffView) -> list[tuple[int, str]]:
    """The runs with their judges: by rank where there are numbers, else as they were named."""
    names = {run.id: run.judge for run in view.runs}
    ranked = [run.run_id for run in view.result.runs] if view.result else []
    return [(run_id, names[run_id]) for run_id in [*ranked, *(one for one in names if one not in ranked)]]


def paired_leads(result: BakeOffResult) -> dict[str, Comparison]:
    """Each judge's paired difference to the first one, as judge minus leader."""
    ranked = [run.judge for run in result.runs if run.excluded is None]
    leads: dict[str, Comparison] = {}
    for pair in result.comparisons:
        if not ranked or not pair.n:
            continue
        if pair.b == ranked[0]:
            leads[pair.a] = pair
        elif pair.a == ranked[0]:
            turned = (-pair.diff, -pair.ci_high, -pair.ci_low, pair.p, pair.p_holm, pair.separable)
            leads[pair.b] = Comparison(
                pair.b, pair.a, pair.n, *turned, pair.b_only, pair.a_only, pair.cases_needed, pair.method
            )
    return leads


def draw_charts(result: BakeOffResult) -> dict[str, Markup]:
    """The charts of a bake-off, by name; their module escapes every name in them."""
    runs = result.runs
    bars = [
        BarRow(run.judge, run.accuracy, run.ci_low, run.ci_high, run.n_graded, run.excluded) for run in runs
    ]
    offers = frontier([result]).per_task.get(result.task, ())
    p95_ms = {run.judge: run.p95_latency_ms for run in runs}
    drawn = {
        "bars": interval_bars(bars),
        "kappa": kappa_heatmap(result.kappa),
        "frontier": frontier_chart(offers, p95_ms),
        "strata": strata_heatmap(runs),
        "latency": latency_chart(
            [LatencyRow(run.judge, run.p50_latency_ms, run.p95_latency_ms) for run in runs]
        ),
    }
    return _mark_safe(drawn)


def _mark_safe(drawn: Mapping[str, str]) -> dict[str, Markup]:
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704 - SVG of our own, names escaped


ROUTES = [Route("/runs/{bakeoff}", show_run)]
