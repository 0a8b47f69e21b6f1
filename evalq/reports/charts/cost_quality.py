"""Dollars per case against pass rate, with the frontier; the size of a mark is the latency."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalq.definitions.money import money
from evalq.reports.charts.svg import (
    Scale,
    cut,
    draw_circle,
    draw_diamond,
    draw_line,
    draw_path,
    draw_text,
    empty_chart,
    frame,
    listing,
    text_px,
    ticks,
)
from evalq.reports.text import latency, percent, span
from evalq.results import Offer

LEFT_PX, TOP_PX = 56, 16
WIDE_PX, HIGH_PX = 520, 280
RIGHT_PX, BOTTOM_PX = 24, 44
SMALLEST, LARGEST = 5.0, 11.0
LABEL_HEIGHT = 16
MOST_DECADES = 4
LOG_FROM = 12
"""The dearest judge costs this many times the cheapest: equal steps would crowd the cheap ones."""

LEGEND = (
    "● on the frontier (dashed): no judge is as cheap and as good · ◇ beaten by another",
    "line: 95% interval · larger mark: slower (p95)",
)


@dataclass(frozen=True)
class _Box:
    """A rectangle that a label must not touch."""

    left: float
    top: float
    right: float
    bottom: float

    def encloses(self, other: "_Box") -> bool:
        """True if the other box lies within this one."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def overlaps(self, other: "_Box") -> bool:
        """True if the two share a point."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


EDGE = _Box(LEFT_PX + 2, TOP_PX - 8, LEFT_PX + WIDE_PX + RIGHT_PX, TOP_PX + HIGH_PX - 2)


@dataclass(frozen=True)
class _Mark:
    """An offer with its place, its size and the words for its label."""

    offer: Offer
    x: float
    y: float
    radius: float
    label: str


@dataclass(frozen=True)
class _Label:
    """Where a label was put, and whether a line must lead to it."""

    box: _Box
    is_far: bool


def frontier_chart(
    offers: Sequence[Offer],
    p95_ms: Mapping[str, int | None] | None = None,
    *,
    title: str = "Cost, quality and latency",
) -> str:
    """Every judge by dollars per case and pass rate; labels that find no room are listed below by number."""
    if not offers:
        return empty_chart(title, "no judge has a rate and a price")
    across, up = _cost_scale(offers), _rate_scale(offers)
    marks = _place_marks(offers, p95_ms or {}, across, up)
    labels = _place_labels(marks, up)
    parts = [*_draw_axes(across, up), *_draw_frontier(marks)]
    for mark in marks:
        parts += _draw_mark(mark, up)
    listed = [mark for mark in marks if labels[mark.offer.judge] is None]
    for mark in marks:
        parts += _draw_label(mark, labels[mark.offer.judge], listed)
    bottom = TOP_PX + HIGH_PX + BOTTOM_PX
    lines = [*LEGEND, *(f"{number}  {mark.label}" for number, mark in enumerate(listed, start=1))]
    parts += [draw_text(8, bottom + 8 + 16 * row, line, "ch-small") for row, line in enumerate(lines)]
    size = (LEFT_PX + WIDE_PX + RIGHT_PX, bottom + 16 * len(lines) + 4)
    return frame(title, listing([_words(mark) for mark in marks]), size=size, parts=parts)


def _cost_scale(offers: Sequence[Offer]) -> Scale:
    """Logarithmic when prices lie far apart and none is zero; with room for the outermost marks."""
    costs = [float(offer.usd_per_case) for offer in offers]
    start, end = LEFT_PX + 16, LEFT_PX + WIDE_PX - 16
    lowest, highest = min(costs), max(costs)
    if lowest > 0 and highest / lowest >= LOG_FROM:
        return Scale(lowest, highest, start, end, is_log=True)
    first = 0.0 if lowest < highest / 2 else lowest - max(highest - lowest, highest * 0.02)
    return Scale(max(first, 0.0), highest or 1.0, start, end)


def _rate_scale(offers: Sequence[Offer]) -> Scale:
    low = max(min(offer.ci_low for offer in offers) - 0.03, 0.0)
    high = min(max(offer.ci_high for offer in offers) + 0.03, 1.0)
    return Scale(low, high, TOP_PX + HIGH_PX, TOP_PX)


def _place_marks(
    offers: Sequence[Offer], p95_ms: Mapping[str, int | None], across: Scale, up: Scale
) -> list[_Mark]:
    slowest = max((p95_ms.get(offer.judge) or 0 for offer in offers), default=0)
    marks = []
    for offer in offers:
        took = p95_ms.get(offer.judge)
        share = math.sqrt(took / slowest) if took and slowest else 0.0
        label = cut(offer.judge) + (f" · {latency(took)}" if took else "")
        x, y = across.at(float(offer.usd_per_case)), up.at(offer.accuracy)
        marks.append(_Mark(offer, x, y, SMALLEST + share * (LARGEST - SMALLEST), label))
    return marks


def _place_labels(marks: Sequence[_Mark], up: Scale) -> dict[str, _Label | None]:
    """A free place for each label, near its mark first; None where everything is taken."""
    taken = [_Box(m.x - m.radius, m.y - m.radius, m.x + m.radius, m.y + m.radius) for m in marks]
    lines = [_Box(m.x - 2, up.at(m.offer.ci_high), m.x + 2, up.at(m.offer.ci_low)) for m in marks]
    labels: dict[str, _Label | None] = {}
    for mark in sorted(marks, key=lambda each: (not each.offer.on_frontier, -each.y)):
        label = _first_free(mark, [*taken, *lines]) or _first_free(mark, taken)
        labels[mark.offer.judge] = label
        if label:
            taken.append(label.box)
    return labels


def _first_free(mark: _Mark, taken: Sequence[_Box]) -> _Label | None:
    """The nearest place inside the plot that touches nothing taken."""
    for label in _candidates(mark):
        is_free = not any(label.box.overlaps(other) for other in taken)
        if is_free and EDGE.encloses(label.box):
            return label
    return None


def _candidates(mark: _Mark) -> Iterator[_Label]:
    """Right, left, above, below; then the same farther away, with a line."""
    width, half = text_px(mark.label), LABEL_HEIGHT / 2
    for distance in (4.0, 22.0, 44.0, 66.0):
        gap, is_far = mark.radius + distance, distance > 4
        for side in (mark.x + mark.radius + 5, mark.x - mark.radius - 5 - width):
            for rise in (0.0,) if not is_far else (-distance, distance):
                middle = mark.y + rise
                yield _Label(_Box(side, middle - half, side + width, middle + half), is_far)
        for middle in (mark.y - gap - half, mark.y + gap + half):
            left = mark.x - width / 2
            yield _Label(_Box(left, middle - half, left + width, middle + half), is_far)


def _draw_axes(across: Scale, up: Scale) -> Iterator[str]:
    bottom, right = TOP_PX + HIGH_PX, LEFT_PX + WIDE_PX
    for value in ticks(up.low, up.high):
        y = up.at(value)
        yield draw_line((LEFT_PX, y), (right, y), "ch-grid")
        yield draw_text(LEFT_PX - 8, y, f"{value:.0%}", "ch-small", anchor="end")
    for cost in _cost_ticks(across):
        x = across.at(cost)
        yield draw_line((x, bottom), (x, bottom + 4), "ch-axis")
        yield draw_text(
            x, bottom + 14, f"${cost:.6f}".rstrip("0").removesuffix("."), "ch-small", anchor="middle"
        )
    yield draw_line((LEFT_PX, bottom), (right, bottom), "ch-axis")
    scale = "dollars per case, grading included" + (" (logarithmic)" if across.is_log else "")
    yield draw_text((LEFT_PX + right) / 2, bottom + 32, scale, "ch-small", anchor="middle")


def _cost_ticks(across: Scale) -> list[float]:
    if not across.is_log:
        return ticks(across.low, across.high, most=5)
    values = []
    powers = range(math.floor(math.log10(across.low)), math.ceil(math.log10(across.high)) + 1)
    for power in powers:
        for factor in (1, 3) if len(powers) <= MOST_DECADES else (1,):
            value = factor * 10.0**power
            if across.low <= value <= across.high:
                values.append(value)
    return values or [across.low, across.high]


def _draw_frontier(marks: Sequence[_Mark]) -> Iterator[str]:
    best = sorted((mark for mark in marks if mark.offer.on_frontier), key=lambda mark: mark.x)
    if len(best) > 1:
        yield draw_path([(mark.x, mark.y) for mark in best], "ch-frontier")


def _draw_mark(mark: _Mark, up: Scale) -> Iterator[str]:
    kind = "ch-good-line" if mark.offer.on_frontier else "ch-bad-line"
    yield draw_line((mark.x, up.at(mark.offer.ci_low)), (mark.x, up.at(mark.offer.ci_high)), kind)
    if mark.offer.on_frontier:
        yield draw_circle(mark.x, mark.y, mark.radius, "ch-good")
    else:
        yield draw_diamond(mark.x, mark.y, mark.radius, "ch-open")


def _draw_label(mark: _Mark, label: _Label | None, listed: Sequence[_Mark]) -> Iterator[str]:
    if label is None:
        yield draw_text(mark.x, mark.y, str(listed.index(mark) + 1), "ch-label", anchor="middle")
        return
    middle = (label.box.top + label.box.bottom) / 2
    if label.is_far:
        near = min(max(mark.x, label.box.left), label.box.right)
        yield draw_line((mark.x, mark.y), (near, middle), "ch-leader")
    yield draw_text(label.box.left, middle, mark.label, "ch-label")


def _words(mark: _Mark) -> str:
    offer = mark.offer
    place = "on the frontier" if offer.on_frontier else f"beaten by {offer.dominated_by}"
    rate = f"{percent(offer.accuracy, offer.n)} ({span(offer.ci_low, offer.ci_high, offer.n)})"
    return f"{mark.label}: {rate} at ${money(offer.usd_per_case, places=4)} a case, {place}"
