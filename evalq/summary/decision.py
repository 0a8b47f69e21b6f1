"""Says in one sentence what a bake-off decides: ship a judge, a tie, or what is missing to decide."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from evalq.definitions.money import money
from evalq.results import FEW_CASES, BakeOffResult, Comparison, Decision, RunResult

__all__ = ["Decision", "decide"]

NEGLIGIBLE = 0.05
"""A difference of shares too small to choose by: 5 percentage points."""

_SMALL_SET = 30
_UNREACHABLE_CASES = 20_000
_LISTED = 3
_LONGEST_REASON = 80
_FRACTIONS = (
    (Decimal("0.15"), "a tenth"),
    (Decimal("0.22"), "a fifth"),
    (Decimal("0.29"), "a quarter"),
    (Decimal("0.4"), "a third"),
)


def decide(result: BakeOffResult) -> Decision:
    """The decision that the ranked judges' paired comparisons support."""
    ranked = [run for run in result.runs if run.excluded is None and run.accuracy is not None]
    caveats = tuple(_caveats(result, ranked))
    if result.state != "concluded":
        return Decision("interim", None, _interim_sentence(result, ranked), caveats)
    if not ranked:
        return Decision("not_decidable", None, _nothing_ranked(result), caveats)
    if len(ranked) == 1:
        return Decision("not_decidable", None, _one_ranked(result, ranked[0]), caveats)
    leader, others = ranked[0], ranked[1:]
    leads = {run.judge: _lead(leader, run, result.comparisons) for run in others}
    tied = [run for run in others if not _is_separated(leads[run.judge])]
    if not tied:
        return Decision("ship", leader.judge, _ship_sentence(leader, others[0], leads), caveats)
    return _undecided(leader, tied, leads=leads, caveats=caveats)


def _lead(leader: RunResult, run: RunResult, comparisons: Sequence[Comparison]) -> Comparison | None:
    """The leader minus the judge, whichever order their pair is stored in; None without a shared case."""
    for pair in comparisons:
        if not pair.n:
            continue
        if (pair.a, pair.b) == (leader.judge, run.judge):
            return pair
        if (pair.a, pair.b) == (run.judge, leader.judge):
            turned = (-pair.diff, -pair.ci_high, -pair.ci_low, pair.p, pair.p_holm, pair.separable)
            counts = (pair.b_only, pair.a_only, pair.cases_needed, pair.method)
            return Comparison(pair.b, pair.a, pair.n, *turned, *counts)
    return None


def _is_separated(lead: Comparison | None) -> bool:
    """Whether the leader is better; a ranking by mean lead may put a judge first that loses this pair."""
    return lead is not None and lead.separable and lead.diff > 0


def _ship_sentence(leader: RunResult, second: RunResult, leads: dict[str, Comparison | None]) -> str:
    lead = leads[second.judge]
    assert lead is not None
    sentence = f"Ship {leader.judge}: it beats {second.judge} by {_points(lead.diff)} pp ({_interval(lead)})"
    cost, other = _cost_per_case(leader), _cost_per_case(second)
    if cost:
        sentence += f" at ${money(cost, 4)} a case"
        if other and cost > other:
            sentence += f", against ${money(other, 4)}"
    return sentence + "."


def _undecided(
    leader: RunResult,
    tied: Sequence[RunResult],
    *,
    leads: dict[str, Comparison | None],
    caveats: tuple[str, ...],
) -> Decision:
    """A tie where more cases would hardly matter; otherwise how many would settle it."""
    close = [run for run in tied if _is_close(leads[run.judge])]
    choice = min([leader, *close], key=_price_key)
    names = _list_names([run.judge for run in tied])
    first = leads[tied[0].judge]
    advice = _advice(choice, [run for run in (leader, *tied) if run.judge != choice.judge])
    if first is None:
        sentence = f"Not decidable: {leader.judge} and {names} share no graded case; retry what failed"
        return Decision("not_decidable", choice.judge, f"{sentence}, or {advice}.", caveats)
    if all(_is_equal(leads[run.judge]) for run in tied):
        sentence = f"Tie: {leader.judge} and {names} are equally good"
        gap = f"difference {_points(first.diff)} pp, {_interval(first)}"
        return Decision("tie", choice.judge, f"{sentence} ({gap}); {advice}.", caveats)
    sentence = f"Not decidable: cannot separate {leader.judge} from {names} at n={first.n}"
    remedy = _remedy([lead for lead in leads.values() if lead is not None])
    return Decision("not_decidable", choice.judge, f"{sentence}; {remedy} {advice}.", caveats)


def _is_close(lead: Comparison | None) -> bool:
    return lead is not None and abs(lead.diff) <= NEGLIGIBLE


def _is_equal(lead: Comparison | None) -> bool:
    """Whether there is no difference at all, or one whose whole interval is negligible."""
    if lead is None:
        return False
    return lead.diff == 0 or (lead.ci_low >= -NEGLIGIBLE and lead.ci_high <= NEGLIGIBLE)


def _remedy(leads: Sequence[Comparison]) -> str:
    """How many cases separate the leader from every judge it is tied with, as the start of the advice."""
    needed = max((lead.cases_needed or 0 for lead in leads), default=0)
    if not needed:
        return "more cases are needed, or"
    if needed > _UNREACHABLE_CASES:
        return f"it would take about {needed:,} cases, so"
    return f"collect about {needed:,} cases, or"


