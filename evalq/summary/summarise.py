"""From verdicts to what a bake-off comes to: rates with intervals, comparisons, agreement, warnings."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evalq.records import BakeOffRow, CallTotals, Evidence, OutcomeRow, RunRow
from evalq.results import BakeOffResult, Calls, CiMethod, PassK, Rate, RunResult
from evalq.stats.intervals import latency_quantile, mean_ci, wilson
from evalq.stats.passk import Estimator, pass_at_k, pass_hat_k, pass_hat_k_unbiased
from evalq.summary.comparisons import agreements, comparisons, differences, ranked
from evalq.summary.rates import Measure, Tally, tallies
from evalq.summary.warnings import grading_notes, next_commands, warnings

_EVERY_K_TO = 10

_Value = tuple[float | None, tuple[float, float] | None]


def pass_ks(cases: Sequence[Tally], samples: int) -> tuple[PassK, ...]:
    """One entry for each k up to ten, and for all samples; none when there is one sample a case.

    Each is worked out per case and then averaged. A case with fewer than k graded samples is skipped.
    """
    if samples == 1:
        return ()
    ks = sorted({*range(1, min(samples, _EVERY_K_TO) + 1), samples})
    return tuple(_pass_k(Counter(cases), k) for k in ks)


def _pass_k(kinds: Counter[Tally], k: int) -> PassK:
    enough = Counter({kind: count for kind, count in kinds.items() if kind[0] >= k})
    at, at_ci = _mean(enough, k, pass_at_k)
    hat, hat_ci = _mean(enough, k, pass_hat_k)
    unbiased, unbiased_ci = _mean(enough, k, pass_hat_k_unbiased)
    skipped = kinds.total() - enough.total()
    return PassK(k, at, hat, unbiased, enough.total(), skipped, at_ci, hat_ci, unbiased_ci)


def _mean(kinds: Counter[Tally], k: int, estimator: Estimator) -> _Value:
    """The mean over cases, counted by kind, with Wilson's interval at n cases.

    That is exact where a case is 0 or 1, as with k of k samples, and cautious between: a value that varies
    less than a verdict of the same mean is taken to vary as much.
    """
    n = kinds.total()
    if not n:
        return None, None
    mean = min(1.0, sum(estimator(*kind, k) * count for kind, count in kinds.items()) / n)
    low, high = wilson(mean * n, n)
    return round(mean, 4), (round(low, 4), round(high, 4))


def shares(rows: Sequence[OutcomeRow], cases: Iterable[str]) -> list[float | None]:
    """Of each case the share of graded samples that passed; None where none was graded."""
    known = tallies(rows)
    return [known[case][1] / known[case][0] if case in known else None for case in cases]


def votes(of_cases: Sequence[float | None]) -> list[bool | None]:
    """The majority of a case's samples; a tie is no pass."""
    return [None if share is None else share > 0.5 for share in of_cases]


_NO_CALLS = CallTotals()


def summarise(
    bakeoff: BakeOffRow, runs: Sequence[RunRow], evidence: Evidence, *, ci: CiMethod = "wilson"
) -> BakeOffResult:
    """The whole result; interim while jobs are open. `ci` is the interval of rates that are shares."""
    by_run = _by_run(evidence.outcomes)
    cases = dict.fromkeys(row.case_id for row in evidence.outcomes)
    unranked = [summarise_run(bakeoff, run, by_run[run.id], evidence, ci=ci) for run in runs]
    passed = {run.judge: shares(by_run[run.run_id], cases) for run in unranked if not run.excluded}
    found = differences(passed, is_sampled=bakeoff.samples > 1)
    results = ranked(unranked, found)
    ranking = [run.judge for run in results if not run.excluded]
    vendors = {run.judge: run.vendor for run in runs}
    return BakeOffResult(
        id=bakeoff.id,
        task=bakeoff.task_name,
        eval_set=bakeoff.eval_set_name,
        scorer=bakeoff.scorer_mode,
        grader=bakeoff.grader_model,
        seed=bakeoff.seed,
        samples=bakeoff.samples,
        state=bakeoff.state,
        spent_usd=bakeoff.spent_usd,
        cap_usd=bakeoff.cap_usd,
        saved_usd=evidence.savings.saved_usd,
        calls=_calls(evidence),
        runs=tuple(results),
        comparisons=tuple(comparisons(found, ranking)),
        kappa=tuple(agreements(_votes(passed, ranking), vendors)),
        warnings=tuple(warnings(bakeoff, runs, results)),
        next=tuple(next_commands(bakeoff, results)),
        n_jobs=sum(run.n_jobs for run in runs),
        n_done=len(evidence.outcomes),
        prices_as_of=bakeoff.prices_as_of,
        rescored_from=bakeoff.rescored_from,
        grading=tuple(grading_notes(evidence.opinions)),
    )


