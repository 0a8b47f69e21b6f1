"""Dollars against quality for a pipe: one tab-separated row per task and judge, `overall` for all tasks."""

from collections.abc import Iterator, Sequence

from evalq.portfolio_result import Offer, PortfolioResult
from evalq.reports.frontier import dollars, left_out
from evalq.reports.plain import EMPTY
from evalq.reports.text import money, one_line, to_ascii
from evalq.results import BakeOffResult

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
