"""One line that is not passed fails the exam; the row of it has five keys."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from evalq.formats.eva.run import EvaResult, ExamLine

PASSED = ExamLine("a", "case", "passed", "", 3, "j", 7)
FAILED = ExamLine("b", "case", "failed", "contains: no", 9, "j", 7)
ERRED = ExamLine("trigger:q", "trigger", "errored", "decision: judge output unparseable", 20, "j", 8)
AT = datetime(2026, 11, 17, 21, 4, 5, 600, tzinfo=timezone(timedelta(hours=1)))


def result(*lines: ExamLine, capped: bool = False) -> EvaResult:
    return EvaResult("p", "prompts/p", lines, (7, 8), Decimal("0.25"), AT, capped)


def test_the_row_has_these_five_keys_and_the_time_in_utc() -> None:
    assert result(PASSED, FAILED, ERRED).row == {
        "ts": "2026-11-17T20:04:05Z",
        "all_passed": False,
        "total": 3,
        "passed": 1,
        "failed_cases": ["b", "trigger:q"],
    }
    assert datetime.fromisoformat(result().row["ts"]).tzinfo == UTC


@pytest.mark.parametrize(
    ("lines", "code"), [([PASSED], 0), ([PASSED, FAILED], 1), ([PASSED, ERRED], 1), ([FAILED, ERRED], 1)]
)
def test_one_line_that_is_not_passed_fails_the_whole(lines: list[ExamLine], code: int) -> None:
    assert (result(*lines).exit_code, result(*lines).all_passed) == (code, code == 0)


def test_an_exam_stopped_at_the_cap_says_so() -> None:
    assert result(PASSED, capped=True).exit_code == 4


def test_the_document_tells_errors_from_failures() -> None:
    document = result(ERRED, PASSED, FAILED).to_dict()
    assert document["errored_cases"] == ["trigger:q"]
    assert document["failed_cases"] == ["trigger:q", "b"]
    assert [case["name"] for case in document["cases"]] == ["a", "b"]
    assert [case["verdict"] for case in document["triggers"]] == ["errored"]
    assert document["spent_usd"] == "0.25"


def test_what_to_do_next_depends_on_how_it_went() -> None:
    assert result(PASSED).next == "evalq eva promote prompts/p"
    assert result(PASSED, FAILED).next == "evalq inspect 7 --show-failures"
