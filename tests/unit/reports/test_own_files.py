"""Which files the next report may replace."""

import json

import pytest
from report_scene import make_report

from evalq.reports.answer_table import render_csv
from evalq.reports.html_page import render_html
from evalq.reports.junit import render_junit
from evalq.reports.markdown import render_markdown
from evalq.reports.own_files import is_own_report
from evalq.reports.report_json import report_document


def test_every_form_of_our_own_may_be_replaced() -> None:
    report = make_report()
    cases = report.cases.cases
    texts = [
        render_html(report),
        render_markdown(report),
        render_junit(report, cases),
        "".join(render_csv(cases)),
    ]
    for text in (*texts, json.dumps(report_document(report))):
        assert is_own_report(text)


@pytest.mark.parametrize(
    "text", ["", "notes", "<html></html>", "# Notes", "<testsuites/>", "id,answer\n1,x\n", "{}"]
)
def test_what_another_wrote_may_not(text: str) -> None:
    assert not is_own_report(text)
