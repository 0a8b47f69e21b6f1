"""The three rules of drift: from the verdicts of earlier runs and of this one to a decision."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evalq.drift.power import (
    CONFIRM_P,
    CONFIRM_RUNS,
    Habit,
    smallest_confirmed_drop,
    smallest_seed_drop,
    smallest_sequential_drop,
)
from evalq.stats import DriftEvidence, confirm_test, drift_exact_paired, drift_seed_rule, e_detector

Rule = Literal["seed", "confirm", "sequential"]
CheckVerdict = Literal["ok", "watch", "alert", "inconclusive"]
Reason = Literal["baseline", "unaccepted", "broken", "errors", "stopped", "cap"]
"""Why a check decided nothing: too few earlier runs, none accepted; the judge, its answers, its dollars."""

Verdicts = Mapping[str, bool | None]
"""Of one run: whether each case passed; None for one that errored."""

BASELINE_RUNS = 4
_HIGHEST_LEVEL = 1e12  # JSON has no infinity


@dataclass(frozen=True)
class Decision:
    """What a check came to, and everything it was made from."""

    verdict: CheckVerdict
    numbers: dict[str, Any] = field(default_factory=dict)


def inconclusive(reason: Reason, detail: str, **numbers: Any) -> Decision:
    """No verdict on the judge: what was missing."""
    return Decision("inconclusive", {**numbers, "reason": reason, "detail": detail})


def decide_seed(rule: Rule, past: Sequence[Verdicts], current: Verdicts) -> Decision:
    """The seed's rule over the cases that all five runs have a verdict for: ok, or a WATCH."""
    if len(past) < BASELINE_RUNS:
        missing = BASELINE_RUNS - len(past)
        text = (
            f"{len(past)} of {BASELINE_RUNS} earlier runs; {missing} more check{'s' * (missing > 1)} needed"
        )
        return inconclusive("baseline", text, needs_runs=missing, n_cases=len(current))
    shared = [case for case in current if all(run.get(case) is not None for run in (*past, current))]
    if too_few := _too_few(len(shared), len(current)):
        return too_few
    counts = [sum(bool(run[case]) for case in shared) for run in past]
    now, n = sum(bool(current[case]) for case in shared), len(shared)
    before = [sum(bool(run[case]) for run in past) for case in shared]
    _, lower, upper, _ = sorted(counts)
    numbers = _drop((lower + upper) / (2 * n), now / n) | {
        "n": n,
        "n_cases": len(current),
        "baseline_passes": counts,
        "passes": now,
        "p": drift_exact_paired(before, [current[case] for case in shared], BASELINE_RUNS),
        "smallest_drop_pp": _points(_smallest_by(rule, before)),
    }
    return Decision("watch" if drift_seed_rule(counts, now, n) else "ok", numbers)


def decide_confirmed(past: Sequence[Verdicts], fresh: Mapping[str, int | None]) -> Decision:
    """Four fresh answers per case against the four before: an ALERT when so few passes are no chance."""
    shared = [
        case
        for case, passes in fresh.items()
        if passes is not None and all(run.get(case) is not None for run in past)
    ]
    if too_few := _too_few(len(shared), len(fresh)):
        return too_few
    before = [sum(bool(run[case]) for run in past) for case in shared]
    now = [fresh[case] or 0 for case in shared]
    p, answers = confirm_test(before, now), CONFIRM_RUNS * len(shared)
    habit = Habit([b + x for b, x in zip(before, now, strict=True)], 2 * CONFIRM_RUNS)
    numbers = _drop(sum(before) / answers, sum(now) / answers) | {
        "n": len(shared),
        "n_cases": len(fresh),
        "fresh_passes": sum(now),
        "fresh_answers": answers,
        "p": p,
        "smallest_drop_pp": _points(smallest_confirmed_drop(habit)),
    }
    return Decision("alert" if p <= CONFIRM_P else "ok", numbers)


def decide_sequential(
    past: Sequence[Verdicts], current: Verdicts, *, evidence: DriftEvidence, rng: np.random.Generator
) -> Decision:
    """This run against the accepted one and all since, added to the evidence so far: an ALERT at 200."""
    passes, runs = _as_many_as_possible(past, current)
    if too_few := _too_few(len(passes), len(current)):
        return too_few
    now = [bool(current[case]) for case in passes]
    p = drift_exact_paired(list(passes.values()), now, runs, rng=rng)
    after = e_detector([p], evidence)
    habit = Habit([b + x for b, x in zip(passes.values(), now, strict=True)], runs + 1)
    n = len(passes)
    numbers = _drop(sum(passes.values()) / (n * runs), sum(now) / n) | {
        "n": n,
        "n_cases": len(current),
        "runs": runs,
        "baseline_passes": [sum(passes.values())],
        "passes": sum(now),
        "p": p,
        "level": min(after.level, _HIGHEST_LEVEL),
        "weeks": after.weeks,
        "alerted": after.alerted,
        "smallest_drop_pp": _points(smallest_sequential_drop(habit, evidence)),
    }
    return Decision("alert" if after.alerted else "ok", numbers)


def _as_many_as_possible(past: Sequence[Verdicts], current: Verdicts) -> tuple[dict[str, int], int]:
    """Passes per case over equally many runs each, chosen so that most verdicts count; and that number.

    A case errs now and then; left out for good it would leave nobody after a year. So each case brings its
    newest verdicts: which of them are missing says nothing about the judge.
    """
    known = {
        case: [bool(run[case]) for run in past if run.get(case) is not None]
        for case, passed in current.items()
        if passed is not None
    }
    sizes = Counter(len(verdicts) for verdicts in known.values())
    weights = {size: size * sum(n for other, n in sizes.items() if other >= size) for size in sizes if size}
    if not weights:
        return {}, 0
    runs = max(weights, key=lambda size: (weights[size], size))
    return {case: sum(all_[-runs:]) for case, all_ in known.items() if len(all_) >= runs}, runs


def _too_few(n: int, n_cases: int) -> Decision | None:
    """Fewer than half of the cases with a verdict on both sides tell of the errors, not of the judge."""
    if n * 2 >= n_cases and n:
        return None
    return inconclusive(
        "errors", f"only {n} of {n_cases} cases have a verdict in every run", n=n, n_cases=n_cases
    )


def _smallest_by(rule: Rule, before: Sequence[int]) -> float | None:
    habit = Habit(before, BASELINE_RUNS)
    return smallest_confirmed_drop(habit) if rule == "confirm" else smallest_seed_drop(habit)


def _drop(before: float, now: float) -> dict[str, float]:
    return {
        "rate_from": round(before, 6),
        "rate_to": round(now, 6),
        "drop_pp": round(100 * (before - now), 4),
    }


def _points(share: float | None) -> float | None:
    return None if share is None or math.isnan(share) else round(100 * share, 2)
