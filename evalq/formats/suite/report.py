"""The report of a suite run, as a document: metadata, summary, metrics, failures, recommendations."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalq.formats.suite.metrics import metrics_of, summary_of
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.reports.text import one_line

_MANY = 3
_MOST = 0.5

_BY_KIND = {
    "timeout": "Answers come too late: raise timeout_seconds, or ask for less at once",
    "function_output": "Code does not do what its tests ask: read their outputs in the details",
    "structural_match": "The shape of outputs changed: mend it, or capture new baselines if it is meant",
    "numeric_delta": "Numbers moved beyond their tolerance: find what changed since the baseline",
    "exact_match": "Answers differ from the exact text: check the wording, or whether exactness is meant",
    "regex": "Answers do not match their patterns: check what they begin and end with",
    "semantic": "Answers leave out what they must say, or say what they must not",
}


def recommendations(found: JudgeOutcomes, *, samples: int) -> list[str]:
    """Advice in the order of weight: what is critical, what repeats, what could not be told."""
    return list(
        dict.fromkeys([*_of_failures(found.evals), *_of_skipped(found.evals), *_of_luck(found, samples)])
    )


def _of_failures(evals: Sequence[EvalOutcome]) -> Iterator[str]:
    failed = [one for one in evals if one.status == "failed"]
    for one in failed:
        if one.criticality == "critical":
            yield f"Mend {one.id} ({one.name}) first: it is critical"
    regressions = [one for one in failed if one.eval_type == "regression"]
    if regressions:
        yield f"Find what changed since the baselines of {_named(regressions)}"
    for topic, group in _groups(failed, evals):
        yield f"Improve {topic}: {len(group[0])} of {group[1]} evals fail ({_named(group[0])})"
    kinds = Counter(kind for one in failed for kind in _kinds(one))
    for kind, count in kinds.most_common():
        if kind in _BY_KIND:
            yield f"{_BY_KIND[kind]} ({count})"
    if failed and not kinds:
        yield f"Read the answers of {_named(failed)}"


def _of_skipped(evals: Sequence[EvalOutcome]) -> Iterator[str]:
    by_why: defaultdict[str, list[EvalOutcome]] = defaultdict(list)
    for one in evals:
        by_why[one.why_skipped or ""].append(one)
    if by_why["errored"]:
        yield f"No verdict on {_named(by_why['errored'])}: see why before trusting the rate"
    if by_why["pending_review"]:
        yield f"{_named(by_why['pending_review'])} wait for people: evalq review"
    if by_why["no_baseline"]:
        yield f"Capture baselines for {_named(by_why['no_baseline'])}: evalq baseline capture"
    if by_why["not_run"]:
        yield f"{_named(by_why['not_run'])} were not run: raise timeout_global, or the cap"


def _of_luck(found: JudgeOutcomes, samples: int) -> Iterator[str]:
    lucky = [one for one in found.evals if one.status == "passed" and one.retries]
    if lucky:
        yield f"{_named(lucky)} passed on a retry only: unsteady, look before relying on them"
    mixed = [one for one in found.evals if samples > 1 and 0 < one.tally[1] < one.tally[0]]
    if mixed:
        yield f"{_named(mixed)} pass sometimes: make the task plainer, or the system steadier"


def _groups(
    failed: Sequence[EvalOutcome], evals: Sequence[EvalOutcome]
) -> Iterator[tuple[str, tuple[list[EvalOutcome], int]]]:
    """Topics of which many fail, or most."""
    for topic in dict.fromkeys(one.category for one in failed if one.category):
        group = [one for one in failed if one.category == topic]
        total = sum(one.category == topic for one in evals)
        if len(group) >= _MANY or len(group) >= max(1, _MOST * total):
            yield topic.replace("_", " "), (group, total)


def _kinds(one: EvalOutcome) -> list[str]:
    """The graders that failed it, by type; the time limit by its name."""
    decisive = one.decisive
    grades = decisive.grades if decisive else ()
    return [
        "timeout" if grade.get("grader") == "timeout" else str(grade.get("kind", ""))
        for grade in grades
        if grade.get("passed") is False
    ]


def _named(evals: Sequence[EvalOutcome]) -> str:
    ids = [one.id for one in evals]
    more = f" and {len(ids) - _MANY} more" if len(ids) > _MANY else ""
    return ", ".join(ids[:_MANY]) + more


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


NOTHING = "–"


def share(value: float | None, interval: Sequence[float] | None = None) -> str:
    """0.92 [0.81, 0.97]; a dash for what is not known."""
    if value is None:
        return NOTHING
    shown = f"{value:.2f}" if round(value, 2) == value else f"{value:.3f}"
    return f"{shown} [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else shown


def counted(counts: Mapping[str, Any]) -> str:
    """12/13 passed, and what was skipped."""
    total = counts.get("total", counts.get("total_evals", 0))
    skipped = counts.get("skipped", 0)
    return f"{counts['passed']}/{total} passed" + (f", {skipped} skipped" if skipped else "")


def headline(report: Mapping[str, Any]) -> str:
    """What the run came to."""
    summary, about = report["summary"], report["metadata"]
    rate = share(summary["pass_rate"], summary.get("pass_rate_ci"))
    return f"{about['suite_name']}: {counted(summary)}, pass rate {rate}"


def metric_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every metric by the name people write, with its interval."""
    rows = []
    for name, value in metrics.items():
        if name.startswith(("pass_at_", "pass_hat_")) and not name.endswith("_ci"):
            rows.append((spoken(name), share(value, metrics.get(f"{name}_ci"))))
    return rows


