"""How the verdicts of a check become an exit code."""

import pytest

from evalq.drift.messages import CheckSubject
from evalq.drift.open import CheckResult, exit_code


def checked(verdict: str | None, rule: str = "confirm", *, is_decided: bool = True) -> CheckResult:
    return CheckResult(CheckSubject("t", "s", "j", rule, 1), verdict, is_decided, None, {})


OK, ALERT, INCONCLUSIVE = checked("ok"), checked("alert"), checked("inconclusive")


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([OK, OK], 0),
        ([OK, INCONCLUSIVE], 3),
        ([INCONCLUSIVE, ALERT], 1),
        ([checked("watch", "seed")], 1),
        ([checked("watch", is_decided=False)], 3),
        ([checked(None, is_decided=False)], 3),
        ([checked("alert", "sequential")], 1),
    ],
)
def test_a_regression_is_one_and_no_decision_three(found: list[CheckResult], code: int) -> None:
    assert exit_code(found) == code


def test_a_check_as_json_has_its_verdict_and_numbers() -> None:
    assert ALERT.document() == {
        "judge": "j",
        "run_id": 1,
        "rule": "confirm",
        "verdict": "alert",
        "decided": True,
        "confirm_run_id": None,
        "numbers": {},
    }
    assert ALERT.line == "ALERT j on t/s: under way (run 1)"
