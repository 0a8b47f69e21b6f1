"""Summarises a bake-off's outcomes: rates with intervals, comparisons, agreement, warnings."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evalq.records import BakeOffRow, CallTotals, Evidence, OutcomeRow, RunRow, describe_errors
from evalq.results import BakeOffResult, Calls, CiMethod, PassK, Rate, RunResult
from evalq.stats.intervals import latency_quantile, mean_ci
from evalq.stats.passk import Estimator, pass_at_k, pass_hat_k, pass_hat_k_unbiased
from evalq.stats.score_interval import wilson
from evalq.summary.comparisons import agreements, comparisons, differences, ranked
from evalq.summary.rates import Measure, Tally, tallies
from evalq.summary.warnings import cost_warnings, grading_notes, next_commands, warnings

_EVERY_K_TO = 10
_NO_CALLS = CallTotals()


def summarise(
    bakeoff: BakeOffRow, runs: Sequence[RunRow], evidence: Evidence, *, ci: CiMethod = "wilson"
) -> BakeOffResult:
    """The whole result, interim while jobs are open; `ci` is the method for the intervals of rates."""
    by_run: defaultdict[int, list[OutcomeRow]] = defaultdict(list)
    for row in evidence.outcomes:
        by_run[row.run_id].append(row)
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
        calls=_total_calls(evidence),
        runs=tuple(results),
        comparisons=tuple(comparisons(found, ranking)),
        kappa=tuple(agreements(_votes(passed, ranking), vendors)),
        warnings=_collect_warnings(bakeoff, runs, results, evidence),
        next=tuple(next_commands(bakeoff, results)),
        n_jobs=sum(run.n_jobs for run in runs),
        n_done=len(evidence.outcomes),
        prices_as_of=bakeoff.prices_as_of,
        rescored_from=bakeoff.rescored_from,
        grading=tuple(grading_notes(evidence.opinions)),
    )


def _collect_warnings(
    bakeoff: BakeOffRow, runs: Sequence[RunRow], results: Sequence[RunResult], evidence: Evidence
) -> tuple[str, ...]:
    found = warnings(bakeoff, runs, results, evidence.first_faults)
    return (*found, *cost_warnings(runs, evidence.calls))


def summarise_run(
    bakeoff: BakeOffRow, run: RunRow, outcomes: Sequence[OutcomeRow], facts: Evidence, ci: CiMethod = "wilson"
) -> RunResult:
    """One judge's numbers."""
    tally = Counter(row.verdict for row in outcomes)
    judging = facts.calls.get((run.id, "answer"), _NO_CALLS)
    grading = facts.calls.get((run.id, "grade"), _NO_CALLS)
    latencies = [row.latency_ms for row in outcomes if row.latency_ms is not None]
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
        p50_latency_ms=latency_quantile(latencies, 0.50),
        p95_latency_ms=latency_quantile(latencies, 0.95),
        total_cost_usd=judging.cost_usd + grading.cost_usd,
        judging_cost_usd=judging.cost_usd,
        grading_cost_usd=grading.cost_usd,
        retries=judging.retries,
        errors=dict(Counter(row.error_kind for row in outcomes if row.error_kind)),
        per_stratum=measure.per_stratum(outcomes),
        metrics=_metrics(run, bakeoff, facts.scores),
        excluded=_exclusion_reason(run, outcomes, rate.n),
        macro=measure.macro(outcomes),
        pass_k=pass_ks(_tallies_of_all(outcomes), bakeoff.samples),
        n_pending=tally["pending_review"],
        rescored_from=run.rescored_from,
    )


def _votes(
    passed: Mapping[str, Sequence[float | None]], ranking: Sequence[str]
) -> dict[str, list[bool | None]]:
    """The votes of the judges that have any; without a verdict there is nothing to agree on."""
    found = {}
    for judge in ranking:
        judge_votes = votes(passed[judge])
        if any(vote is not None for vote in judge_votes):
            found[judge] = judge_votes
    return found


def _tallies_of_all(outcomes: Sequence[OutcomeRow]) -> list[Tally]:
    """Samples graded and passed of every case, including cases without a graded sample."""
    known = tallies(outcomes)
    cases = dict.fromkeys(row.case_id for row in outcomes)
    return [known.get(case, (0, 0)) for case in cases]


