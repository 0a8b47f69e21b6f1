"""Dollars against quality on the terminal: the judges nobody beats at their price, per task and overall."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evalq.reports.plain import EMPTY
from evalq.reports.text import (
    GOOD,
    PROBLEM,
    QUIET,
    Canvas,
    Column,
    first_fitting,
    lay_out,
    money,
    one_line,
    percent,
    span,
    to_ascii,
)
from evalq.results import BakeOffResult, LeftOut, Offer, PortfolioResult

GAP = 2
LEGEND = "● on the frontier: no other judge is as cheap and as good   = not separable from a cheaper one"


def render_frontier(result: PortfolioResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """A table for each task and one over all, cheapest judge first; then the judges left out, the dollars."""
    canvas = Canvas(width, ascii_only)
    tables = [
        part for title, offers in sections(result) for part in (*_section(title, offers, canvas), Text())
    ]
    return Group(*tables, *_closing(result, canvas))


def sections(result: PortfolioResult) -> Iterator[tuple[str, Sequence[Offer]]]:
    """Headings with their offers: every task, then all, if they are more than one."""
    for bakeoff in result.bakeoffs:
        yield f"frontier  {bakeoff.task} · {bakeoff.eval_set}", result.frontier.per_task[bakeoff.task]
    if len(result.bakeoffs) > 1:
        tasks = f"mean of {len(result.bakeoffs)} tasks, each weighing the same"
        yield f"frontier  overall · {tasks}", result.frontier.overall


def remark(offer: Offer) -> str:
    """Who is as good for less, or who cannot be told from it for less."""
    if offer.dominated_by:
        return f"no better than {offer.dominated_by}, and no cheaper"
    if offer.not_separable_from:
        return f"cannot be told from {offer.not_separable_from[0]}, which is cheaper"
    return ""


def left_out(excluded: LeftOut) -> str:
    """A judge without a place, and why."""
    return f"{excluded.judge} left out on {excluded.task}: {excluded.reason}"


def dollars(result: PortfolioResult) -> str:
    """What all of it cost, and under which cap."""
    cap = "spent" if result.cap_usd is None else f"of {money(result.cap_usd)} cap"
    return f"{money(result.spent_usd)} {cap}"


def _mark(offer: Offer) -> str:
    return ("●" if offer.on_frontier else "·") + ("=" if offer.not_separable_from else "")


def _section(title: str, offers: Sequence[Offer], canvas: Canvas) -> Iterator[RenderableType]:
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
    wide = [*narrow, _column("", remark, offers, canvas)]
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


def _closing(result: PortfolioResult, canvas: Canvas) -> Iterator[RenderableType]:
    yield canvas.text(LEGEND, QUIET)
    yield from (canvas.text(f"! {left_out(each)}", PROBLEM) for each in result.frontier.excluded)
    yield from (canvas.text(f"! {warning}", PROBLEM) for warning in result.warnings)
    yield canvas.text(f"$ {dollars(result)}")


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


def plain_heading(result: BakeOffResult) -> str:
    """A commented line above a task's own table: whose it is."""
    return _joined(["# bake-off", str(result.id), result.task, result.eval_set])


def render_plain_frontier(result: PortfolioResult) -> str:
    """The offers for cut, awk and sort; shares in percent, `-` where there is nothing to say."""
    named = [(task, offers) for task, offers in result.frontier.per_task.items()]
    if len(named) > 1:
        named.append((OVERALL, result.frontier.overall))
    rows = [_row(task, offer) for task, offers in named for offer in offers]
    return "\n".join(_joined(fields) for fields in [COLUMNS, *rows, *_remarks(result)])


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


def _remarks(result: PortfolioResult) -> Iterator[Sequence[str]]:
    yield from (("# excluded", left_out(each)) for each in result.frontier.excluded)
    yield from (("# warning", to_ascii(warning)) for warning in result.warnings)
    yield ("# cost", dollars(result))


def _joined(fields: Sequence[str]) -> str:
    return "\t".join(one_line(field) for field in fields)