def _advice(choice: RunResult, rest: Sequence[RunResult]) -> str:
    """Which to take meanwhile, with its price beside the dearest of the others it is tied with."""
    cost = _cost_per_case(choice)
    dearest = max((_cost_per_case(run) or Decimal(0) for run in rest), default=Decimal(0))
    if cost is None or not dearest or cost >= dearest * Decimal("0.9"):
        return f"take {choice.judge}"
    return f"take {choice.judge}, which costs {_fraction(cost / dearest)}"


def _fraction(share: Decimal) -> str:
    """A share in words: a third, half, or `70 % of it`."""
    if share < Decimal("0.08"):
        return "under a tenth"
    for limit, words in _FRACTIONS:
        if share <= limit:
            return words
    return "half" if share <= Decimal("0.6") else f"{share:.0%}".replace("%", " % as much")


def _interim_sentence(result: BakeOffResult, ranked: Sequence[RunResult]) -> str:
    done = f"{result.n_done} of {result.n_jobs} jobs done"
    best = f"; {ranked[0].judge} is ahead so far" if len(ranked) > 1 else ""
    command = result.next[0] if result.next else f"evalq watch {result.id}"
    if result.state == "running":
        return f"Interim: {done}{best}; decide when it has ended (`{command}`)."
    why = {"capped": "stopped at the cost cap"}.get(result.state, result.state)
    return f"Interim: {why} with {done}{best}; finish it before deciding (`{command}`)."


def _nothing_ranked(result: BakeOffResult) -> str:
    if any(run.n_pending for run in result.runs):
        command = f"evalq review next {result.id}"
        return f"Not decidable: the answers wait for review by people; rate them with `{command}`."
    command = f"evalq inspect {result.id} --show-failures"
    return f"Not decidable: no judge gave an answer that could be graded; see why with `{command}`."


def _one_ranked(result: BakeOffResult, run: RunResult) -> str:
    assert run.accuracy is not None
    rate = f"{run.judge} passes {run.accuracy:.1%}".replace("%", " %")
    ends = f"95 % CI {_points(run.ci_low or 0.0)} to {_points(run.ci_high or 0.0)}, n={run.n_graded}"
    if len(result.runs) == 1:
        return f"Not decidable: {rate} ({ends}), but there is no second judge; run one to compare it with."
    command = f"evalq inspect {result.id} --show-failures"
    return f"Not decidable: {rate} ({ends}), but every other judge is broken; see why with `{command}`."


def _caveats(result: BakeOffResult, ranked: Sequence[RunResult]) -> Iterator[str]:
    """What to know before acting on the sentence, the gravest first."""
    if result.state != "concluded":
        yield f"interim: {result.n_done} of {result.n_jobs} jobs done"
    if any(warning.startswith("simulated judges") for warning in result.warnings):
        yield "simulated judges: this says nothing about real models"
    excluded = [f"{run.judge} ({_shorten(run.excluded)})" for run in result.runs if run.excluded]
    if excluded:
        judges = "1 judge" if len(excluded) == 1 else f"{len(excluded)} judges"
        yield f"{judges} excluded as broken: {_list_names(excluded)}"
    if ranked:
        yield from _caveats_of(ranked[0])
    if result.holdout_look is None:
        yield f"{result.eval_set} is not the holdout: confirm there before a final decision"


def _shorten(reason: str) -> str:
    """The first part of a reason: what happened, without what to do about it."""
    return reason.partition(";")[0][:_LONGEST_REASON]


def _caveats_of(leader: RunResult) -> Iterator[str]:
    if leader.accuracy is not None and leader.accuracy < 0.5:
        yield f"even {leader.judge} passes only {leader.accuracy:.0%} of its cases"
    if leader.n_error:
        yield f"{leader.n_error} of {leader.n_ended} answers of {leader.judge} were not graded"
    if leader.n_pending:
        yield f"{leader.n_pending} of {leader.n_ended} answers of {leader.judge} wait for review"
    if leader.n_graded < _SMALL_SET:
        yield f"few cases: n={leader.n_graded}"
    few = [name for name, rate in leader.per_stratum.items() if rate.few]
    if few:
        of_all = f"{len(few)} of {len(leader.per_stratum)} strata"
        yield f"fewer than {FEW_CASES} cases in {of_all}: too few to read them apart"


def _price_key(run: RunResult) -> tuple[bool, Decimal]:
    cost = _cost_per_case(run)
    return cost is None, cost or Decimal(0)


def _cost_per_case(run: RunResult) -> Decimal | None:
    """Dollars for each job that ended, grading included; None before the first."""
    return run.total_cost_usd / run.n_ended if run.n_ended else None


def _interval(lead: Comparison) -> str:
    return f"95 % CI {_points(lead.ci_low)} to {_points(lead.ci_high)}, n={lead.n}"


def _points(share: float) -> str:
    """Percentage points, whole ones, with a real minus sign."""
    return f"{share * 100:.0f}".replace("-0", "0").replace("-", "−")


def _list_names(names: Sequence[str]) -> str:
    if len(names) > _LISTED:
        return f"{', '.join(names[:_LISTED])} and {len(names) - _LISTED} more"
    if len(names) > 1:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return names[0]
