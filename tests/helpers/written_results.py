"""A bake-off's result as it would be read from the database: one judge ranked, one excluded."""

from decimal import Decimal

from evalq.results import BakeOffResult, Calls, RunResult


def written_result(judge: str) -> BakeOffResult:
    ranked = RunResult(
        run_id=11,
        judge=judge,
        vendor="xai",
        n_cases=10,
        n_pass=8,
        n_fail=2,
        n_error=0,
        accuracy=0.8,
        ci_low=0.49,
        ci_high=0.94,
        ci_method="wilson",
        p50_latency_ms=300,
        p95_latency_ms=900,
        total_cost_usd=Decimal("0.01"),
        judging_cost_usd=Decimal("0.01"),
        grading_cost_usd=Decimal(0),
        retries=0,
    )
    return BakeOffResult(
        id=7,
        task="triage",
        eval_set="dev",
        scorer="strict_substring",
        grader=None,
        seed=0,
        samples=1,
        state="concluded",
        spent_usd=Decimal("0.01"),
        cap_usd=Decimal(5),
        saved_usd=Decimal(0),
        calls=Calls(20, 20),
        runs=(ranked, _broken(ranked)),
        comparisons=(),
        kappa=(),
        warnings=(),
        next=(),
        n_jobs=20,
        n_done=20,
    )


def _broken(run: RunResult) -> RunResult:
    from dataclasses import replace

    nothing = {"n_pass": 0, "n_fail": 0, "accuracy": None, "ci_low": None, "ci_high": None}
    return replace(run, run_id=12, judge="mute", n_error=10, excluded="10/10 empty outputs", **nothing)
