"""The ranking table and the table of strata, with as many columns as the terminal has room for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from evalq.definitions.money import money
from evalq.reports.text import (
    GOOD,
    NOTHING,
    PROBLEM,
    QUIET,
    Canvas,
    Column,
    first_fitting,
    interval_bar,
    latency,
    lay_out,
    percent,
    points,
    span,
    total_width,
)
from evalq.results import FEW_CASES, BakeOffResult, Comparison, Rate, RunResult

P_FROM, BAR_FROM, P95_FROM = 112, 100, 80
NARROWEST_BAR, WIDEST_BAR = 10, 24
STRATA_GAP = 2


@dataclass(frozen=True)
class Lead:
    """A judge minus the first judge, on the cases with a verdict of both."""

    diff: float
    low: float
    high: float
    n: int
    separable: bool
    p_holm: float = 1.0
    cases_needed: int | None = None


@dataclass(frozen=True)
class RankedRun:
    """A run with its rank and lead; no rank without a verdict, no lead for the first or an unmatched pair."""

    rank: int | None
    run: RunResult
    lead: Lead | None

    @property
    def is_tied(self) -> bool:
        """True when the paired test cannot separate it from the first."""
        return self.lead is not None and not self.lead.separable


def ranked_runs(result: BakeOffResult) -> tuple[RankedRun, ...]:
    """Every run in the result's order: ranked ones first, excluded ones last."""
    first: str | None = None
    rank = 0
    runs = []
    for run in result.runs:
        if run.excluded is not None or run.accuracy is None:
            runs.append(RankedRun(None, run, None))
            continue
        rank += 1
        first = first or run.judge
        runs.append(RankedRun(rank, run, _lead_over(first, run.judge, result.comparisons)))
    return tuple(runs)


def _lead_over(first: str, judge: str, comparisons: Sequence[Comparison]) -> Lead | None:
    """The judge minus the first, whichever order their pair is stored in; None without a pair."""
    for pair in comparisons:
        tested = (pair.n, pair.separable, pair.p_holm, pair.cases_needed)
        if (pair.a, pair.b) == (judge, first):
            return Lead(pair.diff, pair.ci_low, pair.ci_high, *tested)
        if (pair.a, pair.b) == (first, judge):
            return Lead(-pair.diff, -pair.ci_high, -pair.ci_low, *tested)
    return None


class Ranking:
    """The columns of a bake-off's runs, and the choice among them for a width."""

    def __init__(self, result: BakeOffResult, canvas: Canvas) -> None:
        self._canvas = canvas
        self._gap = 3 if canvas.width >= BAR_FROM else 2
        self._cost_title = "$/case" if result.samples == 1 else "$/answer"
        self._runs = ranked_runs(result)
        self.reason_room = 0
        self._columns = first_fitting(self._layouts(), canvas, gap=self._gap)

    def draw(self) -> Group:
        """The table."""
        return lay_out(self._columns, self._canvas, gap=self._gap)

    def _layouts(self) -> Iterator[Sequence[Column]]:
        """Richest first, dropping what a reader misses least; the interval's numbers and n always stay."""
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
        """The layout with the interval drawn as wide as there is room; a reason takes the same room."""
        spans = max((len(_span_text(each)) for each in self._runs), default=0)
        room = self._canvas.width - total_width([*head, *tail], self._gap) - self._gap - spans - 1
        bar = min(room, WIDEST_BAR)
        if bar >= NARROWEST_BAR:
            self.reason_room = bar + 1 + spans
            yield [*head, self._bars(bar), *tail]

    def _rank(self) -> Column:
        return self._column("#", lambda each: str(each.rank or NOTHING))

    def _judge(self) -> Column:
        names = tuple(self._canvas.cell(each.run.judge, _style(each)) for each in self._runs)
        return Column(self._canvas.text("judge"), names, flexible=True)

    def _pass(self) -> Column:
        return self._column("pass", _pass_text, right=True)

    def _numbers(self) -> Column:
        return self._column("95% CI", _span_text)

    def _bars(self, width: int) -> Column:
        cells = []
        for each in self._runs:
            style = PROBLEM if each.run.excluded else GOOD
            cells.append(self._canvas.cell(_bar_text(each, width), style, width=self.reason_room))
        return Column(self._canvas.text("95% CI"), tuple(cells))

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

    def _column(self, title: str, show: Callable[[RankedRun], str], *, right: bool = False) -> Column:
        cells = tuple(self._canvas.cell(show(each), _style(each)) for each in self._runs)
        return Column(self._canvas.text(title), cells, right=right)


