"""The report as Markdown: fits a comment, mentions nobody, breaks no table."""

import re
from dataclasses import replace

import pytest
from report_scene import HOSTILE, make_case, make_report

from evalq.reports.markdown import MAX_CHARS, escape_markdown, render_markdown
from evalq.reports.report_parts import ReportSection, text_table


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_breaks_no_table_and_makes_no_element(text: str) -> None:
    found = render_markdown(make_report(text, judge=text[:80] or "x", stratum=text[:80]))
    assert len(found.encode()) <= MAX_CHARS
    assert set(re.findall(r"<(/?\w+)", found)) <= {"details", "/details", "summary", "/summary"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", found)
    assert not re.search(r"@\w|#\d|://|(?<!\\)\]\(", found)
    for block in re.findall(r"(?:^\|.*\n)+", found, re.MULTILINE):
        columns = [len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()]
        assert len(set(columns)) == 1, block


def test_numbers_in_cells_stay_as_they_are() -> None:
    found = render_markdown(make_report())
    assert "| 85.0% |" in found
    assert "| 0.0020 |" in found


def test_the_answer_the_caveats_and_the_dollars_a_month_are_in_it() -> None:
    found = render_markdown(make_report("few cases"))
    assert "**Ship good@\u200bshort: it beats poor by 45 pp.**" in found
    assert "- ⚠ few cases" in found
    assert "\\$/month at 1,000 cases" in found


def test_a_line_that_would_begin_a_list_does_not() -> None:
    found = render_markdown(replace(make_report(), caveats=("1. first", "- second", "+ third", "2) fourth")))
    assert "- ⚠ 1\\. first" in found
    assert "- ⚠ \\- second" in found
    assert "- ⚠ \\+ third" in found
    assert "- ⚠ 2\\) fourth" in found


def test_very_many_cases_are_listed_in_part() -> None:
    found = render_markdown(make_report("x", n_cases=190))
    assert "140 more in the HTML report" in found


def test_a_report_too_long_for_a_comment_loses_its_last_sections_first() -> None:
    rows = [["cell " * 20] * 6 for _ in range(50)]
    sections = tuple(
        ReportSection(f"s{number}", f"Section {number}", tables=(text_table(["c"] * 6, rows),))
        for number in range(9)
    )
    found = render_markdown(replace(make_report(), sections=sections))
    assert len(found.encode()) <= MAX_CHARS
    assert "Section 0" in found
    assert "Section 8" not in found


def test_even_one_endless_section_is_cut() -> None:
    lines = tuple("line " * 100 for _ in range(300))
    found = render_markdown(replace(make_report(), sections=(ReportSection("a", "A", lines),)))
    assert len(found.encode()) <= MAX_CHARS
    assert found.endswith("…\n")


def test_a_long_table_says_how_many_rows_are_missing() -> None:
    section = ReportSection("a", "A", tables=(text_table(["c", "d"], [["x", "y"]] * 100, title="T"),))
    assert "| … 40 more |  |" in render_markdown(replace(make_report(), sections=(section,)))


def test_a_case_without_an_answer_or_a_reason_is_listed_too() -> None:
    case = replace(make_case(0, "x"), answers=())
    found = replace(make_report().cases, cases=(case,))
    assert "| case-000 | EN | · | · | · |  |" in render_markdown(replace(make_report(), cases=found))


def test_a_passed_report_lists_no_case() -> None:
    case = make_case(0, "x")
    found = replace(make_report().cases, cases=(replace(case, answers=case.answers[:1]),), n_cases=1)
    assert "<summary>1 cases" not in render_markdown(replace(make_report(), cases=found, next=()))


def test_escaping_keeps_the_letters() -> None:
    assert escape_markdown("Điện Biên *x*") == r"Điện Biên \*x\*"
