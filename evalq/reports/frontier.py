"""The frontier of dollars and quality, on the terminal and as tab-separated rows."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evalq.definitions.money import money
from evalq.reports.plain import EMPTY, tab_separated
from evalq.reports.text import (
    GOOD,
    PROBLEM,
    QUIET,
    Canvas,
    Column,
    first_fitting,
    lay_out,
    percent,
    span,
    to_ascii,
)
from evalq.results import BakeOffResult, LeftOut, Offer, PortfolioResult

GAP = 2
OVERALL = "overall"
COLUMNS = (
    "task",
    "judge",
    "pass_pct",
    "ci_low",
    "ci_high",
    "usd_per_case",
    "n",
    "on_frontier",
    "dominated_by",
    "not_separable_from",
)
LEGEND = "● on the frontier: no other judge is as cheap and as good   = not separable from a cheaper one"


def render_frontier(result: PortfolioResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """A table for each task and one over all, cheapest judge first; then the judges left out, the dollars."""
    canvas = Canvas(width, ascii_only)
    parts: list[RenderableType] = []
    for title, offers in sections(result):
        parts += [*_render_section(title, offers, canvas), Text()]
    parts.append(canvas.text(LEGEND, QUIET))
    parts += [canvas.text(f"! {describe_left_out(each)}", PROBLEM) for each in result.frontier.excluded]
    parts += [canvas.text(f"! {warning}", PROBLEM) for warning in result.warnings]
    parts.append(canvas.text(f"$ {describe_cost(result)}"))
    return Group(*parts)


def sections(result: PortfolioResult) -> Iterator[tuple[str, Sequence[Offer]]]:
    """Headings with their offers: every task, then the mean over tasks if there are several."""
    for bakeoff in result.bakeoffs:
        yield f"frontier  {bakeoff.task} · {bakeoff.eval_set}", result.frontier.per_task[bakeoff.task]
    if len(result.bakeoffs) > 1:
        tasks = f"mean of {len(result.bakeoffs)} tasks, each weighing the same"
        yield f"frontier  overall · {tasks}", result.frontier.overall


def describe_rival(offer: Offer) -> str:
    """The judge that is as good for less, or a cheaper one that cannot be told apart; "" without one."""
    if offer.dominated_by:
        return f"no better than {offer.dominated_by}, and no cheaper"
    if offer.not_separable_from:
        return f"cannot be told from {offer.not_separable_from[0]}, which is cheaper"
    return ""


def describe_left_out(excluded: LeftOut) -> str:
    """A judge without a place, and why."""
    return f"{excluded.judge} left out on {excluded.task}: {excluded.reason}"


def describe_cost(result: PortfolioResult) -> str:
    """What all of it cost, and the cap."""
    cap = "spent" if result.cap_usd is None else f"of {money(result.cap_usd)} cap"
    return f"{money(result.spent_usd)} {cap}"


def _mark(offer: Offer) -> str:
    return ("●" if offer.on_frontier else "·") + ("=" if offer.not_separable_from else "")


def _render_section(title: str, offers: Sequence[Offer], canvas: Canvas) -> Iterator[RenderableType]:
    yield canvas.text(title, "bold")
    if not offers:
        yield canvas.text("no judge has a rate and a price here", PROBLEM)
        return
    narrow = [
        _column("", _mark, offers, canvas),
        _column("judge", lambda each: each.judge, offers, canvas, flexible=True),
        _column("pass", lambda each: percent(each.accuracy, each.n), offers, canvas, right=True),
        _column("95% CI", lambda each: span(each.ci_low, each.ci_high, each.n), offers, canvas),
        _column("$/case", lambda each: money(each.usd_per_case, places=4), offers, canvas, right=True),
        _column("n", lambda each: str(each.n), offers, canvas, right=True),
    ]
    wide = [*narrow, _column("", describe_rival, offers, canvas)]
    yield lay_out(first_fitting([wide, narrow], canvas, gap=GAP), canvas, gap=GAP)


def _column(
    title: str,
    show: Callable[[Offer], str],
    offers: Sequence[Offer],
    canvas: Canvas,
    *,
    right: bool = False,
    flexible: bool = False,
) -> Column:
    cells = tuple(canvas.cell(show(each), GOOD if each.on_frontier else "") for each in offers)
    return Column(canvas.text(title), cells, right=right, flexible=flexible)


def plain_heading(result: BakeOffResult) -> str:
    """The comment above a task's own table: its bake-off, task and evalset."""
    return tab_separated(["# bake-off", str(result.id), result.task, result.eval_set])


def render_plain_frontier(result: PortfolioResult) -> str:
    """The offers for cut, awk and sort; shares in percent, `-` where there is nothing to say."""
    tables = dict(result.frontier.per_task)
    if len(tables) > 1:
        tables[OVERALL] = result.frontier.overall
    rows: list[Sequence[str]] = [COLUMNS]
    for task, offers in tables.items():
        rows += [_row(task, offer) for offer in offers]
    rows += [("# excluded", describe_left_out(each)) for each in result.frontier.excluded]
    rows += [("# warning", to_ascii(warning)) for warning in result.warnings]
    rows.append(("# cost", describe_cost(result)))
    return "\n".join(map(tab_separated, rows))


def _row(task: str, offer: Offer) -> Sequence[str]:
    shares = [f"{share * 100:.1f}" for share in (offer.accuracy, offer.ci_low, offer.ci_high)]
    return [
        task,
        offer.judge,
        *shares,
        money(offer.usd_per_case, places=4),
        str(offer.n),
        "yes" if offer.on_frontier else "no",
        offer.dominated_by or EMPTY,
        ",".join(offer.not_separable_from) or EMPTY,
    ]
