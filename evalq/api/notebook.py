"""A bake-off's table as a notebook shows it: plain HTML without a script, every text escaped."""

from collections.abc import Iterator
from html import escape

from evalq.reports.notes import (
    Note,
    cost_note,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.ranking import RankedRun, cost_per_answer, ranked_runs
from evalq.reports.text import NOTHING, clean, latency, one_line, percent, points, span
from evalq.results import BakeOffResult

_HEAD = ("#", "judge", "pass", "95% CI", "Δ vs #1 (paired)", "$/answer", "p95", "n")


def render_html(result: BakeOffResult) -> str:
    """The ranking with its intervals, and the lines that qualify it."""
    title = f"bake-off {result.id} · {result.task} · {result.eval_set} · {result.state}"
    rows = "".join(_row(_cells(each)) for each in ranked_runs(result))
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in _HEAD)
    notes = "".join(f"<li>{_text(note.text)}</li>" for note in _notes(result))
    return (
        f"<p><b>{_text(title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<ul>{notes}</ul>"
    )


def _notes(result: BakeOffResult) -> Iterator[Note]:
    yield from interim_notes(result)
    yield from tie_notes(result)
    yield from kappa_notes(result)
    yield cost_note(result)
    yield from problem_notes(result)
    yield from next_notes(result)


def _cells(each: RankedRun) -> Iterator[str]:
    run, lead = each.run, each.lead
    yield NOTHING if each.rank is None else str(each.rank)
    yield run.judge
    if run.excluded or run.accuracy is None:
        yield "n/a"
        yield run.excluded or "no verdict"
    else:
        yield percent(run.accuracy, run.n_graded)
        yield span(run.ci_low, run.ci_high, run.n_graded)
    if lead is None or not lead.n:
        yield "excluded" if run.excluded else "—"
    else:
        low, high = points(lead.low, lead.n), points(lead.high, lead.n)
        yield f"{points(lead.diff, lead.n)} pp [{low}, {high}]"
    yield cost_per_answer(run)
    yield latency(run.p95_latency_ms)
    yield str(run.n_graded)


def _row(cells: Iterator[str]) -> str:
    return "<tr>" + "".join(f'<td style="text-align:left">{_text(cell)}</td>' for cell in cells) + "</tr>"


def _text(text: str) -> str:
    """Escaped, without control characters: judges, cases and reasons are outside text."""
    return escape(one_line(clean(text)))
