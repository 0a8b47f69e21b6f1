"""A judge's rate over its drift checks: the band of intervals, the baseline, alerts and changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from evalq.reports.charts.svg import (
    Scale,
    draw_box,
    draw_circle,
    draw_diamond,
    draw_line,
    draw_path,
    draw_shape,
    draw_text,
    empty_chart,
    frame,
    listing,
    ticks,
)
from evalq.reports.text import percent, span

DriftMark = Literal["ok", "watch", "alert", "inconclusive"]

LEFT_PX, TOP_PX, PLOT_PX = 52, 14, 190
STEP_PX, NARROWEST_PLOT, WIDEST_PLOT = 64, 420, 900
LABEL_PX = 56
LEGEND = (
    "● ok · ! watch · ✗ alert · ? inconclusive · band: 95% interval",
    "◆ the provider's model changed · ▲ the prompt changed · dotted: baseline",
)


@dataclass(frozen=True)
class DriftPoint:
    """One check: its label (a date or week), rate, interval and verdict, and what changed before it."""

    label: str
    rate: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    verdict: DriftMark = "ok"
    is_model_changed: bool = False
    is_prompt_changed: bool = False


def drift_chart(
    points: Sequence[DriftPoint], *, baseline: float | None = None, title: str = "Pass rate over time"
) -> str:
    """The rates in order of time with a sign for each verdict, in the band of their intervals."""
    shown = [point for point in points if point.rate is not None]
    if not shown:
        return empty_chart(title, "no check has ended yet")
    width = min(max(STEP_PX * (len(points) - 1), NARROWEST_PLOT), WIDEST_PLOT)
    across = Scale(0, max(len(points) - 1, 1), LEFT_PX + 20, LEFT_PX + 20 + width)
    up = _rate_scale(shown, baseline)
    parts = [*_draw_axis(up, across)]
    if baseline is not None:
        y = up.at(baseline)
        parts.append(draw_line((LEFT_PX, y), (across.end + 20, y), "ch-baseline"))
    placed = [(across.at(place), point) for place, point in enumerate(points) if point.rate is not None]
    parts += _draw_band(placed, up)
    for x, point in placed:
        parts += _draw_point(x, point, up)
    parts += _draw_labels(points, across)
    bottom = TOP_PX + PLOT_PX + LABEL_PX
    parts += [draw_text(LEFT_PX, bottom + 16 * row, line, "ch-small") for row, line in enumerate(LEGEND)]
    told = listing([_words(point) for point in shown])
    if baseline is not None:
        told = f"baseline {baseline:.1%}; {told}"
    return frame(title, told, size=(across.end + 40, bottom + 16 * len(LEGEND)), parts=parts)


def _rate_scale(points: Sequence[DriftPoint], baseline: float | None) -> Scale:
    values = [value for point in points for value in (point.rate, point.ci_low, point.ci_high, baseline)]
    known = [value for value in values if value is not None]
    low, high = max(min(known) - 0.03, 0.0), min(max(known) + 0.03, 1.0)
    return Scale(low, high, TOP_PX + PLOT_PX, TOP_PX)


def _draw_axis(up: Scale, across: Scale) -> Iterator[str]:
    for value in ticks(up.low, up.high):
        y = up.at(value)
        yield draw_line((LEFT_PX, y), (across.end + 20, y), "ch-grid")
        yield draw_text(LEFT_PX - 8, y, f"{value:.0%}", "ch-small", anchor="end")


def _draw_band(placed: Sequence[tuple[float, DriftPoint]], up: Scale) -> Iterator[str]:
    """The intervals joined to a band, and the line of the rates; a single check has a short bar."""
    ends = [
        (x, up.at(point.ci_low), up.at(point.ci_high))
        for x, point in placed
        if point.ci_low is not None and point.ci_high is not None
    ]
    if len(ends) == 1:
        x, low, high = ends[0]
        yield draw_box((x - 8, high), (16, low - high), "ch-band")
    elif ends:
        upper = [(x, high) for x, _, high in ends]
        lower = [(x, low) for x, low, _ in reversed(ends)]
        yield draw_shape([*upper, *lower], "ch-band")
    yield draw_path([(x, up.at(point.rate or 0.0)) for x, point in placed], "ch-good-line")


def _draw_point(x: float, point: DriftPoint, up: Scale) -> Iterator[str]:
    y = up.at(point.rate or 0.0)
    if point.verdict == "ok":
        yield draw_circle(x, y, 4.5, "ch-good")
    elif point.verdict == "alert":
        yield draw_line((x - 6, y - 6), (x + 6, y + 6), "ch-bad-line")
        yield draw_line((x - 6, y + 6), (x + 6, y - 6), "ch-bad-line")
    else:
        yield draw_circle(x, y, 8, "ch-open")
        yield draw_text(x, y, "!" if point.verdict == "watch" else "?", "ch-problem", anchor="middle")


def _draw_labels(points: Sequence[DriftPoint], across: Scale) -> Iterator[str]:
    """As many labels as have room; the signs of changes stand on the axis and are never left out."""
    axis = TOP_PX + PLOT_PX
    yield draw_line((LEFT_PX, axis), (across.end + 20, axis), "ch-axis")
    room = (across.end - across.start) / max(len(points) - 1, 1)
    longest = max(len(point.label) for point in points) * 6.6 + 8
    every = max(1, -int(-longest // room))
    for place, point in enumerate(points):
        x = across.at(place)
        if point.is_model_changed:
            yield draw_diamond(x - 6 * point.is_prompt_changed, axis + 10, 5, "ch-bad")
        if point.is_prompt_changed:
            middle = x + 6 * point.is_model_changed
            corners = [(middle, axis + 5), (middle + 5, axis + 14), (middle - 5, axis + 14)]
            yield draw_shape(corners, "ch-good")
        if place % every == 0:
            yield draw_text(x, axis + 27, point.label, "ch-small", anchor="middle")


def _words(point: DriftPoint) -> str:
    changes = (
        ", the model changed" * point.is_model_changed + ", the prompt changed" * point.is_prompt_changed
    )
    rate = f"{percent(point.rate, point.n)} ({span(point.ci_low, point.ci_high, point.n)})"
    return f"{point.label} {rate} n={point.n} {point.verdict}{changes}"