def cost_per_answer(run: RunResult) -> str:
    """Dollars for each job that ended, grading included, with four decimals."""
    return money(run.total_cost_usd / run.n_ended, places=4) if run.n_ended else NOTHING


def _style(each: RankedRun) -> str:
    if each.run.excluded:
        return PROBLEM
    return "bold" if each.rank == 1 else ""


def _pass_text(each: RankedRun) -> str:
    return percent(None if each.run.excluded else each.run.accuracy, each.run.n_graded)


def _span_text(each: RankedRun) -> str:
    return NOTHING if each.run.excluded else span(each.run.ci_low, each.run.ci_high, each.run.n_graded)


def _bar_text(each: RankedRun, width: int) -> str:
    run = each.run
    if run.excluded:
        return run.excluded
    if run.accuracy is None or run.ci_low is None or run.ci_high is None:
        return NOTHING
    return f"{interval_bar(run.ci_low, run.accuracy, run.ci_high, width)} {_span_text(each)}"


def _lead_text(each: RankedRun, unit: str) -> str:
    """−7 pp [−17, +4], with the number of shared cases where it is not the judge's n."""
    if each.run.excluded:
        return "excluded"
    if each.rank == 1:
        return "—"
    lead = each.lead
    if lead is None or not lead.n:
        return NOTHING
    text = f"{points(lead.diff, lead.n)}{unit} [{points(lead.low, lead.n)}, {points(lead.high, lead.n)}]"
    return text if lead.n == each.run.n_graded else f"{text} n={lead.n}"


def _p_text(each: RankedRun) -> str:
    if each.lead is None or not each.lead.n:
        return NOTHING
    return "<0.001" if each.lead.p_holm < 0.001 else f"{each.lead.p_holm:.3f}"


def render_strata(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """Judges by strata, pass % [95% CI] n in each cell, in as many blocks as the width needs."""
    canvas = Canvas(width, ascii_only)
    runs = [run for run in result.runs if run.per_stratum and run.excluded is None]
    strata: dict[str, None] = {}
    for run in runs:
        strata |= dict.fromkeys(run.per_stratum)
    if not strata:
        return canvas.text("no strata: the evalset's cases have none", QUIET)
    judge = Column(canvas.text("judge"), tuple(canvas.cell(run.judge) for run in runs))
    columns = [
        _rate_column(stratum, [run.per_stratum.get(stratum) for run in runs], canvas) for stratum in strata
    ]
    columns.append(_rate_column("micro", [micro_rate(run) for run in runs], canvas))
    columns.append(_rate_column("macro", [run.macro for run in runs], canvas))
    parts: list[RenderableType] = []
    for block in _blocks(judge, columns, canvas):
        parts += [lay_out([judge, *block], canvas, gap=STRATA_GAP), Text()]
    legend = (
        f"pass % [95% CI] n   ! n under {FEW_CASES}: do not read   micro: all cases   macro: mean of strata"
    )
    return Group(*parts, canvas.text(legend, QUIET))


def micro_rate(run: RunResult) -> Rate:
    """The rate over all cases, for a cell beside the strata."""
    n_cases = run.macro.n if run.macro else run.n_graded
    return Rate(n_cases, run.accuracy, run.ci_low, run.ci_high, run.ci_method)


def _rate_column(title: str, rates: Sequence[Rate | None], canvas: Canvas) -> Column:
    cells = tuple(canvas.cell(_rate_text(rate), PROBLEM if rate and rate.few else "") for rate in rates)
    return Column(canvas.cell(title), cells, right=True)


def _rate_text(rate: Rate | None) -> str:
    """94 [74–99] 18, with a mark and not only a colour where n is too small to read anything into it."""
    if rate is None or rate.accuracy is None:
        return "n/a"
    ends = span(rate.ci_low, rate.ci_high, rate.n)
    mark = "!" if rate.few else ""
    return f"{rate.accuracy * 100:.0f} [{ends}] {rate.n}{mark}"


def _blocks(judge: Column, columns: Sequence[Column], canvas: Canvas) -> Iterator[list[Column]]:
    """The columns in groups that fit beside the judges' names, at least one column in each."""
    block: list[Column] = []
    for column in columns:
        if block and total_width([judge, *block, column], STRATA_GAP) > canvas.width:
            yield block
            block = []
        block.append(column)
    yield block