def spoken(name: str) -> str:
    """pass@3 for pass_at_3."""
    word, _, rest = name.removeprefix("pass_").partition("_")
    k, _, note = rest.partition("_")
    return f"pass{'@' if word == 'at' else '^'}{k}" + (f" ({note})" if note else "")


_SIGNS = {"passed": "✓", "failed": "✗", "skipped": "–"}
_WIDTH = 200


def render_suite_plain(document: Mapping[str, Any], *, verbose: bool = False) -> str:
    """The report in lines; with `verbose`, one for every eval."""
    return "\n".join(_lines(document["eval_report"], verbose=verbose))


def _lines(report: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    yield one_line(headline(report))
    for name, counts in report["summary"]["by_category"].items():
        yield f"  {name}: {counted(counts)}"
    graders = {name: one for name, one in report["summary"]["by_grader"].items() if one["total"]}
    yield "  by grader: " + ", ".join(
        f"{name} {one['passed']}/{one['total']}" for name, one in graders.items()
    )
    yield "  " + "  ".join(f"{name} {value}" for name, value in metric_rows(report["metrics"]))
    if report["metrics"].get("note"):
        yield f"  {report['metrics']['note']}"
    if verbose:
        yield from (_eval(one) for one in report["evals"])
    for one in (*report["failures"], *report["errors"]):
        sign = _SIGNS["failed" if one in report["failures"] else "skipped"]
        yield one_line(f"{sign} {one['eval_id']}: {one['name']}: {one['reason']}", _WIDTH)
    if len(report["judges"]) > 1:
        yield from (_judge(one) for one in report["judges"])
    for text in report["recommendations"]:
        yield one_line(f"→ {text}", _WIDTH)


def _eval(one: Mapping[str, Any]) -> str:
    times = f" after {one['attempts']} attempts" if one["attempts"] > 1 else ""
    of = f" ({one['samples_passed']}/{one['samples_graded']})" if one["samples_graded"] > 1 else ""
    return one_line(
        f"{_SIGNS[one['status']]} {one['eval_id']}: {one['name']}: {one['status']}{of}{times}", _WIDTH
    )


def _judge(one: Mapping[str, Any]) -> str:
    rate = share(one["summary"]["pass_rate"], one["summary"].get("pass_rate_ci"))
    return one_line(f"{one['judge']}: {counted(one['summary'])}, pass rate {rate}", _WIDTH)
