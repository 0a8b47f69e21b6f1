"""Results for a pipe: tab-separated rows with full names, then one commented line per remark."""

from collections.abc import Iterator, Sequence

from evalq.reports.notes import (
    Note,
    cost_note,
    grading_notes,
    holdout_notes,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.ranking import Lead, RankedRun, cost_per_answer, micro, standings
from evalq.reports.text import one_line, to_ascii
from evalq.results import BakeOffResult, PassK, Rate, RunResult

EMPTY = "-"
COLUMNS = (
    "rank",
    "judge",
    "pass_pct",
    "ci_low",
    "ci_high",
    "ci_method",
    "delta_pp",
    "delta_low",
    "delta_high",
    "delta_p_holm",
    "delta_n",
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
        [*map(joined, [COLUMNS, *rows]), *_metric_lines(result), *map(_commented, _notes(result))]
    )


def render_plain_strata(result: BakeOffResult) -> str:
    """One row per judge and stratum, with n, interval and method; last the judge's micro and macro rates."""
    rows = [
        (run.judge, stratum, *_rate(rate), rate.method, "few" if rate.few else EMPTY)
        for run in result.runs
        for stratum, rate in _rates(run)
    ]
    heading = ("judge", "stratum", "pass_pct", "ci_low", "ci_high", "n", "method", "few")
    return "\n".join(map(joined, [heading, *rows]))


def _rates(run: RunResult) -> Iterator[tuple[str, Rate]]:
    yield from run.per_stratum.items()
    if run.per_stratum:
        yield "(micro)", micro(run)
    if run.macro:
        yield "(macro)", run.macro


def _row(each: RankedRun) -> Sequence[str]:
    run, lead = each.run, each.lead
    rated = Rate(run.n_graded, run.accuracy, run.ci_low, run.ci_high)
    *shares, n = _rate(Rate(run.n_graded, None, None, None) if run.excluded else rated)
    p95 = EMPTY if run.p95_latency_ms is None else str(run.p95_latency_ms)
    cost = to_ascii(cost_per_answer(run))
    rank = EMPTY if each.rank is None else str(each.rank)
    leads, end = _lead(lead), [n, str(run.n_error), run.excluded or EMPTY]
    return [rank, run.judge, *shares, run.ci_method, *leads, cost, p95, *end]


def _lead(lead: Lead | None) -> Sequence[str]:
    if lead is None or not lead.n:
        return [EMPTY] * 5
    return [*map(_points, (lead.diff, lead.low, lead.high)), f"{lead.p_holm:.4g}", str(lead.n)]


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
            yield joined(["# metric", run.judge, name, *shares, str(rate.n)])
        for entry in run.pass_k:
            yield joined(["# pass_k", run.judge, *_pass_k(entry)])


def _pass_k(entry: PassK) -> Sequence[str]:
    """k, then pass@k and both forms of pass^k with their intervals, cases counted and skipped."""
    numbers = [
        number
        for value, ends in (
            (entry.pass_at_k, entry.pass_at_k_ci),
            (entry.pass_hat_k_unbiased, entry.pass_hat_k_unbiased_ci),
            (entry.pass_hat_k, entry.pass_hat_k_ci),
        )
        for number in (value, *(ends or (None, None)))
    ]
    shown = [EMPTY if number is None else f"{number:.3f}" for number in numbers]
    return [str(entry.k), *shown, str(entry.n_cases), str(entry.skipped)]


def _notes(result: BakeOffResult) -> Iterator[Note]:
    yield from interim_notes(result)
    yield from tie_notes(result)
    yield from kappa_notes(result)
    yield cost_note(result)
    # The rows hold each judge's reason already, however long it is.
    yield from (note for note in problem_notes(result) if note.kind != "excluded")
    yield from grading_notes(result)
    yield from holdout_notes(result)
    yield from next_notes(result)


def _commented(note: Note) -> str:
    return joined([f"# {note.kind}", to_ascii(note.text)])


def joined(fields: Sequence[str]) -> str:
    """Fields on one line: a tab or a line break in a name would shift every column after it."""
    return "\t".join(one_line(field) for field in fields)
