"""The ranking table: one unwrapped row per judge, with as many columns as the terminal has room for."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group

from evalq.reports.bars import interval_bar
from evalq.reports.canvas import GOOD, PROBLEM, Canvas, Column, first_fitting, lay_out, total_width
from evalq.reports.standing import Lead, Standing, standings
from evalq.reports.text import NOTHING, latency, money, percent, points, span
from evalq.results import BakeOffResult, RunResult

P_FROM, BAR_FROM, P95_FROM = 112, 100, 80
NARROWEST_BAR, WIDEST_BAR = 10, 24


class Ranking:
    """The columns of a bake-off's runs, and the choice among them for a width."""

    def __init__(self, result: BakeOffResult, canvas: Canvas) -> None:
        self._canvas = canvas
        self._gap = 3 if canvas.width >= BAR_FROM else 2
        self._cost_title = "$/case" if result.samples == 1 else "$/answer"
        self._standings = standings(result)
        self.reason_room = 0
        self._columns = first_fitting(self._layouts(), canvas, gap=self._gap)

    def draw(self) -> Group:
        """The table."""
        return lay_out(self._columns, self._canvas, gap=self._gap)

    def _layouts(self) -> Iterator[Sequence[Column]]:
        """Richest first. What a reader misses least goes first; the interval's numbers and n never go."""
        head = [self._rank(), self._judge(), self._pass()]
        numbers, short_lead, cost, n = self._numbers(), self._lead("Δ pp vs #1", ""), self._cost(), self._n()
        lead = self._lead("Δ vs #1 (paired)", " pp")
        full = [lead, cost, self._p95(), n]
        if self._canvas.width >= P_FROM:
            yield from self._with_bar(head, [lead, self._p(), *full[1:]])
        if self._canvas.width >= BAR_FROM:
            yield from self._with_bar(head, full)
        if self._canvas.width >= P95_FROM:
            yield [*head, numbers, *full]
            yield [*head, numbers, short_lead, cost, self._p95(), n]
        yield [*head, numbers, short_lead, cost, n]
        yield [*head, numbers, short_lead, n]
        yield [*head, numbers, n]

    def _with_bar(self, head: list[Column], tail: list[Column]) -> Iterator[Sequence[Column]]:
        """The layout with the interval drawn as wide as there is room, and a reason in the same room."""
        spans = max((len(_span(each)) for each in self._standings), default=0)
        bar = min(
            self._canvas.width - total_width([*head, *tail], self._gap) - self._gap - spans - 1, WIDEST_BAR
        )
        if bar >= NARROWEST_BAR:
            self.reason_room = bar + 1 + spans
            yield [*head, self._bars(bar), *tail]

    def _rank(self) -> Column:
        return self._column("#", lambda each: str(each.rank or NOTHING))

    def _judge(self) -> Column:
        names = tuple(self._canvas.cell(each.run.judge, _style(each)) for each in self._standings)
        return Column(self._canvas.text("judge"), names, flexible=True)

    def _pass(self) -> Column:
        return self._column("pass", _pass_text, right=True)

    def _numbers(self) -> Column:
        return self._column("95% CI", _span)

    def _bars(self, width: int) -> Column:
        cells = tuple(
            self._canvas.cell(
                _bar(each, width), PROBLEM if each.run.excluded else GOOD, width=self.reason_room
            )
            for each in self._standings
        )
        return Column(self._canvas.text("95% CI"), cells)

    def _lead(self, title: str, unit: str) -> Column:
        return self._column(title, lambda each: _lead_text(each, unit))

    def _p(self) -> Column:
        return self._column("p (Holm)", _p_text, right=True)

    def _cost(self) -> Column:
        return self._column(self._cost_title, lambda each: cost_per_answer(each.run), right=True)

    def _p95(self) -> Column:
        return self._column("p95", lambda each: latency(each.run.p95_latency_ms), right=True)

    def _n(self) -> Column:
        return self._column("n", lambda each: str(each.run.n_graded), right=True)

    def _column(self, title: str, show: Callable[[Standing], str], *, right: bool = False) -> Column:
        cells = tuple(self._canvas.cell(show(each), _style(each)) for each in self._standings)
        return Column(self._canvas.text(title), cells, right=right)


def cost_per_answer(run: RunResult) -> str:
    """Dollars for each job that ended, grading included, with four decimals."""
    return money(run.total_cost_usd / run.n_ended, places=4) if run.n_ended else NOTHING


def _style(each: Standing) -> str:
    return PROBLEM if each.run.excluded else "bold" if each.rank == 1 else ""


def _pass_text(each: Standing) -> str:
    return percent(None if each.run.excluded else each.run.accuracy, each.run.n_graded)


def _span(each: Standing) -> str:
    return NOTHING if each.run.excluded else span(each.run.ci_low, each.run.ci_high, each.run.n_graded)


def _bar(each: Standing, width: int) -> str:
    run = each.run
    if run.excluded:
        return run.excluded
    if run.accuracy is None or run.ci_low is None or run.ci_high is None:
        return NOTHING
    return f"{interval_bar(run.ci_low, run.accuracy, run.ci_high, width)} {_span(each)}"


def _lead_text(each: Standing, unit: str) -> str:
    if each.run.excluded:
        return "excluded"
    if each.rank == 1:
        return "—"
    return _interval_text(each.lead, each.run, unit) if each.lead and each.lead.n else NOTHING


def _interval_text(lead: Lead, run: RunResult, unit: str) -> str:
    """−7 pp [−17, +4]; with the number of cases both have a verdict for where it is not the judge's n."""
    diff, low, high = (points(number, lead.n) for number in (lead.diff, lead.low, lead.high))
    shared = "" if lead.n == run.n_graded else f" n={lead.n}"
    return f"{diff}{unit} [{low}, {high}]{shared}"


def _p_text(each: Standing) -> str:
    if each.lead is None or not each.lead.n:
        return NOTHING
    return "<0.001" if each.lead.p_holm < 0.001 else f"{each.lead.p_holm:.3f}"
