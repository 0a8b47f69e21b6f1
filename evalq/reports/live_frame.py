"""One frame of the live display: a row per judge, the budget, and what needs attention."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

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
    duration,
    first_fitting,
    interval_bar,
    latency,
    lay_out,
    progress_bar,
    span,
    total_width,
)
from evalq.results import JudgeProgress, Progress
from evalq.stats.score_interval import wilson

BAR_FROM, DETAILS_FROM = 100, 80
DONE_BAR, BUDGET_BAR = 10, 18
NARROWEST_BAR, WIDEST_BAR = 10, 24
MOST_REMARKS = 3
FURNITURE_ROWS = 8 + MOST_REMARKS  # heading, column titles, budget, footer and the blank lines between
GAP = 2
_STATES = {
    "running": "INTERIM",
    "paused": "PAUSED",
    "capped": "CAPPED",
    "cancelled": "STOPPING",
    "concluded": "DONE",
}


class Pace:
    """The speed since the first progress it sees, so that the pause of a resumed bake-off does not count."""

    def __init__(self) -> None:
        self._first: Progress | None = None

    def note(self, progress: Progress) -> None:
        """Take the first progress as the start."""
        self._first = self._first or progress

    def judge_eta_s(self, judge: JudgeProgress, progress: Progress) -> float | None:
        """Seconds until this judge is done; None while nothing has moved, or for a judge that stopped."""
        if judge.done >= judge.total:
            return 0.0
        moved = judge.done - self._done_at_first(judge.judge)
        if self._first is None or judge.broken or moved <= 0:
            return None
        return (progress.now - self._first.now).total_seconds() / moved * (judge.total - judge.done)

    def eta_s(self, progress: Progress) -> float | None:
        """Seconds until the slowest judge is done; None until every active judge has moved."""
        slowest = 0.0
        for judge in progress.judges:
            if judge.broken:
                continue
            wait = self.judge_eta_s(judge, progress)
            if wait is None:
                return None
            slowest = max(slowest, wait)
        return slowest

    def _done_at_first(self, name: str) -> int:
        if self._first is not None:
            for judge in self._first.judges:
                if judge.judge == name:
                    return judge.done
        return 0


class Frame:
    """The drawing of one progress for a terminal of a given size."""

    def __init__(self, progress: Progress, pace: Pace, canvas: Canvas, *, height: int) -> None:
        self._progress = progress
        self._pace = pace
        self._canvas = canvas
        self._judges = _first_to_watch(progress.judges, max(height - FURNITURE_ROWS, 1))

    def draw(self) -> RenderableType:
        """The frame: no taller than its judges and a few lines, and without wrapped rows."""
        columns = first_fitting(self._layouts(), self._canvas, gap=GAP)
        rows = lay_out(columns, self._canvas, gap=GAP, rule=False)
        return Group(self._heading(), Text(), rows, *self._left_out(), Text(), *self._footer())

    def _heading(self) -> Text:
        progress = self._progress
        size = f"{len(progress.judges)} judges · {progress.total} verdicts"
        title = f"bake-off {progress.bakeoff_id}  {_STATES[progress.state]}"
        about = f"{progress.task} · {progress.eval_set} · {size}"
        clock = f"elapsed {duration(progress.elapsed_s)}   ETA {duration(self._pace.eta_s(progress))}"
        room = self._canvas.width - len(title) - len(about) - len(clock) - 2
        gap = " " * room if room >= GAP else "\n"
        text = self._canvas.text(title, "bold")
        text.append(self._canvas.text(f"  {about}{gap}{clock}", "not bold"))
        text.no_wrap, text.overflow = True, "ellipsis"
        return text

    def _layouts(self) -> Iterator[Sequence[Column]]:
        """Richest first: the interval's bar goes first, its numbers last."""
        head, done, share = [self._mark(), self._name()], self._done(), self._pass()
        details = [self._rpm(), self._p95(), self._retries()]
        numbers, cost, eta = self._numbers(), self._cost(), self._eta()
        if self._canvas.width >= BAR_FROM:
            yield from self._with_bar([*head, done, self._bar(), share], [cost, *details, eta])
        if self._canvas.width >= DETAILS_FROM:
            yield [*head, done, self._bar(), share, numbers, cost, *details, eta]
            yield [*head, done, share, numbers, cost, *details, eta]
        yield [*head, done, share, numbers, cost, eta]
        yield [*head, done, share, numbers]

    def _with_bar(self, head: list[Column], tail: list[Column]) -> Iterator[Sequence[Column]]:
        """The layout with the interval drawn as wide as there is room; a reason takes the same room."""
        spans = max((len(_numbers_text(judge)) for judge in self._judges), default=0)
        bar = min(self._canvas.width - total_width([*head, *tail], GAP) - GAP - spans - 1, WIDEST_BAR)
        if bar >= NARROWEST_BAR:
            room = bar + 1 + spans
            drawn = self._column("95% CI", lambda judge: _interval_text(judge, bar), style=GOOD, room=room)
            yield [*head, drawn, *tail]

    def _mark(self) -> Column:
        return self._column("", _mark_of)

    def _name(self) -> Column:
        return self._column("judge", lambda judge: judge.judge, flexible=True)

    def _done(self) -> Column:
        return self._column("done", lambda judge: f"{judge.done}/{judge.total}", right=True)

    def _bar(self) -> Column:
        return self._column("", lambda judge: progress_bar(_share_done(judge), DONE_BAR), style=GOOD)

    def _pass(self) -> Column:
        return self._column("pass", _pass_text, right=True)

    def _numbers(self) -> Column:
        return self._column("95% CI", _numbers_text)

    def _cost(self) -> Column:
        return self._column("$", lambda judge: money(judge.cost_usd), right=True)

    def _rpm(self) -> Column:
        return self._column("rpm", lambda judge: f"{judge.rpm:.0f}" if judge.rpm else NOTHING, right=True)

    def _p95(self) -> Column:
        return self._column("p95", lambda judge: latency(judge.p95_latency_ms), right=True)

    def _retries(self) -> Column:
        return self._column("retry", lambda judge: str(judge.retries or NOTHING), right=True)

    def _eta(self) -> Column:
        return self._column("ETA", self._eta_text, right=True)

    def _eta_text(self, judge: JudgeProgress) -> str:
        if _is_done(judge):
            return "done"
        if judge.broken:
            return "broken"
        return duration(self._pace.judge_eta_s(judge, self._progress))

    def _column(
        self,
        title: str,
        show: Callable[[JudgeProgress], str],
        *,
        style: str = "",
        room: int | None = None,
        **shape: bool,
    ) -> Column:
        cells = tuple(
            self._canvas.cell(show(judge), PROBLEM if judge.broken else style, width=room)
            for judge in self._judges
        )
        return Column(self._canvas.text(title), cells, **shape)

    def _left_out(self) -> Iterator[Text]:
        hidden = len(self._progress.judges) - len(self._judges)
        if hidden:
            yield self._canvas.text(f"… and {hidden} more judges, nearer to their end", QUIET)

    def _footer(self) -> Iterator[Text]:
        yield self._budget()
        yield from list(self._remarks())[:MOST_REMARKS]
        yield self._canvas.text("Ctrl-C stop spending", QUIET)

    def _remarks(self) -> Iterator[Text]:
        """Problems first, then other notes."""
        is_active = any(not judge.broken and not _is_done(judge) for judge in self._progress.judges)
        others = "Other judges continue." if is_active else ""
        for judge in self._judges:
            if judge.broken:
                yield self._canvas.cell(f"! {judge.judge}: {judge.broken}. {others}", PROBLEM)
        for judge in self._judges:
            if judge.note and not judge.broken:
                yield self._canvas.cell(f"{judge.judge}: {judge.note}")

    def _budget(self) -> Text:
        progress = self._progress
        used = float(progress.spent_usd / progress.cap_usd) if progress.cap_usd else 0.0
        facts = [f"${money(progress.spent_usd)} of ${money(progress.cap_usd)}", *_forecast(progress)]
        words = "   ".join(facts)
        bar = min(self._canvas.width - len(f"budget    {words}"), BUDGET_BAR)
        line = self._canvas.text("budget  ")
        line.append(self._canvas.text(f"{progress_bar(used, bar)}  " if bar > 0 else "", GOOD))
        return line.append(self._canvas.text(words))