def _metrics(
    run: RunRow, bakeoff: BakeOffRow, scores: Mapping[tuple[int, str], Sequence[float]]
) -> dict[str, Rate]:
    """Mean scores of a task's graders; the scorer's own verdict already is the accuracy."""
    return {
        grader: _metric(values, bakeoff)
        for (run_id, grader), values in scores.items()
        if run_id == run.id and grader != bakeoff.scorer_mode
    }


def _metric(values: Sequence[float], bakeoff: BakeOffRow) -> Rate:
    """A mean with its interval, as wide as if the samples of a case were one."""
    mean = sum(values) / len(values)
    n_cases = max(1, round(len(values) / bakeoff.samples))
    if all(value in (0.0, 1.0) for value in values):
        method = "wilson"
        low, high = wilson(mean * n_cases, n_cases)
    else:
        method = "bootstrap"
        widening = math.sqrt(len(values) / n_cases)
        low, high = mean_ci(values, seed=bakeoff.seed)
        low, high = mean + (low - mean) * widening, mean + (high - mean) * widening
    if bakeoff.samples > 1:
        method += "_by_case"
    return Rate(n_cases, round(mean, 4), round(low, 4), round(high, 4), method)


def _exclusion_reason(run: RunRow, outcomes: Sequence[OutcomeRow], n_graded: int) -> str | None:
    """Why a judge is not ranked: it was stopped, or none of its answers could be graded."""
    if run.pause_reason:
        return f"paused: {run.pause_reason}"
    if n_graded or not outcomes or any(row.verdict == "pending_review" for row in outcomes):
        return None
    kind, count = Counter(row.error_kind or "errored" for row in outcomes).most_common(1)[0]
    return describe_errors(count, len(outcomes), kind)


def _total_calls(evidence: Evidence) -> Calls:
    totals = evidence.calls.values()
    return Calls(
        sent=sum(total.sent for total in totals),
        settled=sum(total.settled for total in totals),
        unknown=sum(total.unknown for total in totals),
        cached_verdicts=evidence.savings.n,
    )


def shares(rows: Sequence[OutcomeRow], cases: Iterable[str]) -> list[float | None]:
    """The share of each case's graded samples that passed; None for a case without any."""
    known = tallies(rows)
    found: list[float | None] = []
    for case in cases:
        graded, passed = known.get(case, (0, 0))
        found.append(passed / graded if graded else None)
    return found


def votes(of_cases: Sequence[float | None]) -> list[bool | None]:
    """The majority verdict of each case's samples; a tie is not a pass."""
    return [None if share is None else share > 0.5 for share in of_cases]


def pass_ks(cases: Sequence[Tally], samples: int) -> tuple[PassK, ...]:
    """One entry for each k up to ten, and for all samples; none with one sample per case.

    Each is the mean over cases; a case with fewer than k graded samples is skipped.
    """
    if samples == 1:
        return ()
    ks = sorted({*range(1, min(samples, _EVERY_K_TO) + 1), samples})
    return tuple(_pass_k(Counter(cases), k) for k in ks)


def _pass_k(kinds: Counter[Tally], k: int) -> PassK:
    enough = Counter({kind: count for kind, count in kinds.items() if kind[0] >= k})
    at, at_ci = _mean_over_cases(enough, k, pass_at_k)
    hat, hat_ci = _mean_over_cases(enough, k, pass_hat_k)
    unbiased, unbiased_ci = _mean_over_cases(enough, k, pass_hat_k_unbiased)
    skipped = kinds.total() - enough.total()
    return PassK(k, at, hat, unbiased, enough.total(), skipped, at_ci, hat_ci, unbiased_ci)


def _mean_over_cases(
    kinds: Counter[Tally], k: int, estimator: Estimator
) -> tuple[float | None, tuple[float, float] | None]:
    """The mean over cases, counted by kind, with Wilson's interval for n cases.

    That is exact where each case is 0 or 1, as with k of k samples, and conservative otherwise: a value
    between them varies less than a verdict with the same mean.
    """
    n = kinds.total()
    if not n:
        return None, None
    mean = min(1.0, sum(estimator(*kind, k) * count for kind, count in kinds.items()) / n)
    low, high = wilson(mean * n, n)
    return round(mean, 4), (round(low, 4), round(high, 4))
