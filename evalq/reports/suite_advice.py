"""What to do about the failures of a suite run: rules over where they are and why, no model."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from evalq.reports.suite_outcomes import EvalOutcome, JudgeOutcomes

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