def _first_to_watch(judges: tuple[JudgeProgress, ...], rows: int) -> tuple[JudgeProgress, ...]:
    """All judges, or as many as there are rows: first the stopped ones, then those with most left to do."""
    if len(judges) <= rows:
        return judges
    urgent = sorted(judges, key=lambda judge: (judge.broken is None, _share_done(judge)))[:rows]
    return tuple(judge for judge in judges if judge in urgent)


def _forecast(progress: Progress) -> Iterator[str]:
    """The projected total, the dollars reserved now, and the share of cached verdicts."""
    if progress.done:
        yield f"projected ${money(progress.spent_usd / progress.done * progress.total)}"
    if progress.reserved_usd > Decimal(0):
        yield f"reserved ${money(progress.reserved_usd)}"
    if progress.graded_findings:
        yield f"cache {progress.cached_verdicts / progress.graded_findings:.0%}"


def _mark_of(judge: JudgeProgress) -> str:
    if judge.broken:
        return "!"
    return "✓" if _is_done(judge) else ""


def _is_done(judge: JudgeProgress) -> bool:
    return judge.done >= judge.total and not judge.broken


def _share_done(judge: JudgeProgress) -> float:
    return judge.done / judge.total if judge.total else 1.0


def _n_graded(judge: JudgeProgress) -> int:
    """Answers with a verdict; none for a judge that stopped, whose rate would mislead."""
    return 0 if judge.broken else judge.n_pass + judge.n_fail


def _pass_text(judge: JudgeProgress) -> str:
    n = _n_graded(judge)
    return f"{judge.n_pass / n:.0%}" if n else "n/a"


def _numbers_text(judge: JudgeProgress) -> str:
    n = _n_graded(judge)
    return span(*wilson(judge.n_pass, n), n) if n else NOTHING


def _interval_text(judge: JudgeProgress, width: int) -> str:
    if judge.broken:
        return judge.broken
    n = _n_graded(judge)
    if not n:
        return NOTHING
    low, high = wilson(judge.n_pass, n)
    return f"{interval_bar(low, judge.n_pass / n, high, width)} {_numbers_text(judge)}"
