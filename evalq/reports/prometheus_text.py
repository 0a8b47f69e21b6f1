"""Figures in the text format that Prometheus reads."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from evalq.reports.text import one_line

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_LONGEST_LABEL = 200

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Histogram:
    """Counts of values by bucket: `counts` has one more than `bounds`, for what is above the last bound."""

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


@dataclass
class Metric:
    """One name with its help and its samples; values of labels may be users' words."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    _lines: list[str] = field(default_factory=list)

    def add(self, value: float | Decimal, **labels: str) -> None:
        """Add a sample."""
        self._lines.append(f"{self.name}{_write_labels(labels)} {_write_number(value)}")

    def add_histogram(self, values: Histogram, **labels: str) -> None:
        """Add the buckets of a histogram, each with all below it, their sum and their number."""
        below = 0
        for bound, count in zip((*values.bounds, math.inf), values.counts, strict=True):
            below += count
            edge = {**labels, "le": _write_number(bound)}
            self._lines.append(f"{self.name}_bucket{_write_labels(edge)} {below}")
        written = _write_labels(labels)
        self._lines.append(f"{self.name}_sum{written} {_write_number(values.total)}")
        self._lines.append(f"{self.name}_count{written} {below}")

    def write(self) -> str:
        """The metric as text; nothing when it has no sample."""
        if not self._lines:
            return ""
        text = self.help.replace("\\", r"\\").replace("\n", r"\n")
        head = [f"# HELP {self.name} {text}", f"# TYPE {self.name} {self.kind}"]
        return "\n".join([*head, *self._lines, ""])


def write_metrics(metrics: Iterable[Metric]) -> str:
    """All metrics as one document."""
    return "".join(metric.write() for metric in metrics)


def _write_labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    """A label's value on one line, without control characters, of bounded length."""
    line = one_line(value, _LONGEST_LABEL)
    return line.replace("\\", r"\\").replace('"', r"\"")


def _write_number(value: float | Decimal) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int) else repr(float(value))
