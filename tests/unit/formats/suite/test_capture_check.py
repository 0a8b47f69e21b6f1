"""A captured baseline keeps the file's matchers, and a broken answer is not taken for a good one."""

from typing import Any

import pytest

from evalq.formats.suite.capture_check import find_doubt, keep_matchers
from evalq.formats.suite.forms import RegressionForm

WHEN = "{{any_iso_datetime}}"


def form(**fields: Any) -> RegressionForm:
    return RegressionForm.model_validate({"id": "r", "current": {"input": "x"}, **fields})


@pytest.mark.parametrize(
    ("output", "written", "kept"),
    [
        ({"at": "2026-01-02T03:04:05Z", "n": 2}, {"at": WHEN, "n": 1}, {"at": WHEN, "n": 2}),
        ({"at": "never"}, {"at": WHEN}, {"at": "never"}),
        ("order 7 of 9", "order {{any_number}} of 9", "order {{any_number}} of 9"),
        ("order 7 of 8", "order {{any_number}} of 9", "order 7 of 8"),
        ([{"n": 4}, {"n": 5}], [{"n": "{{any_number}}"}], [{"n": "{{any_number}}"}] * 2),
        ([1, 2], ["{{any_number}}", 3, 4], ["{{any_number}}", 2]),
        ({"new": 1}, None, {"new": 1}),
    ],
)
def test_matchers_stay_where_they_accept_the_answer(output: Any, written: Any, kept: Any) -> None:
    assert keep_matchers(output, written) == kept


def test_an_error_status_is_doubtful_unless_it_is_expected() -> None:
    answer = {"status": 500, "body": {}}
    assert find_doubt(form(), answer, is_response=True) == "it has status 500"
    assert find_doubt(form(baseline={"output": {"status": 500}}), answer, is_response=True) == ""
    assert find_doubt(form(), {"status": 200}, is_response=True) == ""
    assert find_doubt(form(), answer, is_response=False) == ""


def test_a_number_out_of_its_tolerance_is_doubtful() -> None:
    numeric = form(
        baseline={"output": {"score": 0.9}},
        comparison={"type": "numeric", "tolerance": {"score": {"min_delta": -0.05}}},
    )
    assert find_doubt(numeric, {"score": 0.2}, is_response=False).startswith("it is out of tolerance: ")
    assert find_doubt(numeric, {"score": 0.88}, is_response=False) == ""
