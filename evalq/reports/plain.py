"""Results for a pipe: tab-separated rows with full names, then one commented line per remark."""

from collections.abc import Iterator, Sequence

from evalq.reports.notes import (
    Note,
    cost_note,
    decision_notes,
    grading_notes,
    holdout_notes,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.ranking import Lead, RankedRun, cost_per_answer, micro_rate, ranked_runs
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
    "run_id",
    "run",
)


def render_plain(result: BakeOffResult) -> str:
    """The ranking for cut, awk and sort; shares in percent, `-` where there is nothing to say."""
    lines = [tab_separated(COLUMNS)]
    lines += [tab_separated(_row(each, result.id)) for each in ranked_runs(result)]
    lines += _metric_lines(result)
    lines += [tab_separated([f"# {note.kind}", to_ascii(note.text)]) for note in _notes(result)]
    return "\n".join(lines)


def render_plain_strata(result: BakeOffResult) -> str:
    """One row per judge and stratum, with n, interval and method, then the judge's micro and macro rates."""
    rows: list[Sequence[str]] = [("judge", "stratum", "pass_pct", "ci_low", "ci_high", "n", "method", "few")]
    for run in result.runs:
        for stratum, rate in _rates_of(run):
            few = "few" if rate.few else EMPTY
            rows.append((run.judge, stratum, *_rate_fields(rate), rate.method, few))
    return "\n".join(map(tab_separated, rows))


def _rates_of(run: RunResult) -> Iterator[tuple[str, Rate]]:
    yield from run.per_stratum.items()
    if run.per_stratum:
        yield "(micro)", micro_rate(run)
    if run.macro:
        yield "(macro)", run.macro


def _row(each: RankedRun, bakeoff_id: int) -> Sequence[str]:
    run = each.run
    rate = Rate(run.n_graded, run.accuracy, run.ci_low, run.ci_high)
    if run.excluded:
        rate = Rate(run.n_graded, None, None, None)
    *shares, n = _rate_fields(rate)
    return [
        EMPTY if each.rank is None else str(each.rank),
        run.judge,
        *shares,
        run.ci_method,
        *_lead_fields(each.lead),
        to_ascii(cost_per_answer(run)),
        EMPTY if run.p95_latency_ms is None else str(run.p95_latency_ms),
        n,
        str(run.n_error),
        run.excluded or EMPTY,
        str(run.run_id),
        f"{bakeoff_id}/{run.judge}",
    ]


def _lead_fields(lead: Lead | None) -> Sequence[str]:
    if lead is None or not lead.n:
        return [EMPTY] * 5
    p_holm = f"{lead.p_holm:.4g}"
    return [_points(lead.diff), _points(lead.low), _points(lead.high), p_holm, str(lead.n)]


def _rate_fields(rate: Rate) -> Sequence[str]:
    return [_points(rate.accuracy), _points(rate.ci_low), _points(rate.ci_high), str(rate.n)]


def _points(share: float | None) -> str:
    """A share, or a difference of shares, times a hundred, with an ASCII minus for programs."""
    return EMPTY if share is None else f"{share * 100:.1f}"


def _decimal(number: float | None) -> str:
    return EMPTY if number is None else f"{number:.3f}"


def _metric_lines(result: BakeOffResult) -> Iterator[str]:
    """Metrics as shares, not percent, with interval and n."""
    for run in result.runs:
        for name, rate in run.metrics.items():
            numbers = [_decimal(number) for number in (rate.accuracy, rate.ci_low, rate.ci_high)]
            yield tab_separated(["# metric", run.judge, name, *numbers, str(rate.n)])
        for entry in run.pass_k:
            yield tab_separated(["# pass_k", run.judge, *_pass_k_fields(entry)])


def _pass_k_fields(entry: PassK) -> Sequence[str]:
    """k, then pass@k and both forms of pass^k with their intervals, cases counted and skipped."""
    fields = [str(entry.k)]
    for value, ends in (
        (entry.pass_at_k, entry.pass_at_k_ci),
        (entry.pass_hat_k_unbiased, entry.pass_hat_k_unbiased_ci),
        (entry.pass_hat_k, entry.pass_hat_k_ci),
    ):
        low, high = ends or (None, None)
        fields += [_decimal(value), _decimal(low), _decimal(high)]
    return [*fields, str(entry.n_cases), str(entry.skipped)]


def _notes(result: BakeOffResult) -> Iterator[Note]:
    yield from interim_notes(result)
    yield from tie_notes(result)
    yield from kappa_notes(result)
    yield cost_note(result)
    for note in problem_notes(result):
        if note.kind != "excluded":  # the rows already hold each judge's reason
            yield note
    yield from grading_notes(result)
    yield from holdout_notes(result)
    yield from next_notes(result)
    yield from decision_notes(result)


def tab_separated(fields: Sequence[str]) -> str:
    """Fields on one line, without tabs or line breaks inside them: those would shift the columns."""
    return "\t".join(one_line(field) for field in fields)
