"""A report as JUnit XML: a suite per judge, a test per case; an answer without a verdict is an error."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import escape

from evalq.reports.cases import AnswerView, CaseView
from evalq.reports.report_parts import OWN_COMMENT, Report, worst_verdict
from evalq.reports.text import clean, one_line

MESSAGE_CHARS = 300
TEXT_CHARS = 2_000

_ENDS = {"failed": "failure", "errored": "error", "pending_review": "skipped"}
_NOT_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")


def render_junit(report: Report, cases: Iterable[CaseView]) -> str:
    """The report for a build server; failures and errors are counted apart, and waiting answers skipped."""
    tests: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for case in cases:
        by_judge: defaultdict[str, list[AnswerView]] = defaultdict(list)
        for answer in case.answers:
            by_judge[answer.judge].append(answer)
        for judge, answers in by_judge.items():
            tests[judge].append(_render_test(case, judge, answers))
    suites = "".join(_render_suite(report, judge, found) for judge, found in tests.items())
    ends = [end for found in tests.values() for end, _ in found]
    name = _quote(f"{report.title} ({report.name})")
    heading = f'<testsuites name="{name}" {_render_counts(ends)}>'
    declaration = f'<?xml version="1.0" encoding="UTF-8"?>\n{OWN_COMMENT}'
    return f"{declaration}\n{heading}\n{suites}</testsuites>\n"


def _render_suite(report: Report, judge: str, tests: list[tuple[str, str]]) -> str:
    counts = _render_counts([end for end, _ in tests])
    lines = "".join(text for _, text in tests)
    return f'<testsuite name="{_quote(f"{report.title}: {judge}")}" {counts}>\n{lines}</testsuite>\n'


def _render_counts(ends: list[str]) -> str:
    failures, errors, skipped = ends.count("failure"), ends.count("error"), ends.count("skipped")
    return f'tests="{len(ends)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'


def _render_test(case: CaseView, judge: str, answers: list[AnswerView]) -> tuple[str, str]:
    """How the test ended, and its element; of several samples the worst decides."""
    verdict = worst_verdict(answers)
    end = _ENDS.get(verdict or "", "")
    decisive = next(answer for answer in answers if answer.verdict == verdict)
    seconds = sum(answer.latency_ms or 0 for answer in answers) / 1000
    heading = f'<testcase classname="{_quote(judge)}" name="{_quote(case.case_id)}" time="{seconds:.3f}"'
    if not end:
        return end, f"{heading}/>\n"
    message = f'message="{_quote(_explain(decisive), MESSAGE_CHARS)}"'
    kind = f' type="{_quote(decisive.error_kind)}"' if decisive.error_kind and end == "error" else ""
    body = "" if end == "skipped" else _escape("\n".join(_describe(case, decisive)))
    return end, f"{heading}><{end} {message}{kind}>{body}</{end}></testcase>\n"


def _explain(answer: AnswerView) -> str:
    if answer.verdict == "errored":
        kind = (answer.error_kind or "errored").replace("_", " ")
        return f"{kind}: {answer.answer_text}" if answer.answer_text else kind
    if answer.verdict == "pending_review":
        return "waits for review by people"
    reasons = [grade.reason for grade in answer.grades if grade.passed is False and grade.reason]
    return "; ".join(reasons) or "failed"


def _describe(case: CaseView, answer: AnswerView) -> Iterator[str]:
    yield f"input: {case.input_text[:TEXT_CHARS]}"
    yield f"expected: {case.expected_text[:TEXT_CHARS]}"
    yield f"answer: {answer.answer_text[:TEXT_CHARS]}"


def _quote(text: str, longest: int | None = None) -> str:
    return _escape(one_line(text, longest))


def _escape(text: str) -> str:
    """Text without what XML forbids, escaped for elements and attributes."""
    return escape(clean(text).translate(_NOT_IN_XML), quote=True)
