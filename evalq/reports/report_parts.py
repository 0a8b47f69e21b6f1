"""What a report consists of, whatever it is about: an answer, caveats, sections, cases, the method."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evalq.records import Verdict
from evalq.reports.cases import AnswerView, CaseView

REPORT_SCHEMA = "evalq.report/1"
OWN_COMMENT = "<!-- evalq report -->"
"""Begins our Markdown and XML, so that the next report may replace the file."""

MOST_CASES = 200

ReportKind = Literal["bakeoff", "suite", "drift"]

SIGNS: Mapping[Verdict, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "failed"),
    "errored": ("!", "not graded"),
    "pending_review": ("?", "waits for review"),
}
"""The sign and the word of each verdict."""

_WORST_FIRST: tuple[Verdict, ...] = ("errored", "failed", "pending_review", "passed")


@dataclass(frozen=True)
class ReportTable:
    """Cells of text under headings; `numbers` are the columns to align on the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ReportSection:
    """A heading with remarks, tables and charts; a chart is our own SVG, all else is plain text."""

    key: str
    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    charts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportCases:
    """The cases that a report shows, of how many; `withheld` is the reason why it shows none.

    `disagreements` are the ids of the cases on which judges differ, among all cases.
    """

    judges: tuple[str, ...] = ()
    cases: tuple[CaseView, ...] = ()
    n_cases: int = 0
    n_not_passed: int = 0
    disagreements: tuple[str, ...] = ()
    rest_command: str = ""
    withheld: str = ""


@dataclass(frozen=True)
class Report:
    """A report: `facts` go below the title, `document` is the machine-readable result behind it."""

    kind: ReportKind
    id: str
    title: str
    facts: tuple[str, ...]
    answer: str
    caveats: tuple[str, ...]
    sections: tuple[ReportSection, ...]
    cases: ReportCases
    method: tuple[tuple[str, str], ...]
    next: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is about, in a heading: bake-off 142, suite-7."""
        return self.id if self.kind == "suite" else f"bake-off {self.id}"


def text_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", numbers: Iterable[int] = ()
) -> ReportTable:
    """A table of rows."""
    cells = tuple(tuple(row) for row in rows)
    return ReportTable(tuple(columns), cells, title, frozenset(numbers))


def worst_verdict(answers: Iterable[AnswerView]) -> Verdict | None:
    """The worst verdict on some answers; None without any."""
    return min((answer.verdict for answer in answers), key=_WORST_FIRST.index, default=None)


def describe_included(cases: ReportCases) -> str:
    """How many of the cases are in the report, and where the rest is."""
    if cases.withheld:
        return cases.withheld
    shown = len(cases.cases)
    if shown == cases.n_cases:
        return f"all {shown:,} cases included" if shown else "no case has an outcome yet"
    not_passed = sum(worst_verdict(case.answers) != "passed" for case in cases.cases)
    return f"{not_passed:,} of {cases.n_not_passed:,} non-passing cases included; rest: {cases.rest_command}"
