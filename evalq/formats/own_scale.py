"""The scale that a grader's prompt brings along: `score from 1 to 10`, `1.0 if safe, 0.0 otherwise`."""

import re
from dataclasses import dataclass

_NUMBER = r"([0-9]{1,3}(?:\.[0-9]{1,2})?)"
_TO = r" {0,2}(?:-|–|to|and|through) {0,2}"
_RANGES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:scales?|scores?|scored|scoring|rate|ratings?|grades?)\b[^0-9\n]{{0,30}}{_NUMBER}{_TO}{_NUMBER}(?![0-9%]|\.[0-9])",
        rf"\({_NUMBER}{_TO}{_NUMBER}\)",
        rf"\b{_NUMBER}{_TO}{_NUMBER} {{1,2}}(?:scale|points)\b",
    )
)
_ONE_IF = re.compile(r"\b1(?:\.0{1,2})? {1,2}(?:if|when|for)\b", re.IGNORECASE)
_ZERO_ELSE = re.compile(r"\b0(?:\.0{1,2})? {1,2}(?:if|when|for|otherwise|else)\b", re.IGNORECASE)
_REMEDY = "write one scale of whole numbers, such as: score from 0 to 10"


@dataclass(frozen=True)
class OwnScale:
    """A scale of whole numbers; its lowest score counts as 0 and its highest as 1."""

    low: int
    high: int

    def score_at(self, share: float) -> float:
        """The score at a share of the scale."""
        return self.low + share * (self.high - self.low)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


def find_own_scale(text: str) -> OwnScale | None:
    """The scale that a prompt asks for; None if it has none.

    ValueError, as `what is wrong; what to write`, for several scales and for fractions: graders give whole
    numbers.
    """
    found = _find_ranges(text)
    is_binary = _ONE_IF.search(text) is not None and _ZERO_ELSE.search(text) is not None
    if is_binary and {(float(low), float(high)) for low, high in found} <= {(0.0, 1.0)}:
        return OwnScale(0, 1)
    if not found:
        return None
    listed = " and ".join(f"{low} to {high}" for low, high in found)
    if is_binary or len({(float(low), float(high)) for low, high in found}) > 1:
        raise ValueError(f"its prompt has several scales ({listed}); {_REMEDY}")
    low, high = found[0]
    if "." in low + high or (low, high) == ("0", "1"):
        raise ValueError(f"its prompt wants fractions ({listed}), and graders give whole numbers; {_REMEDY}")
    return OwnScale(int(low), int(high))


def _find_ranges(text: str) -> list[tuple[str, str]]:
    """The ranges as written, each once; only those that begin at 0 or 1, as scales do."""
    found: dict[tuple[str, str], None] = {}
    for pattern in _RANGES:
        for low, high in pattern.findall(text):
            if float(low) in (0.0, 1.0) and float(high) > float(low):
                found[low, high] = None
    return list(found)
