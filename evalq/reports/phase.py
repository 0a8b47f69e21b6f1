"""The phase report of a gate, in Markdown: metrics with PASS or FAIL, evals ticked off, what to do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalq.reports.gate import Check, Gated
from evalq.reports.markdown import inline
from evalq.reports.suite_metrics import EVAL_TYPES
from evalq.reports.suite_words import NOTHING, share

_LONGEST = 200


def render_phase(found: Sequence[Gated], *, title: str = "") -> str:
    """The report; one section for each judge where there are several."""
    parts = [f"## Phase Completion Report{f': {inline(title)}' if title else ''}", "### Eval Results"]
    for one in found:
        if len(found) > 1:
            parts.append(f"#### Judge {inline(one.judge)}: {one.verdict}")
        parts += [_table(one.checks), *_lists(one.report)]
    advice = list(dict.fromkeys(text for one in found for text in one.report["recommendations"]))
    if advice:
        parts.append("### Recommendations")
        parts.append("\n".join(f"{number}. {inline(text)}" for number, text in enumerate(advice, 1)))
    return "\n\n".join(parts) + "\n"


def _table(checks: Sequence[Check]) -> str:
    rows = [
        f"| {check.demand.label} | {share(check.value, check.interval)} | "
        f"{share(check.demand.threshold)} | {_said(check)} |"
        for check in checks
    ]
    return "\n".join(
        ("| Metric | Value | Threshold | Status |", "|--------|-------|-----------|--------|", *rows)
    )


def _said(check: Check) -> str:
    return NOTHING if check.status == "INFO" else check.status


def _lists(report: Mapping[str, Any]) -> Iterator[str]:
    why = {one["eval_id"]: one for one in (*report["failures"], *report.get("errors", ()))}
    for name in EVAL_TYPES:
        evals = [one for one in report.get("evals", ()) if one.get("category") == name]
        if evals:
            passed = sum(one["status"] == "passed" for one in evals)
            head = f"#### {name.capitalize()} Evals ({passed}/{len(evals)} passed)"
            yield "\n".join([head, "", *(line for one in evals for line in _ticked(one, why))])


def _ticked(one: Mapping[str, Any], why: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    name = f"{inline(one['eval_id'])}: {inline(one.get('name', ''))}"
    if one["status"] == "passed":
        yield f"- [x] {name}"
        return
    yield f"- [ ] {name} ({'FAILED' if one['status'] == 'failed' else 'NO VERDICT'})"
    found = why.get(one["eval_id"], {})
    details = found.get("details", {})
    for key in ("expected", "actual"):
        if details.get(key):
            yield f"  - {key.capitalize()}: {inline(str(details[key]), _LONGEST)}"
    if found.get("reason"):
        yield f"  - Reason: {inline(found['reason'], _LONGEST)}"
