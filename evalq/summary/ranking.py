"""The order of judges: best first, by how they do against each other on the same cases."""

from collections.abc import Mapping, Sequence

from evalq.results import RunResult
from evalq.summary.differences import Difference, Pair


def ranked(results: Sequence[RunResult], found: Mapping[Pair, Difference]) -> list[RunResult]:
    """Best first by mean paired difference to the others; the cheaper first among equals, excluded last.

    Where every judge has a verdict on every case this is the order of their rates. Where some answers could
    not be graded it keeps a judge from gaining a place by failing to answer the hard cases.
    """
    standing = [run for run in results if run.excluded is None and run.accuracy is not None]
    return sorted(
        results,
        key=lambda run: (
            run.excluded is not None,
            run.accuracy is None,
            -round(_lead(run, standing, found), 9),
            -(run.accuracy or 0),
            run.total_cost_usd,
            run.judge,
        ),
    )


def _lead(run: RunResult, standing: Sequence[RunResult], found: Mapping[Pair, Difference]) -> float:
    """The mean over the others of its difference to each."""
    gaps = [_gap(run, other, found) for other in standing if other.judge != run.judge]
    return sum(gaps) / len(gaps) if gaps else 0.0


def _gap(run: RunResult, other: RunResult, found: Mapping[Pair, Difference]) -> float:
    """One judge minus the other on the cases both have; without any, the difference of their rates."""
    if (run.judge, other.judge) in found:
        return found[run.judge, other.judge].diff
    if (other.judge, run.judge) in found:
        return -found[other.judge, run.judge].diff
    return (run.accuracy or 0) - (other.accuracy or 0)
