"""The report as the `evalq.report/1` document."""

import json

import pytest
from report_scene import HOSTILE, make_report

from evalq.reports.report_json import report_document


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_document_is_json_whatever_the_text(text: str) -> None:
    document = json.loads(json.dumps(report_document(make_report(text))))
    assert document["cases"][0]["answers"][0]["answer"] == text


def test_the_document_has_answer_sections_cases_method_and_result() -> None:
    document = report_document(make_report())
    assert (document["schema"], document["kind"], document["id"]) == ("evalq.report/1", "bakeoff", "142")
    assert [section["key"] for section in document["sections"]][:3] == ["leaderboard", "frontier", "cost"]
    assert document["cases"][0]["answers"][2]["tokens"] is None
    assert document["method"]["seed"] == "3"
    assert document["result"]["schema"] == "evalq.bakeoff/1"
    assert document["cases_included"] == "all 3 cases included"
