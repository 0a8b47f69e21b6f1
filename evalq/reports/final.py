"""The final report on the terminal: the ranking, what it means, what it cost, what to do next."""

from collections.abc import Iterable, Iterator
from itertools import chain

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalq.reports.notes import (
    Note,
    NoteKind,
    cost_note,
    decision_notes,
    grading_notes,
    holdout_notes,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    run_notes,
    tie_notes,
)
from evalq.reports.plain import render_plain, render_plain_strata
from evalq.reports.ranking import Ranking, render_strata
from evalq.reports.text import GOOD, NOTHING, PROBLEM, QUIET, Canvas, Column, first_fitting, lay_out
from evalq.results import BakeOffResult, RunResult

__all__ = ["render_final", "render_plain", "render_plain_strata", "render_strata"]

GAP = 2
_MARKS: dict[NoteKind, tuple[str, str]] = {
    "tie": ("=", ""),
    "kappa": ("κ", ""),
    "cost": ("$", ""),
    "excluded": ("!", PROBLEM),
    "not_graded": ("!", PROBLEM),
    "warning": ("!", PROBLEM),
    "grading": ("g", QUIET),
    "holdout": ("#", QUIET),
    "runs": ("#", QUIET),
    "next": ("next", GOOD),
}

Row = tuple[str, str, str, str, str]
"""Measure, judge, value, interval, n: as text."""


def render_final(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """Heading, ranking, further measures, and the lines that qualify them."""
    canvas = Canvas(width, ascii_only)
    ranking = Ranking(result, canvas)
    notes = [
        *tie_notes(result),
        *kappa_notes(result),
        cost_note(result),
        *problem_notes(result, reason_room=ranking.reason_room),
        *grading_notes(result),
        *holdout_notes(result),
        *run_notes(result),
    ]
    return Group(
        *_heading(result, canvas),
        ranking.draw(),
        *render_measures(result, canvas),
        Text(),
        _note_grid(notes, result, canvas),
        *_decision_lines(result, canvas),
    )


def _decision_lines(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    """The sentence that the table ends with, after a blank line."""
    for note in decision_notes(result):
        if note.kind == "decision":
            yield Text()
            yield canvas.text(note.text, "bold")
        else:
            yield canvas.text(note.text, QUIET)


def _heading(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    facts = [result.task, result.eval_set, result.scorer]
    if result.grader:
        facts[-1] += f" ({result.grader})"
    if result.samples > 1:
        facts.append(f"{result.samples} samples")
    methods = dict.fromkeys(run.ci_method for run in result.runs)
    facts += [f"95% CI {method}" for method in methods]
    yield canvas.text(f"bake-off {result.id}  {' · '.join(facts)}", "bold")
    for note in interim_notes(result):
        yield canvas.text(note.text, PROBLEM)
    yield Text()


def _note_grid(notes: list[Note], result: BakeOffResult, canvas: Canvas) -> Table:
    """The notes behind their marks; wrapped lines stay clear of the marks."""
    grid = Table.grid(padding=(0, 2))
    for note in notes:
        mark, style = _MARKS[note.kind]
        grid.add_row(canvas.text(mark, style), canvas.text(note.text, style))
    commands = [note.text for note in next_notes(result)]
    if commands:
        mark, style = _MARKS["next"]
        line = "   ".join(commands)
        if len(line) + len("next") + GAP > canvas.width:
            line = "\n".join(commands)  # so that each command can be copied whole
        grid.add_row(canvas.text(mark, style), canvas.text(line, style))
    return grid


def render_measures(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    """A table of the measures with interval and n; nothing without any."""
    rows = measure_rows(result)
    if rows:
        titles = ("metric", "judge", "value", "95% CI", "n")
        columns = [
            _column(title, cells, canvas)
            for title, cells in zip(titles, zip(*rows, strict=True), strict=True)
        ]
        yield Text()
        yield lay_out(first_fitting([columns], canvas, gap=GAP), canvas, gap=GAP)


def measure_rows(result: BakeOffResult) -> list[Row]:
    """The measures with all judges of a measure together, so that they compare."""
    by_measure: dict[str, list[Row]] = {}
    repeated = _repeated_metrics(result)
    for run in result.runs:
        for row in _rows_of_run(run):
            if row[0] not in repeated:
                by_measure.setdefault(row[0], []).append(row)
    return list(chain.from_iterable(by_measure.values()))


def _repeated_metrics(result: BakeOffResult) -> set[str]:
    """Metrics that are the pass rate once more, as that of a task's only check is."""
    names = {name for run in result.runs for name in run.metrics}
    for run in result.runs:
        for name, rate in run.metrics.items():
            if rate.accuracy != run.accuracy or rate.n != run.n_graded:
                names.discard(name)
    return names


def _rows_of_run(run: RunResult) -> Iterator[Row]:
    """Shares are not in percent: a mean reciprocal rank is not a percentage."""
    for name, rate in run.metrics.items():
        yield name, run.judge, _value_text(rate.accuracy), _ends_text(rate.ci_low, rate.ci_high), str(rate.n)
    if not run.pass_k:
        return
    entry = run.pass_k[-1]  # pass@1 is the rate itself, and smaller k add little: the JSON lists them all
    n = str(entry.n_cases)
    if entry.skipped:
        n += f" ({entry.skipped} skipped)"
    for name, value, ends in (
        (f"pass@{entry.k}", entry.pass_at_k, entry.pass_at_k_ci),
        (f"pass^{entry.k}", entry.pass_hat_k_unbiased, entry.pass_hat_k_unbiased_ci),
        (f"pass^{entry.k} plain", entry.pass_hat_k, entry.pass_hat_k_ci),
    ):
        yield name, run.judge, _value_text(value), _ends_text(*(ends or (None, None))), n


def _value_text(number: float | None) -> str:
    return "n/a" if number is None else f"{number:.2f}"


def _ends_text(low: float | None, high: float | None) -> str:
    return NOTHING if low is None or high is None else f"{low:.2f}–{high:.2f}"


def _column(title: str, cells: Iterable[str], canvas: Canvas) -> Column:
    is_number = title in ("value", "n")
    texts = tuple(canvas.cell(cell) for cell in cells)
    return Column(canvas.text(title), texts, right=is_number, flexible=title == "judge")
