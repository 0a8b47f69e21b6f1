"""The report as JUnit XML: failures apart from errors, valid whatever a model wrote."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from report_scene import HOSTILE, make_case, make_report

from evalq.reports.junit import render_junit


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_valid_xml(text: str) -> None:
    case = make_case(1, text, judge=text[:99] or "x")
    root = ElementTree.fromstring(render_junit(make_report(text), [replace(case, case_id=text[:50])]))
    assert {element.tag for element in root.iter()} == {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
    }


def test_failures_and_errors_are_counted_apart() -> None:
    root = ElementTree.fromstring(render_junit(make_report(), make_report().cases.cases))
    assert root.attrib | {"name": ""} == {
        "name": "",
        "tests": "9",
        "failures": "3",
        "errors": "3",
        "skipped": "0",
    }
    by_judge = {suite.attrib["name"]: suite for suite in root}
    assert by_judge["capitals · dev-20: poor"].attrib["failures"] == "3"
    error = by_judge["capitals · dev-20: mute"].find("testcase/error")
    assert error is not None
    assert (error.attrib["message"], error.attrib["type"]) == ("empty", "empty")


def test_a_failure_says_what_was_expected_and_answered() -> None:
    root = ElementTree.fromstring(render_junit(make_report(), [make_case(0, "Hue")]))
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.attrib["message"] == "Hue"
    assert failure.text == "input: Hue\nexpected: Hue\nanswer: Hue"


def test_an_answer_that_waits_for_people_is_skipped() -> None:
    case = make_case(0, "x")
    waiting = replace(case, answers=(replace(case.answers[0], verdict="pending_review"),))
    root = ElementTree.fromstring(render_junit(make_report(), [waiting]))
    assert root.attrib["skipped"] == "1"
    assert root.find(".//skipped") is not None


def test_of_several_samples_the_worst_decides() -> None:
    case = make_case(0, "x")
    again = replace(case.answers[1], judge=case.answers[0].judge, sample=2, grades=())
    root = ElementTree.fromstring(
        render_junit(make_report(), [replace(case, answers=(case.answers[0], again))])
    )
    assert (root.attrib["tests"], root.attrib["failures"]) == ("1", "1")


def test_the_message_of_an_error_is_told() -> None:
    case = make_case(0, "x")
    errored = replace(case.answers[2], answer_text="connection refused", error_kind="call_failed")
    root = ElementTree.fromstring(render_junit(make_report(), [replace(case, answers=(errored,))]))
    error = root.find(".//error")
    assert error is not None
    assert error.attrib["message"] == "call failed: connection refused"
