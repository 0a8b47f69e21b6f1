"""Criteria in the text of a rubric: numbered lines with a weight, or with a question and a range."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

USUAL_RANGE = (1, 5)

_WEIGHTED = re.compile(
    r"\s*+\d++[.)]\s++\**+(?P<name>[^*(:]++)\**+\s*+\(\s*+weight\s*+[:=]\s*+"
    r"(?P<weight>\d{1,9}+(?:\.\d{1,9}+)?+|\.\d{1,9}+)\s*+\)\s*+:?+\s*+(?P<rest>.*)$",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\s*+\d++[.)]\s++\**+(?P<name>[^*(:]++)\**+\s*+:\s*+(?P<rest>.+)"
    r"\(\s*+(?P<low>\d{1,9}+)\s*+[-–]\s*+(?P<high>\d{1,9}+)\s*+\)\s*+$"
)
_LEVEL = re.compile(r"\s*+[-*•]\s++(?P<score>\d++)\s*+[:=]\s*+(?P<text>\S.*)$")
_POINT = re.compile(r"\s*+[-*•]\s++(?P<text>\S.*)$")
_RANGE = re.compile(
    r"\(\s*(?P<a>\d{1,3})\s*[-–]\s*(?P<b>\d{1,3})(?:\s+scale)?\s*\)"
    r"|\b(?:scale|score|rate)\D{1,20}(?P<c>\d{1,3})\s*(?:-|–|to)\s*(?P<d>\d{1,3})\b"
    r"|\b(?P<e>\d{1,3})\s*(?:-|–|to)\s*(?P<f>\d{1,3})\s+(?:scale|points)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ParsedRubric:
    """The criteria of a rubric, the range of their scores, and the text before the first."""

    criteria: tuple[dict[str, Any], ...]
    range: tuple[int, int]
    opening: str


@dataclass
class _Criterion:
    """A criterion while its lines are read."""

    name: str
    weight: float
    range: tuple[int, int] | None
    description: list[str] = field(default_factory=list)
    levels: dict[str, str] = field(default_factory=dict)

    def add(self, line: str) -> None:
        """Read a line below the heading: a level of the scale, or more of the description."""
        line = line.rstrip()
        if found := _LEVEL.match(line):
            self.levels[found["score"]] = found["text"]
            return
        found = _POINT.match(line)
        self.description.append(found["text"] if found else line.strip())

    def document(self) -> dict[str, Any]:
        """The criterion as a grader has it."""
        document: dict[str, Any] = {"name": self.name, "weight": self.weight}
        description = " ".join(text for text in self.description if text)
        if description:
            document["description"] = description
        if self.levels:
            document["levels"] = self.levels
        return document


def parse_rubric(text: str) -> ParsedRubric | None:
    """The criteria of a rubric; None if it lists none, or if they have different ranges."""
    opening: list[str] = []
    criteria: list[_Criterion] = []
    for line in text.splitlines():
        heading = _read_heading(line)
        if heading is not None:
            criteria.append(heading)
        elif criteria:
            criteria[-1].add(line)
        else:
            opening.append(line)
    names = [one.name for one in criteria]
    if not all(names) or len(set(names)) < len(names) or not any(one.weight for one in criteria):
        return None
    ranges = {one.range for one in criteria if one.range}
    if len(ranges) > 1:
        return None
    before = "\n".join(opening)
    score_range = _choose_range([*ranges, *_ranges_in(before)], criteria)
    return ParsedRubric(tuple(one.document() for one in criteria), score_range, before.strip())


def slug(name: str) -> str:
    """The name of a criterion as one word: `Best Practices` is `best_practices`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:100]


def _read_heading(line: str) -> _Criterion | None:
    """The criterion that a line begins; None for any other line."""
    if found := _WEIGHTED.match(line):
        return _Criterion(slug(found["name"]), float(found["weight"]), None, [found["rest"]])
    if found := _ASKED.match(line):
        ends = int(found["low"]), int(found["high"])
        return _Criterion(slug(found["name"]), 1.0, ends, [found["rest"].rstrip()])
    return None


def _choose_range(candidates: Sequence[tuple[int, int]], criteria: Sequence[_Criterion]) -> tuple[int, int]:
    """The first candidate that fits all levels, else the range of the levels, else the usual one."""
    levels: set[int] = set()
    for one in criteria:
        levels |= {int(score) for score in one.levels}
    for low, high in candidates:
        if low < high and all(low <= level <= high for level in levels):
            return low, high
    if len(levels) > 1:
        return min(levels), max(levels)
    return USUAL_RANGE


def _ranges_in(text: str) -> list[tuple[int, int]]:
    """The ranges of scores a text mentions: (1-5), a 1-5 scale, scores from 0 to 10."""
    ranges = []
    for match in _RANGE.finditer(text):
        low, high = [int(end) for end in match.groups() if end]
        ranges.append((low, high))
    return ranges