def summarise_run(
    bakeoff: BakeOffRow,
    run: RunRow,
    outcomes: Sequence[OutcomeRow],
    evidence: Evidence,
    *,
    ci: CiMethod = "wilson",
) -> RunResult:
    """One judge's numbers."""
    tally = Counter(row.verdict for row in outcomes)
    judging, grading = (evidence.calls.get((run.id, purpose), _NO_CALLS) for purpose in ("answer", "grade"))
    measure = Measure(ci, bakeoff.samples, seed=run.id)
    rate = measure.rate(outcomes)
    return RunResult(
        run_id=run.id,
        judge=run.judge,
        vendor=run.vendor,
        n_cases=run.n_jobs // bakeoff.samples,
        n_pass=tally["passed"],
        n_fail=tally["failed"],
        n_error=tally["errored"],
        accuracy=rate.accuracy,
        ci_low=rate.ci_low,
        ci_high=rate.ci_high,
        ci_method=rate.method,
        **_latencies(outcomes),
        total_cost_usd=judging.cost_usd + grading.cost_usd,
        judging_cost_usd=judging.cost_usd,
        grading_cost_usd=grading.cost_usd,
        retries=judging.retries,
        errors=dict(Counter(row.error_kind for row in outcomes if row.error_kind)),
        per_stratum=measure.per_stratum(outcomes),
        metrics=_metrics(run, bakeoff, evidence.scores),
        excluded=_excluded(run, outcomes, rate.n),
        macro=measure.macro(outcomes),
        pass_k=pass_ks(_tallied(outcomes), bakeoff.samples),
        n_pending=tally["pending_review"],
        rescored_from=run.rescored_from,
    )


def _latencies(outcomes: Sequence[OutcomeRow]) -> dict[str, int | None]:
    """Half of the answers, and nineteen of twenty, took no longer."""
    known = [row.latency_ms for row in outcomes if row.latency_ms is not None]
    return {f"p{place}_latency_ms": latency_quantile(known, place / 100) for place in (50, 95)}


def _votes(
    passed: Mapping[str, Sequence[float | None]], ranking: Sequence[str]
) -> dict[str, list[bool | None]]:
    """The votes of judges that have any; one all of whose answers wait for people agrees with nobody yet."""
    return {
        judge: votes(passed[judge]) for judge in ranking if any(share is not None for share in passed[judge])
    }


def _by_run(outcomes: Sequence[OutcomeRow]) -> defaultdict[int, list[OutcomeRow]]:
    by_run: defaultdict[int, list[OutcomeRow]] = defaultdict(list)
    for row in outcomes:
        by_run[row.run_id].append(row)
    return by_run


def _tallied(outcomes: Sequence[OutcomeRow]) -> list[Tally]:
    """Samples graded and passed of every case asked, those without a graded one too."""
    known = tallies(outcomes)
    return [known.get(case, (0, 0)) for case in dict.fromkeys(row.case_id for row in outcomes)]


def _metrics(
    run: RunRow, bakeoff: BakeOffRow, scores: Mapping[tuple[int, str], Sequence[float]]
) -> dict[str, Rate]:
    """Mean scores of a task's graders; the scorer's own verdict is the accuracy already."""
    return {
        grader: _metric(values, bakeoff)
        for (run_id, grader), values in scores.items()
        if run_id == run.id and grader != bakeoff.scorer_mode
    }


def _metric(values: Sequence[float], bakeoff: BakeOffRow) -> Rate:
    """A mean with its interval, as wide as if the samples of a case were one."""
    mean, n_cases = sum(values) / len(values), max(1, round(len(values) / bakeoff.samples))
    if all(value in (0.0, 1.0) for value in values):
        method, (low, high) = "wilson", wilson(mean * n_cases, n_cases)
    else:
        narrow, widening = mean_ci(values, seed=bakeoff.seed), math.sqrt(len(values) / n_cases)
        method, (low, high) = "bootstrap", (mean + (end - mean) * widening for end in narrow)
    by_case = "_by_case" if bakeoff.samples > 1 else ""
    return Rate(n_cases, _rounded(mean), _rounded(low), _rounded(high), method + by_case)


def _excluded(run: RunRow, outcomes: Sequence[OutcomeRow], graded: int) -> str | None:
    """A judge that was stopped, or none of whose answers could be graded, is broken, not bad."""
    if run.pause_reason:
        return f"paused: {run.pause_reason}"
    if graded or not outcomes or any(row.verdict == "pending_review" for row in outcomes):
        return None
    kind, count = Counter(row.error_kind or "errored" for row in outcomes).most_common(1)[0]
    return f"{count}/{len(outcomes)} {kind} outputs"


def _calls(evidence: Evidence) -> Calls:
    totals = evidence.calls.values()
    return Calls(
        sent=sum(t.sent for t in totals),
        settled=sum(t.settled for t in totals),
        unknown=sum(t.unknown for t in totals),
        cached_verdicts=evidence.savings.n,
    )


def _rounded(value: float) -> float:
    return round(value, 4)
