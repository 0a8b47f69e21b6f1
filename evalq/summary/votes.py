"""What a judge makes of each case: the share of its samples that passed, and its vote."""

from collections.abc import Iterable, Sequence

from evalq.evidence import OutcomeRow
from evalq.summary.rates import tallies


def shares(rows: Sequence[OutcomeRow], cases: Iterable[str]) -> list[float | None]:
    """Of each case the share of graded samples that passed; None where none was graded."""
    known = tallies(rows)
    return [known[case][1] / known[case][0] if case in known else None for case in cases]


def votes(of_cases: Sequence[float | None]) -> list[bool | None]:
    """The majority of a case's samples; a tie is no pass."""
    return [None if share is None else share > 0.5 for share in of_cases]
