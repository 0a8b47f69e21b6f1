"""The end of a bake-off on the terminal: the ranking, what it means, what it cost, what to do next."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalq.reports.canvas import GOOD, PROBLEM, QUIET, Canvas
from evalq.reports.measures import render_measures
from evalq.reports.notes import (
    Note,
    NoteKind,
    cost_note,
    grading_notes,
    holdout_notes,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.plain import render_plain, render_plain_strata
from evalq.reports.ranking import Ranking
from evalq.reports.strata import render_strata
from evalq.results import BakeOffResult

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
    "next": ("next", GOOD),
}


def render_final(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """The whole answer: heading, ranking, further measures, and the lines that qualify them."""
    canvas = Canvas(width, ascii_only)
    ranking = Ranking(result, canvas)
    notes = [
        *tie_notes(result),
        *kappa_notes(result),
        cost_note(result),
        *problem_notes(result, reason_room=ranking.reason_room),
        *grading_notes(result),
        *holdout_notes(result),
    ]
    return Group(
        *_heading(result, canvas),
        ranking.draw(),
        *render_measures(result, canvas),
        Text(),
        _lines(notes, result, canvas),
    )


def _heading(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    scorer = result.scorer + (f" ({result.grader})" if result.grader else "")
    samples = [f"{result.samples} samples"] if result.samples > 1 else []
    methods = [f"95% CI {method}" for method in dict.fromkeys(run.ci_method for run in result.runs)]
    about = " · ".join([result.task, result.eval_set, scorer, *samples, *methods])
    yield canvas.text(f"bake-off {result.id}  {about}", "bold")
    yield from (canvas.text(note.text, PROBLEM) for note in interim_notes(result))
    yield Text()


def _lines(notes: list[Note], result: BakeOffResult, canvas: Canvas) -> Table:
    """The notes with their marks in front; wrapped lines stay clear of the marks."""
    grid = Table.grid(padding=(0, 2))
    for note in notes:
        mark, style = _MARKS[note.kind]
        grid.add_row(canvas.text(mark, style), canvas.text(note.text, style))
    commands = [note.text for note in next_notes(result)]
    if commands:
        mark, style = _MARKS["next"]
        grid.add_row(canvas.text(mark, style), canvas.text(_commands(commands, canvas), style))
    return grid


def _commands(commands: list[str], canvas: Canvas) -> str:
    """On one line if they fit, else one on each, so that a command can be copied whole."""
    line = "   ".join(commands)
    return line if len(line) + len("next") + GAP <= canvas.width else "\n".join(commands)
