"""The parts of an SVG chart: escaped text, shapes by class, scales, ticks, and the frame with its words."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from zlib import crc32

from rich.cells import cell_len

from evalq.reports.text import one_line

FONT_PX = 13
ROW_PX = 26
CHAR_PX = 7.9
"""A generous mean width of a letter at 13 px, so that an estimated text never runs into its neighbour."""

LONGEST_NAME = 30
MOST_FACTS = 60
_NOT_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")  # `one_line` replaces the others


@dataclass(frozen=True)
class Scale:
    """Maps values from `low`–`high` to pixels from `start`–`end`, linearly or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; values outside fall on the nearer end."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def safe(text: str) -> str:
    """Text for an element or a quoted attribute: one line, without what XML forbids, escaped."""
    return escape(one_line(text).translate(_NOT_IN_XML), quote=True)


def listing(facts: Sequence[str]) -> str:
    """What a chart shows, in words; the first of very many."""
    shown = "; ".join(facts[:MOST_FACTS])
    return shown if len(facts) <= MOST_FACTS else f"{shown}; and {len(facts) - MOST_FACTS} more"


def cut(text: str, longest: int = LONGEST_NAME) -> str:
    """A name short enough for its place; `draw_name` keeps the whole one as a tooltip."""
    return one_line(text, longest)


def text_px(text: str) -> float:
    """The width a text needs at most, in pixels."""
    return cell_len(one_line(text)) * CHAR_PX


def draw_text(x: float, y: float, content: str, kind: str = "", *, anchor: str = "start") -> str:
    """A line of text whose middle is at `y`."""
    place = f'x="{_px(x)}" y="{_px(y)}" dy="0.35em" text-anchor="{anchor}"'
    return f"<text {place}{_css(kind)}>{safe(content)}</text>"


def draw_name(x: float, y: float, name: str, *, anchor: str = "start", longest: int = LONGEST_NAME) -> str:
    """A name, cut if it is long; the whole of it is the element's tooltip."""
    shown = cut(name, longest)
    whole = f"<title>{safe(name)}</title>" if shown != one_line(name) else ""
    place = f'x="{_px(x)}" y="{_px(y)}" dy="0.35em" text-anchor="{anchor}"'
    return f"<text {place}>{whole}{safe(shown)}</text>"


def draw_line(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """A straight line."""
    return (
        f'<line x1="{_px(start[0])}" y1="{_px(start[1])}" x2="{_px(end[0])}" y2="{_px(end[1])}"{_css(kind)}/>'
    )


def draw_box(
    corner: tuple[float, float], size: tuple[float, float], kind: str, *, opacity: float | None = None
) -> str:
    """A rectangle; an opacity shades its class's colour."""
    shade = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
    return (
        f'<rect x="{_px(corner[0])}" y="{_px(corner[1])}" width="{_px(max(size[0], 0.0))}" '
        f'height="{_px(size[1])}"{_css(kind)}{shade}/>'
    )


def draw_circle(x: float, y: float, radius: float, kind: str) -> str:
    """A circle."""
    return f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(radius)}"{_css(kind)}/>'


def draw_diamond(x: float, y: float, radius: float, kind: str) -> str:
    """A square on its corner: tells itself from a circle without colour."""
    corners = [(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)]
    return draw_shape(corners, kind)


def draw_shape(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A closed shape."""
    return f'<polygon points="{_points(points)}"{_css(kind)}/>'


def draw_path(points: Iterable[tuple[float, float]], kind: str) -> str:
    """An open line through points."""
    return f'<polyline points="{_points(points)}"{_css(kind)}/>'


def hatching(chart_id: str) -> str:
    """The pattern of cells with too few cases; `draw_hatched` fills with it."""
    return (
        f'<defs><pattern id="{chart_id}-hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="7" class="ch-hatch"/></pattern></defs>'
    )


def draw_hatched(corner: tuple[float, float], size: tuple[float, float], chart_id: str) -> str:
    """A rectangle of the chart's hatching."""
    return (
        f'<rect x="{_px(corner[0])}" y="{_px(corner[1])}" width="{_px(size[0])}" height="{_px(size[1])}" '
        f'fill="url(#{chart_id}-hatch)"/>'
    )


def make_id(title: str, description: str) -> str:
    """An id for the parts of a chart that refer to each other, the same whenever the chart is the same."""
    return f"ch{crc32((title + description).encode(errors='replace')):08x}"


def frame(title: str, description: str, *, size: tuple[float, float], parts: Iterable[str]) -> str:
    """The whole chart, with its title and a description for those who do not see it."""
    name = make_id(title, description)
    width, height = _px(size[0]), _px(size[1])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{safe(title)}</title><desc id="{name}-d">{safe(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def empty_chart(title: str, reason: str) -> str:
    """A chart without data says so."""
    width = max(240.0, text_px(reason) + 20)
    return frame(title, reason, size=(width, 40), parts=[draw_text(10, 20, reason, "ch-quiet")])


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between the ends, at most `most` of them and at least one."""
    span = high - low
    if span <= 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= most:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def name_column_px(names: Sequence[str]) -> float:
    """The room that the names of a chart's rows need."""
    return max((text_px(cut(name)) for name in names), default=0.0) + 12


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_px(x)},{_px(y)}" for x, y in points)


def _css(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
