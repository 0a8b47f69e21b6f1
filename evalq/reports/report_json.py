"""A report as the `evalq.report/1` document."""

from typing import Any

from evalq.reports.cases import AnswerView, CaseView
from evalq.reports.report_parts import REPORT_SCHEMA, Report, ReportSection, describe_included


def report_document(report: Report) -> dict[str, Any]:
    """The whole report as JSON has it; charts are left out, since their numbers are in `result`."""
    return {
        "schema": REPORT_SCHEMA,
        "kind": report.kind,
        "id": report.id,
        "title": report.title,
        "facts": list(report.facts),
        "answer": report.answer,
        "caveats": list(report.caveats),
        "sections": [_section(section) for section in report.sections],
        "cases": [_case(case) for case in report.cases.cases],
        "n_cases": report.cases.n_cases,
        "n_not_passed": report.cases.n_not_passed,
        "cases_included": describe_included(report.cases),
        "disagreements": list(report.cases.disagreements),
        "method": dict(report.method),
        "next": list(report.next),
        "result": dict(report.document),
    }


def _section(section: ReportSection) -> dict[str, Any]:
    tables = []
    for table in section.tables:
        rows = [list(row) for row in table.rows]
        tables.append({"title": table.title, "columns": list(table.columns), "rows": rows})
    return {"key": section.key, "title": section.title, "lines": list(section.lines), "tables": tables}


def _case(case: CaseView) -> dict[str, Any]:
    return {
        "case_id": case.case_id,
        "stratum": case.stratum,
        "input": case.input_text,
        "expected": case.expected_text,
        "answers": [_answer(answer) for answer in case.answers],
    }


def _answer(answer: AnswerView) -> dict[str, Any]:
    return {
        "judge": answer.judge,
        "sample": answer.sample,
        "verdict": answer.verdict,
        "error_kind": answer.error_kind,
        "answer": answer.answer_text,
        "grades": [
            {"grader": grade.grader, "passed": grade.passed, "score": grade.score, "reason": grade.reason}
            for grade in answer.grades
        ],
        "latency_ms": answer.latency_ms,
        "cost_usd": str(answer.cost_usd),
        "tokens": list(answer.tokens) if answer.tokens else None,
    }
