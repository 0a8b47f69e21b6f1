"""What a report says of itself."""

from dataclasses import replace

from report_scene import make_report

from evalq.reports.report_parts import ReportCases, describe_included


def test_a_suite_run_has_its_own_name() -> None:
    assert make_report().name == "bake-off 142"
    assert replace(make_report(), kind="suite", id="suite-7").name == "suite-7"


def test_a_report_without_an_outcome_says_so() -> None:
    assert describe_included(ReportCases()) == "no case has an outcome yet"
