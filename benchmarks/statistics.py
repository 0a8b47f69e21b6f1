"""50 judges over 100,000 cases: every kappa and every paired comparison, beside a loop over scikit-learn."""

import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import islice

import numpy as np
from sklearn.metrics import cohen_kappa_score

from evalq.records import OutcomeRow
from evalq.results import RunResult
from evalq.stats import Kappa, holm, kappa_matrix, mcnemar_exact, paired_counts, tango
from evalq.summary.change import Side, compare

N_JUDGES, N_CASES = 50, 100_000
MISSING = 0.01
SAMPLED_PAIRS = 25
ROUNDS = 3
BUDGET_S = 1.0

Vectors = Mapping[str, Sequence[bool | None]]
Kappas = Mapping[tuple[str, str], Kappa]


def main() -> None:
    """Print the seconds of each step for lists with gaps, then for arrays, and the ratios to the loop."""
    whole, gapped = make_verdicts()
    print(
        f"{N_JUDGES} judges × {N_CASES:,} cases, {N_JUDGES * (N_JUDGES - 1) // 2:,} pairs, best of {ROUNDS}"
    )
    measure(f"lists, {MISSING:.0%} of verdicts missing", gapped)
    kappas_s, together_s, kappas = measure("arrays, none missing", whole)
    loop_s = scikit_learn_loop(whole, kappas)
    print(f"{'kappas: a loop over scikit-learn, arrays':<46} {loop_s:8.3f} s   from {SAMPLED_PAIRS} pairs")
    print(f"{'the loop over our kappas':<46} {loop_s / kappas_s:8.0f} ×")
    print(f"{'the loop over our kappas and comparisons':<46} {loop_s / together_s:8.0f} ×")
    for n_cases in (N_CASES // 10, N_CASES):
        print(f"{f'compare: two runs of {n_cases:,} cases':<46} {compare_two_runs(n_cases):8.3f} s")


def compare_two_runs(n_cases: int) -> float:
    """Seconds to compare two runs once they are read: ten times the cases take ten times as long."""
    cases = [f"case-{i:06}" for i in range(n_cases)]
    sides = []
    for run_id, every in ((1, 3), (2, 4)):
        outcomes = [
            OutcomeRow(run_id, case, 1, i, "all", "failed" if i % every == 0 else "passed", None, 100)
            for i, case in enumerate(cases)
        ]
        sides.append(
            Side(run_id, "dev", 1, run_result(run_id, n_cases), outcomes, dict.fromkeys(cases, "same"))
        )
    began = time.perf_counter()
    compare(*sides, margin=0.05)
    return time.perf_counter() - began


def run_result(run_id: int, n_cases: int) -> RunResult:
    """The numbers of a run that a comparison prints but does not compare."""
    rate = {"accuracy": 0.7, "ci_low": 0.69, "ci_high": 0.71, "ci_method": "wilson"}
    counts = {"n_cases": n_cases, "n_pass": n_cases, "n_fail": 0, "n_error": 0}
    costs = dict.fromkeys(("total_cost_usd", "judging_cost_usd", "grading_cost_usd"), Decimal(1))
    rest = {"p50_latency_ms": 100, "p95_latency_ms": 100, "retries": 0}
    tables = {"errors": {}, "per_stratum": {}, "metrics": {}}
    return RunResult(
        run_id=run_id, judge="a", vendor="v", excluded=None, **rate, **counts, **costs, **rest, **tables
    )  # type: ignore[arg-type]


def make_verdicts() -> tuple[Vectors, Vectors]:
    """The same verdicts as arrays, and as lists with some of them missing."""
    chooser = np.random.default_rng(20_260_521)
    difficulty = chooser.random(N_CASES)
    skills = np.linspace(0.1, 0.95, N_JUDGES)
    noise = chooser.normal(0, 0.2, (N_JUDGES, N_CASES))
    passed = difficulty + noise < skills[:, np.newaxis]
    gapped = passed.astype(object)
    gapped[chooser.random(passed.shape) < MISSING] = None
    names = [f"judge-{i}" for i in range(N_JUDGES)]
    arrays = dict(zip(names, passed, strict=True))
    return arrays, {name: row.tolist() for name, row in zip(names, gapped, strict=True)}


def measure(what: str, vectors: Vectors) -> tuple[float, float, Kappas]:
    """Time the kappas, then the comparisons: counts, exact McNemar, Tango, Holm; the best of a few rounds."""
    kappas_s, comparisons_s, kappas = min((one_round(vectors) for _ in range(ROUNDS)), key=together)
    print(f"{f'kappas: {what}':<46} {kappas_s:8.3f} s")
    print(f"{f'comparisons: {what}':<46} {comparisons_s:8.3f} s")
    verdict = "within" if kappas_s + comparisons_s <= BUDGET_S else "OVER"
    print(f"{'together':<46} {kappas_s + comparisons_s:8.3f} s   {verdict} the budget of {BUDGET_S:.0f} s")
    return kappas_s, kappas_s + comparisons_s, kappas


def one_round(vectors: Vectors) -> tuple[float, float, Kappas]:
    """Everything once, from the verdicts on."""
    started = time.perf_counter()
    kappas = kappa_matrix(vectors)
    agreed = time.perf_counter()
    counts = paired_counts(vectors).values()
    adjusted = holm([mcnemar_exact(pair.a_only, pair.b_only) for pair in counts])
    differences = [tango(pair.a_only, pair.b_only, pair.n) for pair in counts]
    ended = time.perf_counter()
    assert len(kappas) == len(adjusted) == len(differences)
    return agreed - started, ended - agreed, kappas


def together(found: tuple[float, float, Kappas]) -> float:
    """The seconds of a whole round."""
    return found[0] + found[1]


def scikit_learn_loop(vectors: Vectors, kappas: Kappas) -> float:
    """The seconds a loop would take for all pairs, from pairs spread over them, whose kappas must be ours."""
    sample = list(islice(kappas.items(), 0, None, len(kappas) // SAMPLED_PAIRS))[:SAMPLED_PAIRS]
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        theirs = [cohen_kappa_score(vectors[a], vectors[b]) for (a, b), _ in sample]
        seconds.append(time.perf_counter() - started)
        assert np.allclose(theirs, [found.kappa for _, found in sample], atol=1e-12)
    return min(seconds) / len(sample) * len(kappas)


if __name__ == "__main__":
    main()
