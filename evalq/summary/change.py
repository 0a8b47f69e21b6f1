"""Compares two runs on the same cases: what changed, and whether the second is worse."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from statistics import fmean
from typing import Any, Literal

from evalq.records import OutcomeRow
from evalq.results import RunResult
from evalq.stats.comparison import cases_needed
from evalq.stats.intervals import mean_ci
from evalq.summary.comparisons import ALPHA, Difference, differences
from evalq.summary.summarise import shares

SCHEMA = "evalq.compare/1"

ChangeVerdict = Literal["regression", "improvement", "no_regression", "inconclusive"]

EXIT_CODES: Mapping[ChangeVerdict, int] = {
    "regression": 1,
    "improvement": 0,
    "no_regression": 0,
    "inconclusive": 3,
}


@dataclass(frozen=True)
class Side:
    """One of the two runs: its numbers, its outcomes, and the content of its cases by id."""

    bakeoff_id: int
    eval_set: str
    samples: int
    result: RunResult
    outcomes: Sequence[OutcomeRow]
    contents: Mapping[str, str]

    @property
    def usd_per_case(self) -> Decimal | None:
        """Dollars for all samples of a case, grading included; None before the first job has ended."""
        if not self.result.n_ended:
            return None
        return self.result.total_cost_usd * self.samples / self.result.n_ended

    def document(self) -> dict[str, Any]:
        """The run's part of the JSON document."""
        run, usd = self.result, self.usd_per_case
        return {
            "run_id": run.run_id,
            "judge": run.judge,
            "n_cases": run.n_cases,
            "n_pass": run.n_pass,
            "n_fail": run.n_fail,
            "n_error": run.n_error,
            "accuracy": run.accuracy,
            "ci_low": run.ci_low,
            "ci_high": run.ci_high,
            "ci_method": run.ci_method,
            "p50_latency_ms": run.p50_latency_ms,
            "p95_latency_ms": run.p95_latency_ms,
            "bakeoff_id": self.bakeoff_id,
            "eval_set": self.eval_set,
            "samples": self.samples,
            "usd_per_case": None if usd is None else f"{usd:.8f}",
        }


@dataclass(frozen=True)
class LatencyChange:
    """Mean change in milliseconds over the n cases of both runs, with its interval."""

    n: int
    mean_ms: float | None
    ci_low: float | None
    ci_high: float | None
    method: str = "bootstrap"


@dataclass(frozen=True)
class Change:
    """The second run minus the first.

    The case ids: `a_only` and `b_only` passed more often there, `only_in_a` and `only_in_b` are in one
    evalset, `changed` differ in content, `not_graded` have no verdict in one of the runs.
    """

    a: Side
    b: Side
    found: Difference
    margin: float
    verdict: ChangeVerdict
    latency: LatencyChange
    a_only: tuple[str, ...]
    b_only: tuple[str, ...]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    changed: tuple[str, ...]
    not_graded: tuple[str, ...]
    cases_needed: int | None
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 for a regression, 3 when there are too few cases to tell, else 0."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.compare/1` document."""
        return {
            "schema": SCHEMA,
            "a": self.a.document(),
            "b": self.b.document(),
            "n": self.found.n,
            "diff": round(self.found.diff, 4),
            "ci_low": round(self.found.low, 4),
            "ci_high": round(self.found.high, 4),
            "p": float(f"{self.found.p:.4g}"),
            "method": self.found.method,
            "margin": self.margin,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "cases_needed": self.cases_needed,
            "usd_per_case_change": self._usd_change(),
            "latency_change_ms": asdict(self.latency),
            "a_only": list(self.a_only),
            "b_only": list(self.b_only),
            "only_in_a": list(self.only_in_a),
            "only_in_b": list(self.only_in_b),
            "changed": list(self.changed),
            "not_graded": list(self.not_graded),
            "warnings": list(self.warnings),
        }

    def _usd_change(self) -> str | None:
        before, after = self.a.usd_per_case, self.b.usd_per_case
        if before is None or after is None:
            return None
        return f"{after - before:.8f}"


def compare(a: Side, b: Side, *, margin: float, warnings: Sequence[str] = ()) -> Change | None:
    """The second run against the first on the cases with a verdict in both; None without such a case.

    Cases of different evalset versions are the same if id and content are.
    """
    in_both = [case for case in a.contents if case in b.contents]
    shared = [case for case in in_both if a.contents[case] == b.contents[case]]
    before, after = shares(a.outcomes, shared), shares(b.outcomes, shared)
    is_sampled = a.samples > 1 or b.samples > 1
    found = differences({"b": after, "a": before}, is_sampled=is_sampled).get(("b", "a"))
    if found is None:
        return None
    gaps = _gaps(shared, before, after)
    verdict = judge_change(found, margin)
    return Change(
        a,
        b,
        found,
        margin,
        verdict,
        _latency_change(a, b, gaps),
        a_only=tuple(case for case in gaps if gaps[case] < 0),
        b_only=tuple(case for case in gaps if gaps[case] > 0),
        only_in_a=tuple(case for case in a.contents if case not in b.contents),
        only_in_b=tuple(case for case in b.contents if case not in a.contents),
        changed=tuple(case for case in in_both if a.contents[case] != b.contents[case]),
        not_graded=tuple(case for case in shared if case not in gaps),
        cases_needed=_cases_to_decide(found, margin) if verdict == "inconclusive" else None,
        warnings=tuple(warnings),
    )


def _gaps(
    cases: Sequence[str], before: Sequence[float | None], after: Sequence[float | None]
) -> dict[str, float]:
    """By how much more of its samples each case passed; without the cases that lack a verdict."""
    gaps = {}
    for case, then, now in zip(cases, before, after, strict=True):
        if then is not None and now is not None:
            gaps[case] = now - then
    return gaps


def judge_change(found: Difference, margin: float) -> ChangeVerdict:
    """Whether the first of the pair (the newer run) is worse than the second.

    A significant drop is a regression however small. Without one, there is no regression if even the low
    end of the interval lies within the margin; otherwise the result is inconclusive.
    """
    if found.p < ALPHA and found.excludes_zero:
        return "regression" if found.diff < 0 else "improvement"
    return "no_regression" if found.low > -margin else "inconclusive"


def _cases_to_decide(found: Difference, margin: float) -> int | None:
    """About how many cases would show a drop of the margin; it needs at least that share of flips."""
    if margin == 0:
        return None
    return max(found.n + 1, cases_needed(margin, max(found.var_d, margin - margin**2)))


def _latency_change(a: Side, b: Side, cases: Collection[str]) -> LatencyChange:
    before, after = _mean_latencies(a.outcomes), _mean_latencies(b.outcomes)
    changes = [after[case] - before[case] for case in cases if case in before and case in after]
    if not changes:
        return LatencyChange(0, None, None, None)
    low, high = mean_ci(changes, seed=b.result.run_id)
    return LatencyChange(len(changes), round(fmean(changes), 1), round(low, 1), round(high, 1))


def _mean_latencies(outcomes: Sequence[OutcomeRow]) -> dict[str, float]:
    by_case: dict[str, list[int]] = {}
    for row in outcomes:
        if row.latency_ms is not None:
            by_case.setdefault(row.case_id, []).append(row.latency_ms)
    return {case: fmean(latencies) for case, latencies in by_case.items()}
