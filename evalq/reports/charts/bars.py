"""Bars of rates with their intervals, zoomed where the intervals are thin, and of agreement with people."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evalq.reports.charts.svg import (
    ROW_PX,
    Scale,
    draw_box,
    draw_line,
    draw_name,
    draw_text,
    empty_chart,
    frame,
    listing,
    name_column_px,
    text_px,
    ticks,
)
from evalq.reports.text import NOTHING, percent, span

AXIS_PX = 300
TOP_PX, BOTTOM_PX = 10, 30
THIN_SHARE = 0.08
"""Below this share of the axis the widest interval is hard to see: the axis is zoomed."""


@dataclass(frozen=True)
class BarRow:
    """A name with its rate and interval; `excluded` is the reason a judge has no rate to show."""

    name: str
    rate: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    excluded: str | None = None


@dataclass(frozen=True)
class AgreementRow:
    """How far two raters, such as people and a grader, agree: κ or α with its interval; None: undefined."""

    name: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int


@dataclass(frozen=True)
class _Bar:
    """A row ready to draw: its interval, and the words beside it."""

    name: str
    values: tuple[float, float, float] | None
    words: str


@dataclass(frozen=True)
class _Axis:
    """The ends of an axis, how its ticks read, and a remark below it."""

    low: float
    high: float
    label: Callable[[float], str]
    remark: str


def interval_bars(rows: Sequence[BarRow], *, title: str = "Pass rate with 95% interval") -> str:
    """A bar from end to end of each interval with a line at the rate, on one axis."""
    if not rows:
        return empty_chart(title, "no judge has a rate yet")
    bars = [_rate_bar(row) for row in rows]
    return _draw_bars(title, bars, _rate_axis([bar.values for bar in bars if bar.values]))


def agreement_chart(rows: Sequence[AgreementRow], *, title: str = "Agreement with people") -> str:
    """One bar per pair of raters on an axis from chance (0) to full agreement (1), or from below chance."""
    if not rows:
        return empty_chart(title, "nobody has rated anything yet")
    bars = [_agreement_bar(row) for row in rows]
    lowest = min((bar.values[0] for bar in bars if bar.values), default=0.0)
    low = -1.0 if lowest < -0.5 else -0.5 if lowest < 0 else 0.0
    return _draw_bars(
        title,
        bars,
        _Axis(
            low, 1.0, lambda value: f"{value:.1f}".replace("-", "−"), "0: as by chance · 1: full agreement"
        ),
    )


def _rate_bar(row: BarRow) -> _Bar:
    if row.excluded or row.rate is None or row.ci_low is None or row.ci_high is None:
        return _Bar(row.name, None, row.excluded or "no verdict yet")
    words = f"{percent(row.rate, row.n)} · {span(row.ci_low, row.ci_high, row.n)} · n={row.n:,}"
    return _Bar(row.name, (row.ci_low, row.rate, row.ci_high), words)


def _agreement_bar(row: AgreementRow) -> _Bar:
    if row.value is None:
        return _Bar(row.name, None, f"n/a (constant) · n={row.n:,}")
    low = row.value if row.ci_low is None else row.ci_low
    high = row.value if row.ci_high is None else row.ci_high
    ends = f"[{low:.2f}, {high:.2f}]" if row.ci_low is not None else NOTHING
    words = f"{row.value:.2f} · {ends} · n={row.n:,}".replace("-", "−")
    return _Bar(row.name, (low, row.value, high), words)


def _rate_axis(values: Sequence[tuple[float, float, float]]) -> _Axis:
    """From 0 to 100 %; closer around the intervals when they are thin and near each other."""
    whole = _Axis(0.0, 1.0, "{:.0%}".format, "")
    if not values or max(high - low for low, _, high in values) >= THIN_SHARE:
        return whole
    low, high = min(each[0] for each in values), max(each[2] for each in values)
    margin = max((high - low) * 0.1, 0.002)
    low, high = max(low - margin, 0.0), min(high + margin, 1.0)
    if high - low > 0.6:
        return whole
    label = "{:.1%}".format if high - low < 0.05 else "{:.0%}".format
    return _Axis(low, high, label, f"zoomed: the axis runs from {low:.1%} to {high:.1%}")


def _draw_bars(title: str, bars: Sequence[_Bar], axis: _Axis) -> str:
    left = name_column_px([bar.name for bar in bars])
    words = max((text_px(bar.words) for bar in bars if bar.values), default=0.0)
    reasons = max((text_px(f"! {bar.words}") for bar in bars if not bar.values), default=0.0)
    width = left + max(AXIS_PX + 14 + words, reasons) + 6
    bottom = TOP_PX + ROW_PX * len(bars)
    height = bottom + BOTTOM_PX + (16 if axis.remark else 0)
    scale = Scale(axis.low, axis.high, left, left + AXIS_PX)
    parts = [*_draw_axis(axis, scale, bottom)]
    for place, bar in enumerate(bars):
        parts += _draw_bar(bar, scale, TOP_PX + ROW_PX * (place + 0.5))
    description = listing([f"{bar.name}: {bar.words}" for bar in bars])
    if axis.remark:
        description += f". {axis.remark}"
    return frame(title, description, size=(width, height), parts=parts)


def _draw_axis(axis: _Axis, scale: Scale, bottom: float) -> Iterator[str]:
    for value in ticks(axis.low, axis.high):
        x = scale.at(value)
        yield draw_line((x, TOP_PX), (x, bottom), "ch-grid")
        yield draw_text(x, bottom + 12, axis.label(value), "ch-small", anchor="middle")
    if axis.remark:
        yield draw_text(scale.start, bottom + 30, axis.remark, "ch-small")


def _draw_bar(bar: _Bar, scale: Scale, y: float) -> Iterator[str]:
    """A range and a line at the value: the line stays visible however thin the range is."""
    yield draw_name(scale.start - 10, y, bar.name, anchor="end")
    if bar.values is None:
        yield draw_text(scale.start + 4, y, f"! {bar.words}", "ch-problem")
        return
    low, value, high = (scale.at(each) for each in bar.values)
    yield draw_box((low, y - 6), (max(high - low, 1.5), 12), "ch-range")
    yield draw_box((value - 1.25, y - 9), (2.5, 18), "ch-point")
    yield draw_text(scale.end + 14, y, bar.words, "ch-quiet")
