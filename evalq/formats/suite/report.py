"""The report of a suite run as a document: metadata, summary, metrics, failures, recommendations."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalq.formats.suite.evals import TIMEOUT
from evalq.formats.suite.metrics import metrics_of, summary_of
from evalq.formats.suite.outcomes import EvalOutcome, JudgeOutcomes, SuiteRun

SCHEMA = "evalq.suite/1"
MAX_ANSWER_CHARS = 2_000

_MANY = 3
_MOST = 0.5

_ADVICE_BY_GRADER = {
    TIMEOUT: "Answers come too late: raise timeout_seconds, or ask for less at once",
    "function_output": "Code does not do what its tests ask: read their outputs in the details",
    "structural_match": "The shape of outputs changed: fix it, or capture new baselines if it is meant",
    "numeric_delta": "Numbers moved beyond their tolerance: find what changed since the baseline",
    "exact_match": "Answers differ from the exact text: check the wording, or whether exactness is meant",
    "regex": "Answers do not match their patterns: check what they begin and end with",
    "semantic": "Answers leave out required statements, or contain forbidden ones",
}


def report_of(run: SuiteRun) -> dict[str, Any]:
    """The report. Its numbers are those of the first judge; `judges` has those of each."""
    judges = [_build_judge_report(found, run) for found in run.judges]
    first = judges[0]
    return {
        "schema": SCHEMA,
        "eval_report": {
            "metadata": _build_metadata(run),
            "summary": first["summary"],
            "metrics": first["metrics"],
            "failures": first["failures"],
            "errors": first["errors"],
            "recommendations": first["recommendations"],
            "evals": first["evals"],
            "judges": judges,
        },
    }


def _build_metadata(run: SuiteRun) -> dict[str, Any]:
    return {
        "suite_name": run.suite,
        "run_id": run.run_id,
        **({"suite_run": run.id} if run.id else {}),
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


def _build_judge_report(found: JudgeOutcomes, run: SuiteRun) -> dict[str, Any]:
    details = run.include_details
    failed = [one for one in found.evals if one.status == "failed"]
    skipped = [one for one in found.evals if one.status == "skipped"]
    return {
        "judge": found.judge,
        "model": found.model,
        "summary": summary_of(found.evals),
        "metrics": metrics_of(found.evals, run.samples, run.ks),
        "failures": [_describe_failure(one, details=details) for one in failed],
        "errors": [_describe_failure(one, details=details) for one in skipped],
        "recommendations": recommendations(found.evals, samples=run.samples),
        "evals": [_build_eval_line(one) for one in found.evals],
    }


def _build_eval_line(one: EvalOutcome) -> dict[str, Any]:
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


def _describe_failure(one: EvalOutcome, *, details: bool) -> dict[str, Any]:
    return {
        "eval_id": one.id,
        "name": one.name,
        "reason": one.reason,
        "details": _describe_attempt(one) if details else {},
    }


def _describe_attempt(one: EvalOutcome) -> dict[str, Any]:
    decisive = one.decisive
    if decisive is None:
        return {"attempts": 0}
    found: dict[str, Any] = {
        "attempts": one.attempts,
        "expected": one.expected[:MAX_ANSWER_CHARS],
        "actual": decisive.answer[:MAX_ANSWER_CHARS],
        "error_kind": decisive.error_kind,
        "latency_ms": decisive.latency_ms,
        "graders": [_keep_grade_fields(grade) for grade in decisive.grades],
    }
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _keep_grade_fields(grade: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("grader", "kind", "passed", "score", "reason", "details")
    return {key: grade[key] for key in kept if grade.get(key) not in (None, "", {})}


def recommendations(evals: Sequence[EvalOutcome], *, samples: int) -> list[str]:
    """Advice, most important first: critical failures, patterns, missing verdicts, unstable evals."""
    advice = [*_advise_on_failures(evals), *_advise_on_skipped(evals), *_advise_on_luck(evals, samples)]
    return list(dict.fromkeys(advice))


def _advise_on_failures(evals: Sequence[EvalOutcome]) -> Iterator[str]:
    failed = [one for one in evals if one.status == "failed"]
    for one in failed:
        if one.criticality == "critical":
            yield f"Fix {one.id} ({one.name}) first: it is critical"
    regressions = [one for one in failed if one.eval_type == "regression"]
    if regressions:
        yield f"Find what changed since the baselines of {_list_ids(regressions)}"
    yield from _advise_on_topics(failed, evals)
    counts: Counter[str] = Counter()
    for one in failed:
        counts.update(_failed_graders(one))
    for kind, count in counts.most_common():
        if kind in _ADVICE_BY_GRADER:
            yield f"{_ADVICE_BY_GRADER[kind]} ({count})"
    if failed and not counts:
        yield f"Read the answers of {_list_ids(failed)}"


def _advise_on_topics(failed: Sequence[EvalOutcome], evals: Sequence[EvalOutcome]) -> Iterator[str]:
    """Name the topics in which many evals fail, or most of them."""
    for topic in dict.fromkeys(one.category for one in failed if one.category):
        group = [one for one in failed if one.category == topic]
        total = sum(one.category == topic for one in evals)
        if len(group) >= _MANY or len(group) >= max(1, _MOST * total):
            name = topic.replace("_", " ")
            yield f"Improve {name}: {len(group)} of {total} evals fail ({_list_ids(group)})"


def _failed_graders(one: EvalOutcome) -> list[str]:
    """The graders that failed the eval, by type; the time limit by its name."""
    kinds = []
    for grade in one.decisive.grades if one.decisive else ():
        if grade.get("passed") is False:
            is_timeout = grade.get("grader") == TIMEOUT
            kinds.append(TIMEOUT if is_timeout else str(grade.get("kind", "")))
    return kinds


def _advise_on_skipped(evals: Sequence[EvalOutcome]) -> Iterator[str]:
    by_reason: defaultdict[str, list[EvalOutcome]] = defaultdict(list)
    for one in evals:
        by_reason[one.why_skipped or ""].append(one)
    if by_reason["errored"]:
        yield f"No verdict on {_list_ids(by_reason['errored'])}: see why before trusting the rate"
    if by_reason["pending_review"]:
        yield f"{_list_ids(by_reason['pending_review'])} wait for people: evalq review"
    if by_reason["no_baseline"]:
        yield f"Capture baselines for {_list_ids(by_reason['no_baseline'])}: evalq baseline capture"
    if by_reason["not_run"]:
        yield f"{_list_ids(by_reason['not_run'])} were not run: raise timeout_global, or the cap"


def _advise_on_luck(evals: Sequence[EvalOutcome], samples: int) -> Iterator[str]:
    lucky = [one for one in evals if one.status == "passed" and one.retries]
    if lucky:
        yield f"{_list_ids(lucky)} passed on a retry only: check them before relying on them"
    mixed = [one for one in evals if samples > 1 and 0 < one.tally[1] < one.tally[0]]
    if mixed:
        yield f"{_list_ids(mixed)} pass sometimes: make the task plainer, or the system steadier"


def _list_ids(evals: Sequence[EvalOutcome]) -> str:
    ids = [one.id for one in evals]
    more = f" and {len(ids) - _MANY} more" if len(ids) > _MANY else ""
    return ", ".join(ids[:_MANY]) + more
