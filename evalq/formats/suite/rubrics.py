"""Criteria in the text of a rubric: numbered lines with a weight, or with a question and a range."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_WEIGHTED = re.compile(
    r"^\s*\d+[.)]\s+\**(?P<name>[^*(:]+?)\**\s*\(\s*weight\s*[:=]\s*(?P<weight>\d*\.?\d+)\s*\)\s*:?\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^\s*\d+[.)]\s+\**(?P<name>[^*(:]+?)\**\s*:\s*(?P<rest>.+?)\s*\(\s*(?P<low>\d+)\s*[-–]\s*(?P<high>\d+)\s*\)\s*$"
)
_LEVEL = re.compile(r"^\s*[-*•]\s+(?P<score>\d+)\s*[:=]\s*(?P<text>\S.*?)\s*$")
_POINT = re.compile(r"^\s*[-*•]\s+(?P<text>\S.*?)\s*$")
_RANGE = re.compile(
    r"\(\s*(?P<a>\d{1,3})\s*[-–]\s*(?P<b>\d{1,3})(?:\s+scale)?\s*\)"
    r"|\b(?:scale|score|rate)\D{1,20}(?P<c>\d{1,3})\s*(?:-|–|to)\s*(?P<d>\d{1,3})\b"
    r"|\b(?P<e>\d{1,3})\s*(?:-|–|to)\s*(?P<f>\d{1,3})\s+(?:scale|points)\b",
    re.IGNORECASE,
)
USUAL_RANGE = (1, 5)


@dataclass(frozen=True)
class ParsedRubric:
    """The criteria of a rubric, the range of their scores, and what is said before the first."""

    criteria: tuple[dict[str, Any], ...]
    range: tuple[int, int]
    opening: str


def parse_rubric(text: str) -> ParsedRubric | None:
    """The rubric's criteria; None for one that lists none, or whose criteria have different ranges."""
    opening, blocks = _blocks(text.splitlines())
    criteria = [_criterion(head, lines) for head, lines in blocks]
    names = [one["name"] for one in criteria]
    if not criteria or len(set(names)) < len(names) or not all(names):
        return None
    if not any(one["weight"] for one in criteria):
        return None
    ranges = {(int(head["low"]), int(head["high"])) for head, _ in blocks if head["low"]}
    if len(ranges) > 1:
        return None
    return ParsedRubric(tuple(criteria), _range(ranges, opening, criteria), opening.strip())


def slug(name: str) -> str:
    """A criterion's name as one word: `Best Practices` is `best_practices`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:100]


def _blocks(lines: Sequence[str]) -> tuple[str, list[tuple[dict[str, str], list[str]]]]:
    opening: list[str] = []
    blocks: list[tuple[dict[str, str], list[str]]] = []
    for line in lines:
        head = _head(line)
        if head is not None:
            blocks.append((head, []))
        elif blocks:
            blocks[-1][1].append(line)
        else:
            opening.append(line)
    return "\n".join(opening), blocks


def _head(line: str) -> dict[str, str] | None:
    if found := _WEIGHTED.match(line):
        return {**found.groupdict(), "low": "", "high": ""}
    if found := _ASKED.match(line):
        return {"weight": "1", **found.groupdict()}
    return None


def _criterion(head: dict[str, str], lines: Sequence[str]) -> dict[str, Any]:
    levels = {found["score"]: found["text"] for line in lines if (found := _LEVEL.match(line))}
    said = [head["rest"], *(_said(line) for line in lines)]
    description = " ".join(text for text in said if text)
    return {
        "name": slug(head["name"]),
        "weight": float(head["weight"]),
        **({"description": description} if description else {}),
        **({"levels": levels} if levels else {}),
    }


def _said(line: str) -> str:
    """A line below a criterion that is no level: a question, or more of the description."""
    if _LEVEL.match(line):
        return ""
    found = _POINT.match(line)
    return found["text"] if found else line.strip()


def _range(ranges: set[tuple[int, int]], opening: str, criteria: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """As the criteria say, else as the opening does, else from the lowest level to the highest."""
    levels = [int(score) for one in criteria for score in one.get("levels", {})]
    for low, high in (*ranges, *_said_ranges(opening)):
        if low < high and all(low <= level <= high for level in levels):
            return low, high
    if levels and min(levels) < max(levels):
        return min(levels), max(levels)
    return USUAL_RANGE


def _said_ranges(opening: str) -> list[tuple[int, int]]:
    """The ranges a text speaks of as such: (1-5), a 1-5 scale, scores from 0 to 10."""
    found = (match.groupdict() for match in _RANGE.finditer(opening))
    ends = ([int(text) for text in groups.values() if text] for groups in found)
    return [(low, high) for low, high in ends]
