"""The ranking table: one unwrapped row per judge, with as many columns as the terminal has room for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

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
    money,
    percent,
    points,
    span,
    total_width,
)
from evalq.results import FEW_CASES, BakeOffResult, Comparison, Rate, RunResult


@dataclass(frozen=True)
class Lead:
    """A judge minus the first judge, on the cases both have a verdict for."""

    diff: float
    low: float
    high: float
    n: int
    separable: bool
    p_holm: float = 1.0
    cases_needed: int | None = None


@dataclass(frozen=True)
class RankedRun:
    """One judge's place: no rank without a verdict, no lead for the first itself or an unmatched pair."""

    rank: int | None
    run: RunResult
    lead: Lead | None

    @property
    def is_tied(self) -> bool:
        """True when the paired test cannot tell it from the first."""
        return self.lead is not None and not self.lead.separable


def standings(result: BakeOffResult) -> tuple[RankedRun, ...]:
    """Every run in the order it came: ranked ones first, excluded ones last."""
    ranked = [run for run in result.runs if run.excluded is None and run.accuracy is not None]
    ranks = {run.judge: place for place, run in enumerate(ranked, start=1)}
    leads = _leads(result.comparisons, ranked[0].judge) if ranked else {}
    return tuple(
        RankedRun(
            rank=ranks.get(run.judge), run=run, lead=leads.get(run.judge) if run.judge in ranks else None
        )
        for run in result.runs
    )


def _leads(comparisons: tuple[Comparison, ...], first: str) -> dict[str, Lead]:
    return {
        (pair.b if pair.a == first else pair.a): _seen_from(pair, first)
        for pair in comparisons
        if first in (pair.a, pair.b)
    }


def _seen_from(pair: Comparison, first: str) -> Lead:
    """The pair as other minus first, whichever way round it was stored."""
    tested = (pair.n, pair.separable, pair.p_holm, pair.cases_needed)
    if pair.b == first:
        return Lead(pair.diff, pair.ci_low, pair.ci_high, *tested)
    return Lead(-pair.diff, -pair.ci_high, -pair.ci_low, *tested)


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

    def _column(self, title: str, show: Callable[[RankedRun], str], *, right: bool = False) -> Column:
        cells = tuple(self._canvas.cell(show(each), _style(each)) for each in self._standings)
        return Column(self._canvas.text(title), cells, right=right)


def cost_per_answer(run: RunResult) -> str:
    """Dollars for each job that ended, grading included, with four decimals."""
    return money(run.total_cost_usd / run.n_ended, places=4) if run.n_ended else NOTHING


def _style(each: RankedRun) -> str:
    return PROBLEM if each.run.excluded else "bold" if each.rank == 1 else ""


def _pass_text(each: RankedRun) -> str:
    return percent(None if each.run.excluded else each.run.accuracy, each.run.n_graded)


def _span(each: RankedRun) -> str:
    return NOTHING if each.run.excluded else span(each.run.ci_low, each.run.ci_high, each.run.n_graded)


def _bar(each: RankedRun, width: int) -> str:
    run = each.run
    if run.excluded:
        return run.excluded
    if run.accuracy is None or run.ci_low is None or run.ci_high is None:
        return NOTHING
    return f"{interval_bar(run.ci_low, run.accuracy, run.ci_high, width)} {_span(each)}"


def _lead_text(each: RankedRun, unit: str) -> str:
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


def _p_text(each: RankedRun) -> str:
    if each.lead is None or not each.lead.n:
        return NOTHING
    return "<0.001" if each.lead.p_holm < 0.001 else f"{each.lead.p_holm:.3f}"


GAP = 2


def render_strata(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """Judges by strata, pass % [95% CI] n in each cell; as many blocks as the width makes necessary."""
    canvas = Canvas(width, ascii_only)
    runs = [run for run in result.runs if run.per_stratum and run.excluded is None]
    strata = list(dict.fromkeys(stratum for run in runs for stratum in run.per_stratum))
    if not strata:
        return canvas.text("no strata: the evalset's cases have none", QUIET)
    judge = Column(canvas.text("judge"), tuple(canvas.cell(run.judge) for run in runs))
    columns = [*_stratum_columns(strata, runs, canvas), *_mean_columns(runs, canvas)]
    blocks = [lay_out([judge, *block], canvas, gap=GAP) for block in _blocks(judge, columns, canvas)]
    legend = (
        f"pass % [95% CI] n   ! n under {FEW_CASES}: do not read   micro: all cases   macro: mean of strata"
    )
    return Group(*(part for block in blocks for part in (block, Text())), canvas.text(legend, QUIET))


def _stratum_columns(strata: Sequence[str], runs: Sequence[RunResult], canvas: Canvas) -> Iterator[Column]:
    for stratum in strata:
        yield _column(stratum, [run.per_stratum.get(stratum) for run in runs], canvas)


def _mean_columns(runs: Sequence[RunResult], canvas: Canvas) -> Iterator[Column]:
    of_run: dict[str, Callable[[RunResult], Rate | None]] = {"micro": micro, "macro": lambda run: run.macro}
    for title, mean in of_run.items():
        yield _column(title, [mean(run) for run in runs], canvas)


def micro(run: RunResult) -> Rate:
    """The rate over all cases, as a cell beside those of the strata."""
    n_cases = run.macro.n if run.macro else run.n_graded
    return Rate(n_cases, run.accuracy, run.ci_low, run.ci_high, run.ci_method)


def _column(title: str, rates: Sequence[Rate | None], canvas: Canvas) -> Column:
    cells = tuple(canvas.cell(_share(rate), PROBLEM if rate and rate.few else "") for rate in rates)
    return Column(canvas.cell(title), cells, right=True)


def _share(rate: Rate | None) -> str:
    """94 [74–99] 18; a mark, not only a colour, where n is too small to read anything into."""
    if rate is None or rate.accuracy is None:
        return "n/a"
    ends = span(rate.ci_low, rate.ci_high, rate.n)
    return f"{rate.accuracy * 100:.0f} [{ends}] {rate.n}" + ("!" if rate.few else "")


def _blocks(judge: Column, columns: Sequence[Column], canvas: Canvas) -> Iterator[list[Column]]:
    """The columns in runs that fit beside the judges' names, each at least one column wide."""
    block: list[Column] = []
    for column in columns:
        if block and total_width([judge, *block, column], GAP) > canvas.width:
            yield block
            block = []
        block.append(column)
    yield block
