"""The report of a suite run, as a document: metadata, summary, metrics, failures, recommendations."""

from collections.abc import Mapping
from typing import Any

from evalq.reports.suite_advice import recommendations
from evalq.reports.suite_metrics import metrics_of, summary_of
from evalq.reports.suite_outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun

SCHEMA = "evalq.suite/1"
LONGEST_ANSWER = 2_000
LONGEST_REASON = 500


def report_of(run: SuiteRun) -> dict[str, Any]:
    """The report. Its numbers are those of the first judge named; `judges` has those of each."""
    reports = [_of_judge(found, run) for found in run.judges]
    first = reports[0]
    return {
        "schema": SCHEMA,
        "eval_report": {
            "metadata": _metadata(run),
            "summary": first["summary"],
            "metrics": first["metrics"],
            "failures": first["failures"],
            "errors": first["errors"],
            "recommendations": first["recommendations"],
            "evals": first["evals"],
            "judges": reports,
        },
    }


def _metadata(run: SuiteRun) -> dict[str, Any]:
    return {
        "suite_name": run.suite,
        "run_id": run.run_id,
        "timestamp": run.timestamp,
        "duration_seconds": round(run.duration_s, 1),
        "environment": {"model": run.judges[0].model, "version": run.version, **run.environment},
        "judge": run.judges[0].judge,
        "samples": run.samples,
        "bakeoffs": list(run.bakeoffs),
        "spent_usd": run.spent_usd,
        "timed_out": run.timed_out,
        "warnings": list(run.warnings),
    }


def _of_judge(found: JudgeOutcomes, run: SuiteRun) -> dict[str, Any]:
    details = run.include_details
    return {
        "judge": found.judge,
        "model": found.model,
        "summary": summary_of(found.evals),
        "metrics": metrics_of(found.evals, run.samples, run.ks),
        "failures": [_failure(one, details=details) for one in found.evals if one.status == "failed"],
        "errors": [_failure(one, details=details) for one in found.evals if one.why_skipped],
        "recommendations": recommendations(found, samples=run.samples),
        "evals": [_line(one) for one in found.evals],
    }


def _line(one: EvalOutcome) -> dict[str, Any]:
    graded, passed = one.tally
    return {
        "eval_id": one.id,
        "name": one.name,
        "category": one.eval_type,
        "topic": one.category,
        "graders": list(one.grader_types),
        "weight": one.weight,
        "criticality": one.criticality,
        "status": one.status,
        "attempts": one.attempts,
        "samples_graded": graded,
        "samples_passed": passed,
    }


def _failure(one: EvalOutcome, *, details: bool) -> dict[str, Any]:
    decisive = one.decisive
    return {
        "eval_id": one.id,
        "name": one.name,
        "reason": reason_of(one),
        "details": _details(one, decisive) if details else {},
    }


def reason_of(one: EvalOutcome) -> str:
    """Why an eval did not pass, in one line."""
    if one.lacks_baseline:
        return "there is no baseline to compare with"
    if one.decisive is None:
        return "it was not run"
    words = [str(grade["reason"]) for grade in one.decisive.grades if grade.get("passed") is False]
    reason = "; ".join(word for word in words if word) or one.decisive.reason
    return (reason or f"the answer is {one.decisive.verdict}")[:LONGEST_REASON]


def _details(one: EvalOutcome, decisive: Attempt | None) -> dict[str, Any]:
    if decisive is None:
        return {"attempts": 0}
    found: dict[str, Any] = {
        "attempts": one.attempts,
        "expected": one.expected[:LONGEST_ANSWER],
        "actual": decisive.answer[:LONGEST_ANSWER],
        "error_kind": decisive.error_kind,
        "latency_ms": decisive.latency_ms,
        "graders": [_grade(grade) for grade in decisive.grades],
    }
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _grade(grade: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("grader", "kind", "passed", "score", "reason", "details")
    return {key: grade[key] for key in kept if grade.get(key) not in (None, "", {})}
