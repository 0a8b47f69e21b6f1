"""What is measured: a workload, the figures of one run of one contender, and their medians."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Workload:
    """So many judges are asked so many cases by calls of one latency, so many calls at once."""

    name: str
    judges: int
    cases: int
    latency_ms: int
    at_once: int

    @property
    def calls(self) -> int:
        """One per judge and case."""
        return self.judges * self.cases

    @property
    def ideal_s(self) -> float:
        """How long the waiting alone takes with every slot always full."""
        return self.calls * self.latency_ms / 1000 / self.at_once

    def describe(self) -> str:
        """In words."""
        return (
            f"{self.name}: {self.calls:,} calls of {self.latency_ms} ms, {self.at_once:,} at once "
            f"({self.judges} judges × {self.cases:,} cases), ideal {self.ideal_s:.1f} s"
        )


WORKLOADS = {
    "W1": Workload("W1", judges=6, cases=100, latency_ms=500, at_once=64),
    "W2": Workload("W2", judges=6, cases=500, latency_ms=200, at_once=128),
    "W3": Workload("W3", judges=6, cases=2000, latency_ms=100, at_once=256),
    "W4": Workload("W4", judges=4, cases=1000, latency_ms=2000, at_once=1000),
}
GROWTH = (
    Workload("1k", judges=4, cases=250, latency_ms=50, at_once=256),
    Workload("10k", judges=4, cases=2500, latency_ms=50, at_once=256),
    Workload("100k", judges=4, cases=25_000, latency_ms=50, at_once=256),
)


@dataclass(frozen=True)
class Measurement:
    """One run of one contender; seconds count from the start of its command.

    `cpu_s` and `peak_rss_mb` are by part of the contender; `unseen` is the CPU of processes that ended
    between two samples. The calls are as the provider saw them.
    """

    contender: str
    workload: Workload
    exit_code: int
    wall_s: float
    quiet_s: float
    cpu_s: Mapping[str, float]
    peak_rss_mb: Mapping[str, float]
    peak_total_mb: float
    calls: int
    asked_twice: int
    peak_in_flight: int
    first_call_s: float
    after_last_answer_s: float
    transactions: int = 0
    valkey_commands: Mapping[str, int] = field(default_factory=dict)

    @property
    def times_ideal(self) -> float:
        """Wall time over the workload's ideal."""
        return self.wall_s / self.workload.ideal_s

    @property
    def cpu_ms_a_call(self) -> float:
        """CPU of all processes for one call of the workload."""
        return sum(self.cpu_s.values()) * 1000 / self.workload.calls

    @property
    def is_complete(self) -> bool:
        """Whether the contender ended well, having made every call."""
        return self.exit_code == 0 and self.calls >= self.workload.calls


@dataclass(frozen=True)
class Series:
    """The complete runs of one contender on one workload, and how many were not complete."""

    contender: str
    workload: Workload
    runs: Sequence[Measurement]
    n_incomplete: int = 0

    def median(self, get: Callable[[Measurement], float]) -> float:
        """The median of a figure; NaN without a complete run."""
        return statistics.median(get(run) for run in self.runs) if self.runs else float("nan")

    def spread(self, get: Callable[[Measurement], float]) -> tuple[float, float]:
        """The least and the most of a figure; NaN without a complete run."""
        values = [get(run) for run in self.runs]
        return (min(values), max(values)) if values else (float("nan"), float("nan"))

    def median_by_part(self, get: Callable[[Measurement], Mapping[str, float]]) -> dict[str, float]:
        """The median of each part's figure, the largest first; a part that a run lacks counts 0 in it."""
        parts = {part for run in self.runs for part in get(run)}
        medians = {part: statistics.median(get(run).get(part, 0) for run in self.runs) for part in parts}
        return dict(sorted(medians.items(), key=lambda item: -item[1]))

    @property
    def asked_twice(self) -> int:
        """Questions asked twice in all runs."""
        return sum(run.asked_twice for run in self.runs)


def collect_series(runs: Sequence[Measurement]) -> list[Series]:
    """One series per workload and contender, in the order of their first runs."""
    groups: dict[tuple[Workload, str], list[Measurement]] = {}
    for run in runs:
        groups.setdefault((run.workload, run.contender), []).append(run)
    series = []
    for (workload, contender), made in groups.items():
        complete = [run for run in made if run.is_complete]
        series.append(Series(contender, workload, complete, len(made) - len(complete)))
    return series
