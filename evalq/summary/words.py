"""What a result says in words: its warnings, and the commands to type next."""

from collections.abc import Iterator, Sequence

from evalq.evidence import BakeOffRow, RunRow
from evalq.results import RunResult

_MENDABLE = ("worker_lost", "internal")
"""Errors that say nothing of the judge; so do those of calls, whose kinds begin with `call_`."""


def warnings(bakeoff: BakeOffRow, runs: Sequence[RunRow], results: Sequence[RunResult]) -> Iterator[str]:
    """Everything a reader must know before acting on the numbers."""
    for result in results:
        if result.excluded:
            yield f"{result.judge}: {result.excluded}; left out of ranking and agreement: broken, not bad"
        elif result.n_error:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.errors.items()))
            share = f"{result.n_error} of {result.n_ended}"
            yield f"{result.judge}: {share} not graded ({kinds}); its rate is over the rest"
        if result.n_pending:
            share = f"{result.n_pending} of {result.n_ended} answers"
            yield f"{result.judge}: {share} wait for review by people; its rate is over the rest"
    yield from _stop(bakeoff)
    yield from _own_graders(runs)
    if bakeoff.grader_model == "sim-grader" and any(run.provider != "simulated" for run in runs):
        yield "graded by sim-grader, a simulation: its verdicts say nothing about real answers"
    if any(run.provider == "simulated" for run in runs):
        yield "simulated judges: the dollars are simulated too, nothing was billed"


def _own_graders(runs: Sequence[RunRow]) -> Iterator[str]:
    for run in runs:
        if run.grades_itself:
            yield f"{run.judge} grades its own answers: models favour what they wrote; name another grader"


def _stop(bakeoff: BakeOffRow) -> Iterator[str]:
    if bakeoff.state == "capped":
        yield f"stopped at {bakeoff.stop_reason or 'the cap'}; everything paid for is stored"
        if bakeoff.stop_reason and "bake-off" not in bakeoff.stop_reason:
            yield "that cap is under caps: in evalq.yaml; raise it there, or wait for tomorrow (UTC)"
    if bakeoff.state == "paused" and bakeoff.stop_reason:
        yield f"paused: {bakeoff.stop_reason}"


def next_commands(bakeoff: BakeOffRow, results: Sequence[RunResult]) -> Iterator[str]:
    """What to type next, most useful first."""
    if bakeoff.state in ("paused", "cancelled") or any(_is_paused(result) for result in results):
        yield f"evalq resume {bakeoff.id}"
    if bakeoff.state == "capped":
        is_own = "bake-off" in (bakeoff.stop_reason or "bake-off")
        raised = f" --max-cost-usd {bakeoff.cap_usd * 2:.2f}" if is_own else ""
        yield f"evalq resume {bakeoff.id}{raised}"
    if bakeoff.state == "running":
        yield f"evalq watch {bakeoff.id}"
    if any(_is_mendable(kind) for result in results for kind in result.errors):
        yield f"evalq retry {bakeoff.id} --errors"
    if any(result.n_pending for result in results):
        yield f"evalq review next {bakeoff.id}"
    if sum(not result.excluded for result in results) > 1:
        yield f"evalq inspect {bakeoff.id} --disagreements"
    yield f"evalq inspect {bakeoff.id} --show-failures"


def _is_paused(result: RunResult) -> bool:
    return bool(result.excluded and result.excluded.startswith("paused"))


def _is_mendable(kind: str) -> bool:
    return kind.startswith("call_") or kind in _MENDABLE
