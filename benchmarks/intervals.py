"""How fast intervals are: of 50 judges, and the bootstrap of a million verdicts beside the seed's loop."""

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evalq.stats import beta_interval, bootstrap_ci, clopper_pearson, wilson

N_JUDGES, N_CASES, N_LARGE = 50, 100_000, 1_000_000
RESAMPLES, TIMED_RESAMPLES = 1000, 10
BUDGET_JUDGES_S, BUDGET_BOOTSTRAP_S = 0.020, 0.005
REPEATS = 15

Verdicts = npt.NDArray[np.bool_]

METHODS: dict[str, Callable[[Verdicts], object]] = {
    "wilson": lambda row: wilson(int(row.sum()), len(row)),
    "clopper_pearson": lambda row: clopper_pearson(int(row.sum()), len(row)),
    "beta": lambda row: beta_interval(int(row.sum()), len(row)),
    "bootstrap": lambda row: bootstrap_ci(row, RESAMPLES),
}


def main() -> None:
    """Print the best of several runs of each, and how it stands to its budget and to the loop."""
    chooser = np.random.default_rng(20_260_521)
    judges = chooser.random((N_JUDGES, N_CASES)) < np.linspace(0.1, 0.95, N_JUDGES)[:, np.newaxis]
    large = chooser.random(N_LARGE) < 0.8
    print(f"intervals of {N_JUDGES} judges × {N_CASES:,} cases, from their verdicts, best of {REPEATS}")
    for name, method in METHODS.items():
        show(name, best(lambda: [method(row) for row in judges]), BUDGET_JUDGES_S)  # noqa: B023 - called here
    print(f"bootstrap of {N_LARGE:,} verdicts, {RESAMPLES} resamples")
    ours = best(lambda: bootstrap_ci(large, RESAMPLES))
    show("from counts", ours, BUDGET_BOOTSTRAP_S)
    loop = seed_loop_s(large)
    ratio = f"from {TIMED_RESAMPLES} of them, {loop / ours:,.0f} × ours"
    print(f"  {'the loop over resamples':<24} {loop:9.1f} s    {ratio}")


def best(action: Callable[[], object]) -> float:
    """The least seconds of several runs."""
    return min(timed(action) for _ in range(REPEATS))


def timed(action: Callable[[], object]) -> float:
    """The seconds of one run."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def show(name: str, seconds: float, budget_s: float) -> None:
    """One line, with its budget."""
    verdict = "within" if seconds <= budget_s else "OVER"
    print(f"  {name:<24} {seconds * 1e3:9.2f} ms   {verdict} the budget of {budget_s * 1e3:.0f} ms")


def seed_loop_s(verdicts: Verdicts) -> float:
    """The seconds of the loop that draws every verdict of every resample anew, from a few of them."""
    values, chooser = verdicts.astype(int), np.random.default_rng(0)
    n = len(values)

    def loop() -> list[float]:
        return [float(values[chooser.integers(0, n, size=n)].mean()) for _ in range(TIMED_RESAMPLES)]

    return timed(loop) / TIMED_RESAMPLES * RESAMPLES


if __name__ == "__main__":
    main()
