"""The views of `inspect`: tables, answers grouped by reason, differences, confusion of labels, calls."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import count, note, print_json, print_report, print_table, suggest

if TYPE_CHECKING:
    from evalq.bakeoff.inspect import CaseFilter
    from evalq.reports.answers import AnswerGroup, AnswerPage
    from evalq.results import BakeOffResult
    from evalq.store.database import Database
    from evalq.summary.confusion import Confusion

_CALL_COLUMNS = (
    *("run", "case_id", "purpose", "judge", "attempt", "state"),
    *("reserved_usd", "cost_usd", "latency_ms", "request_id", "fault_kind", "fault_message"),
)


@dataclass(frozen=True)
class InspectOptions:
    """What of a bake-off to show."""

    show_failures: bool = False
    disagreements: bool = False
    case_id: str | None = None
    judge: str | None = None
    diff: tuple[str, str] | None = None
    confusion: bool = False
    show_calls: bool = False
    show_kappa: bool = False
    limit: int = 50
    as_json: bool = False

    @property
    def is_about_cases(self) -> bool:
        """Whether single cases or calls are asked for, which a suite run does not have."""
        is_filtered = bool(self.disagreements or self.case_id or self.judge or self.diff)
        return is_filtered or self.show_calls or self.show_kappa or self.confusion

    @property
    def cases(self) -> "CaseFilter":
        """The cases asked for."""
        from evalq.bakeoff.inspect import CaseFilter

        if self.show_failures:
            return CaseFilter("failures", self.case_id, self.judge, self.limit)
        return CaseFilter(
            "disagreements" if self.disagreements else "all", self.case_id, self.judge, self.limit
        )


def show(db: "Database", result: "BakeOffResult", wanted: InspectOptions) -> None:
    """Show the view asked for: of several options the most special one."""
    from evalq.bakeoff.inspect import require_judge

    for judge in (wanted.judge, *(wanted.diff or ())):
        require_judge(result, judge)
    if wanted.show_calls:
        _show_calls(db, result.id, wanted)
    elif wanted.show_kappa and not wanted.as_json:
        _show_kappa(result)
    elif wanted.confusion:
        _show_confusions(db, result, wanted)
    elif wanted.diff:
        _show_differences(db, result, wanted)
    elif wanted.case_id:
        _show_case(db, result, wanted)
    elif wanted.show_failures or wanted.disagreements or wanted.judge:
        _show_answers(db, result, wanted)
    else:
        _show_tables(result, as_json=wanted.as_json)


def _show_tables(result: "BakeOffResult", *, as_json: bool) -> None:
    from evalq.cli.progress import print_result
    from evalq.reports.final import render_plain_strata, render_strata

    if as_json:
        print_json(result.to_dict())
        return
    print_report(result, render_strata, render_plain_strata)
    print_result(result)


def _show_case(db: "Database", result: "BakeOffResult", wanted: InspectOptions) -> None:
    from rich.console import Console

    from evalq.bakeoff.inspect import case_document, find_cases
    from evalq.reports.cases import render_case

    cases, total = find_cases(db, result, wanted.cases)
    if wanted.as_json:
        listed = [case_document(case) for case in cases]
        print_json({**result.to_dict(), "cases": listed, "n_cases_found": total})
        return
    console = Console(soft_wrap=False)
    console.print(render_case(cases[0], console.width, ascii_only=console.options.ascii_only))


def _show_answers(db: "Database", result: "BakeOffResult", wanted: InspectOptions) -> None:
    """Groups of answers; after all answers of one judge also the labels it confuses."""
    from evalq.bakeoff.answer_pages import read_answers, read_confusions
    from evalq.bakeoff.inspect import case_document, find_cases

    page, total = read_answers(db, result, wanted.cases)
    confusions: Sequence[Confusion] = ()
    if wanted.judge and wanted.cases.show == "all":
        confusions = read_confusions(db, result, wanted.judge)
    if wanted.as_json:
        cases, n_found = find_cases(db, result, wanted.cases)
        document = {**result.to_dict(), "cases": [case_document(case) for case in cases]}
        document |= {"n_cases_found": n_found, **_page_document(page)}
        if confusions:
            document["confusion"] = [one.to_dict() for one in confusions]
        print_json(document)
        return
    print_answers(page)
    if confusions:
        _print_confusions(confusions)
    if page.groups:
        note(f"{count(total, 'case')} of bake-off {result.id}")
    _suggest_after(result, page)


def _show_differences(db: "Database", result: "BakeOffResult", wanted: InspectOptions) -> None:
    from evalq.bakeoff.answer_pages import read_differences

    assert wanted.diff is not None
    page, total = read_differences(db, result, wanted.diff, limit=wanted.limit)
    if wanted.as_json:
        judges = {"a": wanted.diff[0], "b": wanted.diff[1]}
        print_json({**result.to_dict(), "diff": {**judges, "n": total, **_page_document(page)}})
        return
    if not page.groups:
        note(f"{wanted.diff[0]} and {wanted.diff[1]} gave the same answers")
        return
    print_answers(page)
    note(f"{count(total, 'case')} of bake-off {result.id} answered differently")
    _suggest_after(result, page)


def _show_confusions(db: "Database", result: "BakeOffResult", wanted: InspectOptions) -> None:
    from evalq.bakeoff.answer_pages import read_confusions

    found = read_confusions(db, result, wanted.judge)
    if wanted.as_json:
        print_json({**result.to_dict(), "confusion": [one.to_dict() for one in found]})
    elif found:
        _print_confusions(found)
        suggest(f"evalq inspect {result.id} --show-failures")
    else:
        note("no confusion matrix: the expected answers are not a few labels that repeat")
        suggest(f"evalq inspect {result.id} --show-failures")


def print_answers(page: "AnswerPage") -> None:
    """Print groups of answers: drawn for the terminal, or rows for a pipe."""
    from rich.console import Console

    from evalq.reports.answers import render_answers, render_plain_answers

    if not sys.stdout.isatty():
        click.echo(render_plain_answers(page))
        return
    console = Console()
    has_styles = console.color_system is not None and not console.is_dumb_terminal
    ascii_only = console.options.ascii_only
    console.print(render_answers(page, width=console.width, ascii_only=ascii_only, has_styles=has_styles))


def _print_confusions(found: "Sequence[Confusion]") -> None:
    from evalq.reports.confusion_table import render_confusions, render_plain_confusions

    print_report(found, render_confusions, render_plain_confusions)


def _suggest_after(result: "BakeOffResult", page: "AnswerPage") -> None:
    shown = [example.case_id for group in page.groups for example in group.examples]
    if shown:
        suggest(f"evalq inspect {result.id} --case {shlex.quote(shown[0])}")
    elif page.broken:
        suggest(f"evalq inspect {result.id} --calls --judge {shlex.quote(page.broken[0].judge)}")


def _page_document(page: "AnswerPage") -> dict[str, Any]:
    return {
        "groups": [_group_document(group) for group in page.groups],
        "broken": [asdict(broken) for broken in page.broken],
        "hints": list(page.hints),
    }


def _group_document(group: "AnswerGroup") -> dict[str, Any]:
    return {"why": group.why, "n": group.n, "examples": [asdict(example) for example in group.examples]}


def _show_kappa(result: "BakeOffResult") -> None:
    from evalq.cli.compare import print_kappa

    print_kappa(result.kappa)
    suggest(f"evalq inspect {result.id} --disagreements")


def _show_calls(db: "Database", bakeoff_id: int, wanted: InspectOptions) -> None:
    from evalq.bakeoff.holdout import refuse_cases
    from evalq.store import calls

    refuse_cases(db, bakeoff_id)
    found = calls.journal(db, bakeoff_id, case_id=wanted.case_id, judge=wanted.judge, limit=wanted.limit)
    rows = [asdict(call) for call in found]
    if wanted.as_json:
        print_json(rows)
        return
    cells = []
    for row in rows:
        cells.append(["" if row[name] is None else str(row[name]) for name in _CALL_COLUMNS])
    print_table(_CALL_COLUMNS, cells)
