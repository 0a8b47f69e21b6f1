"""Two runs, or two bake-offs judge by judge: what changed, on which cases, and whether it got worse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote

from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.bakeoff.run_names import Target, find_target, run_name
from evalq.bakeoff.runs import change_between, find_runs
from evalq.errors import InputError, Problem
from evalq.records import RunRow
from evalq.reports.charts import BarRow, interval_bars
from evalq.store import bakeoff_lists, bakeoffs
from evalq.store.bakeoff_lists import BakeOffFilter
from evalq.store.database import Database
from evalq.summary.change import Change
from evalq.web.site import render, site_of

MARGIN = 0.05
LISTED_CASES = 200
MOST_JOBS = 20_000
"""Of larger bake-offs the judges are listed only: all their paired differences would take long."""

_OFFERED_BAKEOFFS = 12
_VERDICTS = {
    "regression": ("✗", "regression: B is worse than A", "bad"),
    "improvement": ("✓", "improvement: B is better than A", "good"),
    "no_regression": ("✓", "no regression: B is not worse than A by more than the margin", "good"),
    "inconclusive": ("?", "inconclusive: too few shared cases to tell", "soft"),
}


@dataclass(frozen=True)
class ComparedPair:
    """One judge in two bake-offs: the names of its runs, and what changed or why that is not known."""

    judge: str
    before: str
    after: str
    change: Change | None = None
    reason: str = "so many answers are compared one judge at a time"


def show_comparison(request: Request) -> Response:
    """The form, and below it the comparison that the address names."""
    db, asked = site_of(request).db, request.query_params
    before, after = _read_names(asked)
    pairs: Sequence[ComparedPair] = ()
    problem = None
    if before and after:
        try:
            pairs = compare_names(db, before, after)
        except InputError as exc:
            problem = str(exc)
    change = pairs[0].change if len(pairs) == 1 else None
    return render(
        request,
        "comparison_page.html",
        command=f"evalq compare {quote(before or 'A')} {quote(after or 'B')}",
        status=400 if problem else 200,
        before=before,
        after=after,
        change=change,
        pairs=pairs if change is None else (),
        verdicts=_VERDICTS,
        problem=problem,
        chart=_draw(change) if change else None,
        lists=_list_cases(change) if change else (),
        offered=_offer_runs(db, asked.getlist("bakeoff")),
        most=LISTED_CASES,
    )


def _read_names(asked: QueryParams) -> tuple[str, str]:
    """What to compare: A and B, or the two bake-offs that were ticked in the list, the older one first."""
    before, after = asked.get("a", "").strip(), asked.get("b", "").strip()
    ticked = [text for text in asked.getlist("bakeoff") if text.isascii() and text.isdecimal()]
    if not before and not after and len(ticked) == 2:
        before, after = sorted(ticked, key=lambda text: (len(text), text))
    return before, after


def compare_names(db: Database, before: str, after: str) -> list[ComparedPair]:
    """The judges that two bake-offs share, or the two runs named, each with what changed."""
    first, second = find_target(db, before), find_target(db, after)
    if first.run and second.run:
        names = _name(first, first.run), _name(second, second.run)
        return [ComparedPair(first.run.judge, *names, _compare_runs(db, *names))]
    left, right = _runs_of(db, first), _runs_of(db, second)
    shared = [judge for judge in left if judge in right]
    if not shared:
        raise InputError(Problem(f"{before} and {after} have no judge in common", "name two runs"))
    n_jobs = sum(left[judge].n_jobs + right[judge].n_jobs for judge in shared)
    pairs = []
    for judge in shared:
        pair = ComparedPair(judge, _name(first, left[judge]), _name(second, right[judge]))
        pairs.append(pair if n_jobs > MOST_JOBS and len(shared) > 1 else _compare_pair(db, pair))
    return pairs


def _compare_pair(db: Database, pair: ComparedPair) -> ComparedPair:
    """The pair with what changed; a judge that is broken in one of the two does not hide the others."""
    try:
        return replace(pair, change=_compare_runs(db, pair.before, pair.after))
    except InputError as exc:
        return replace(pair, reason=str(exc))


def _compare_runs(db: Database, before: str, after: str) -> Change:
    first, second = find_runs(db, [before, after])
    return change_between(db, first, second, margin=MARGIN)


def _runs_of(db: Database, target: Target) -> dict[str, RunRow]:
    runs = [target.run] if target.run else bakeoffs.runs(db, target.bakeoff_id)
    return {run.judge: run for run in runs}


def _name(target: Target, run: RunRow) -> str:
    return run_name(target.bakeoff_id, run.judge)


def _offer_runs(db: Database, chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Names to choose from with what they are: of the chosen bake-offs, else of the newest."""
    lines = bakeoff_lists.page(db, BakeOffFilter(state="concluded"), limit=_OFFERED_BAKEOFFS)
    if chosen:
        lines = [line for line in lines if str(line.id) in chosen] or lines
    offered = []
    for line in lines:
        about = f"{line.task_name} · {line.eval_set_name}"
        offered.append((str(line.id), about))
        offered += [(run_name(line.id, run.judge), about) for run in bakeoffs.runs(db, line.id)]
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
