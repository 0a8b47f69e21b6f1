"""Results for a pipe: tab-separated rows with full names, then one commented line per remark."""

from collections.abc import Iterator, Sequence

from evalq.reports.notes import (
    Note,
    cost_note,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.ranking import cost_per_answer
from evalq.reports.standing import Standing, standings
from evalq.reports.text import one_line, to_ascii
from evalq.results import BakeOffResult, Rate

EMPTY = "-"
COLUMNS = (
    "rank",
    "judge",
    "pass_pct",
    "ci_low",
    "ci_high",
    "delta_pp",
    "delta_low",
    "delta_high",
    "usd_per_answer",
    "p95_ms",
    "n",
    "not_graded",
    "excluded",
)


def render_plain(result: BakeOffResult) -> str:
    """The ranking for cut, awk and sort; shares in percent, `-` where there is nothing to say."""
    rows = [_row(each) for each in standings(result)]
    return "\n".join(
        [*map(_joined, [COLUMNS, *rows]), *_metric_lines(result), *map(_commented, _notes(result))]
    )


def render_plain_strata(result: BakeOffResult) -> str:
    """One row per judge and stratum, with n and interval."""
    rows = [
        (run.judge, stratum, *_rate(rate)) for run in result.runs for stratum, rate in run.per_stratum.items()
    ]
    return "\n".join(map(_joined, [("judge", "stratum", "pass_pct", "ci_low", "ci_high", "n"), *rows]))


def _row(each: Standing) -> Sequence[str]:
    run, lead = each.run, each.lead
    rated = Rate(run.n_graded, run.accuracy, run.ci_low, run.ci_high)
    *shares, n = _rate(Rate(run.n_graded, None, None, None) if run.excluded else rated)
    leads = (
        [_points(number) for number in (lead.diff, lead.low, lead.high)] if lead and lead.n else [EMPTY] * 3
    )
    p95 = EMPTY if run.p95_latency_ms is None else str(run.p95_latency_ms)
    cost = to_ascii(cost_per_answer(run))
    rank = EMPTY if each.rank is None else str(each.rank)
    return [rank, run.judge, *shares, *leads, cost, p95, n, str(run.n_error), run.excluded or EMPTY]


def _rate(rate: Rate) -> Sequence[str]:
    return [*(_points(share) for share in (rate.accuracy, rate.ci_low, rate.ci_high)), str(rate.n)]


def _points(share: float | None) -> str:
    """A share, or a difference of shares, times a hundred; a plain minus, for programs read it."""
    return EMPTY if share is None else f"{share * 100:.1f}"


def _metric_lines(result: BakeOffResult) -> Iterator[str]:
    """Metrics as shares, not percent, with interval and n."""
    for run in result.runs:
        for name, rate in run.metrics.items():
            numbers = (rate.accuracy, rate.ci_low, rate.ci_high)
            shares = [EMPTY if number is None else f"{number:.3f}" for number in numbers]
            yield _joined(["# metric", run.judge, name, *shares, str(rate.n)])


def _notes(result: BakeOffResult) -> Iterator[Note]:
    yield from interim_notes(result)
    yield from tie_notes(result)
    yield from kappa_notes(result)
    yield cost_note(result)
    # The rows hold each judge's reason already, however long it is.
    yield from (note for note in problem_notes(result) if note.kind != "excluded")
    yield from next_notes(result)


def _commented(note: Note) -> str:
    return _joined([f"# {note.kind}", to_ascii(note.text)])


def _joined(fields: Sequence[str]) -> str:
    """Fields on one line: a tab or a line break in a name would shift every column after it."""
    return "\t".join(one_line(field) for field in fields)
