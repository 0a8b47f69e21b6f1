"""Gates on reports: what passes, what fails, what cannot be told, and how the phase report says it."""

from typing import Any

import pytest

from evalq.formats.suite.gate_check import Demand, GatedJudge, gate_report, worst_of
from evalq.formats.suite.render import render_phase

ONE = Demand("pass_at_1", "pass@1", 0.85)
HAT = Demand("pass_hat_3", "pass^3", 0.70)


def document(**changes: Any) -> dict[str, Any]:
    evals = [
        {"eval_id": "cap-1", "name": "Login", "category": "capability", "status": "passed", "attempts": 1},
        {"eval_id": "cap-2", "name": "Timeout", "category": "capability", "status": "failed", "attempts": 1},
        {"eval_id": "reg-1", "name": "Hashing", "category": "regression", "status": "passed", "attempts": 1},
        {"eval_id": "reg-2", "name": "Tokens", "category": "regression", "status": "skipped", "attempts": 1},
    ]
    details = {"expected": "expires after 30 min", "actual": "never | ever"}
    failure = {"eval_id": "cap-2", "name": "Timeout", "reason": "no end", "details": details}
    report = {
        "metadata": {"environment": {"model": "m", "version": "1"}},
        "summary": {"pass_rate": 0.88, "pass_rate_ci": [0.7, 0.96], "skipped": 0},
        "metrics": {
            "pass_at_1": 0.92,
            "pass_at_1_ci": [0.81, 0.97],
            "pass_hat_3": 0.78,
            "pass_hat_3_ci": None,
        },
        "failures": [failure],
        "evals": evals,
        "recommendations": ["Mend cap-2"],
    }
    return {"eval_report": {**report, **changes}}


def gate(*demands: Demand, strict: bool = False, **changes: Any) -> GatedJudge:
    (found,) = gate_report(document(**changes), demands, strict=strict)
    return found


def test_values_decide_and_intervals_are_shown_beside() -> None:
    found = gate(ONE, HAT)
    assert [check.status for check in found.checks] == ["PASS", "PASS"]
    assert found.verdict == "PASS"
    text = render_phase([found])
    assert "| Metric | Value | Threshold | Status |" in text
    assert "| pass@1 | 0.92 [0.81, 0.97] | 0.85 | PASS |" in text
    assert "| pass^3 | 0.78 | 0.70 | PASS |" in text


def test_a_strict_gate_decides_on_the_lower_end() -> None:
    found = gate(ONE, strict=True)
    assert (found.verdict, found.checks[0].document()["decided_on"]) == ("FAIL", "lower bound")
    assert gate(HAT, strict=True).verdict == "INCONCLUSIVE"


@pytest.mark.parametrize(("threshold", "status"), [(0.92, "PASS"), (0.9201, "FAIL"), (None, "INFO")])
def test_a_threshold_is_reached_or_not(threshold: float | None, status: str) -> None:
    assert gate(Demand("pass_at_1", "pass@1", threshold)).checks[0].status == status


def test_a_metric_that_is_not_known_is_never_a_pass() -> None:
    found = gate(ONE, Demand("pass_at_5", "pass@5", 0.1))
    assert [check.status for check in found.checks] == ["PASS", "INCONCLUSIVE"]
    assert found.verdict == "INCONCLUSIVE"
    assert "| pass@5 | – | 0.10 | INCONCLUSIVE |" in render_phase([found])


def test_evals_without_a_verdict_keep_a_gate_from_passing() -> None:
    assert gate(ONE, summary={"pass_rate": 1.0, "skipped": 1}).verdict == "INCONCLUSIVE"
    assert gate(Demand("pass_at_1", "pass@1", 0.99), summary={"skipped": 1}).verdict == "FAIL"


def test_the_pass_rate_is_a_metric_too() -> None:
    found = gate(Demand("pass_rate", "pass_rate", 0.9))
    assert (found.checks[0].value, found.verdict) == (0.88, "FAIL")


def test_a_report_without_demands_does_not_pass() -> None:
    assert gate(Demand("pass_at_1", "pass@1")).verdict == "INFO"


def test_the_worst_of_several_judges_counts() -> None:
    bad = {**document()["eval_report"], "judge": "bad", "metrics": {"pass_at_1": 0.1}}
    good = {**document()["eval_report"], "judge": "good"}
    found = gate_report(document(judges=[good, bad]), [ONE])
    assert [(one.judge, one.verdict) for one in found] == [("good", "PASS"), ("bad", "FAIL")]
    assert worst_of([one.verdict for one in found]) == "FAIL"
    assert "#### Judge bad: FAIL" in render_phase(found)


def test_the_phase_report_ticks_off_the_evals() -> None:
    text = render_phase([gate(ONE)], title="Auth")
    assert "## Phase Completion Report: Auth" in text
    assert "**Verdict: " in text
    assert "#### Capability Evals (1/2 passed)" in text
    assert "- [x] cap-1: Login" in text
    assert (
        "- [ ] cap-2: Timeout (FAILED)\n  - Expected: expires after 30 min\n  - Actual: never \\| ever"
        in text
    )
    assert "#### Regression Evals (1/2 passed)" in text
    assert "- [ ] reg-2: Tokens (NO VERDICT)" in text
    assert "### Recommendations\n\n1. Mend cap-2" in text
