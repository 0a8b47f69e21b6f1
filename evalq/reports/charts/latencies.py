"""How long judges take: median and 95th percentile of each."""

from collections.abc import Iterator, Sequence
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
from evalq.reports.text import latency

AXIS_PX = 300
TOP_PX, BOTTOM_PX = 10, 30


@dataclass(frozen=True)
class LatencyRow:
    """A judge's median and 95th percentile in milliseconds; None before its first answer."""

    name: str
    p50_ms: int | None
    p95_ms: int | None


def latency_chart(rows: Sequence[LatencyRow], *, title: str = "Latency: median to 95th percentile") -> str:
    """A bar from the median to the 95th percentile of each judge, on one axis from zero."""
    if not any(row.p95_ms is not None for row in rows):
        return empty_chart(title, "no judge has answered yet")
    longest = max(max(row.p95_ms or 0, row.p50_ms or 0) for row in rows) or 1
    left = name_column_px([row.name for row in rows])
    scale = Scale(0, longest, left, left + AXIS_PX)
    bottom = TOP_PX + ROW_PX * len(rows)
    parts = []
    for value in ticks(0, longest, most=4):
        x = scale.at(value)
        parts.append(draw_line((x, TOP_PX), (x, bottom), "ch-grid"))
        parts.append(
            draw_text(x, bottom + 12, latency(round(value)) if value else "0", "ch-small", anchor="middle")
        )
    for place, row in enumerate(rows):
        parts += _draw_row(row, scale, TOP_PX + ROW_PX * (place + 0.5))
    width = left + AXIS_PX + 14 + max(text_px(_words(row)) for row in rows) + 6
    told = listing([f"{row.name}: {_words(row)}" for row in rows])
    return frame(title, told, size=(width, bottom + BOTTOM_PX), parts=parts)


def _words(row: LatencyRow) -> str:
    return f"p50 {latency(row.p50_ms)} · p95 {latency(row.p95_ms)}"


def _draw_row(row: LatencyRow, scale: Scale, y: float) -> Iterator[str]:
    yield draw_name(scale.start - 10, y, row.name, anchor="end")
    if row.p50_ms is not None and row.p95_ms is not None:
        start, end = scale.at(row.p50_ms), scale.at(row.p95_ms)
        yield draw_line((scale.start, y), (start, y), "ch-grid")
        yield draw_box((start, y - 6), (end - start, 12), "ch-range")
        yield draw_box((start - 1.25, y - 9), (2.5, 18), "ch-point")
        yield draw_box((end - 0.75, y - 6), (1.5, 12), "ch-point")
    yield draw_text(scale.end + 14, y, _words(row), "ch-quiet")
