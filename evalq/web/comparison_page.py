"""Two runs beside each other: what changed, on which cases, and whether it got worse."""

from collections.abc import Sequence
from shlex import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.bakeoff.runs import change_between, find_runs
from evalq.errors import InputError
from evalq.reports.charts import BarRow, interval_bars
from evalq.store import bakeoff_lists, bakeoffs
from evalq.store.bakeoff_lists import BakeOffFilter
from evalq.store.database import Database
from evalq.summary.change import Change
from evalq.web.site import render, site_of

MARGIN = 0.05
LISTED_CASES = 200

_OFFERED_BAKEOFFS = 12
_VERDICTS = {
    "regression": ("✗", "regression: B is worse than A", "bad"),
    "improvement": ("✓", "improvement: B is better than A", "good"),
    "no_regression": ("✓", "no regression: B is not worse than A by more than the margin", "good"),
    "inconclusive": ("?", "inconclusive: too few shared cases to tell", "quiet"),
}


def show_comparison(request: Request) -> Response:
    """The form, and below it the comparison of the two runs that the address names."""
    db, asked = site_of(request).db, request.query_params
    before, after = asked.get("a", "").strip(), asked.get("b", "").strip()
    change, problem = None, None
    if before and after:
        try:
            first, second = find_runs(db, [before, after])
            change = change_between(db, first, second, margin=MARGIN)
        except InputError as exc:
            problem = str(exc)
    return render(
        request,
        "comparison_page.html",
        command=f"evalq compare {quote(before or 'RUN_A')} {quote(after or 'RUN_B')}",
        status=400 if problem else 200,
        before=before,
        after=after,
        change=change,
        verdict=_VERDICTS[change.verdict] if change else None,
        problem=problem,
        chart=_draw(change) if change else None,
        lists=_list_cases(change) if change else (),
        offered=_offer_runs(db, asked.getlist("bakeoff")),
        most=LISTED_CASES,
    )


def _offer_runs(db: Database, chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Names of runs to choose from with what they are: of the chosen bake-offs, else of the newest."""
    lines = bakeoff_lists.page(db, BakeOffFilter(state="concluded"), limit=_OFFERED_BAKEOFFS)
    if chosen:
        lines = [line for line in lines if str(line.id) in chosen] or lines
    offered = []
    for line in lines:
        about = f"{line.task_name} · {line.eval_set_name}"
        offered += [(f"{line.id}:{run.judge}", about) for run in bakeoffs.runs(db, line.id)]
    return offered


def _draw(change: Change) -> Markup:
    rows = []
    for label, side in (("A", change.a), ("B", change.b)):
        run = side.result
        rows.append(
            BarRow(f"{label} {run.judge}", run.accuracy, run.ci_low, run.ci_high, run.n_graded, run.excluded)
        )
    return Markup(interval_bars(rows))  # noqa: S704 - SVG of our own, names escaped


def _list_cases(change: Change) -> list[tuple[str, str, Sequence[str], int]]:
    """A sign, a title, the cases, and the bake-off whose page shows them."""
    return [
        ("✗", "Lost: better in A", change.a_only, change.b.bakeoff_id),
        ("✓", "Gained: better in B", change.b_only, change.b.bakeoff_id),
        ("!", "Not graded in one of the two", change.not_graded, change.b.bakeoff_id),
        ("–", "Same id but other content, not compared", change.changed, change.b.bakeoff_id),
    ]


ROUTES = [Route("/compare", show_comparison)]
