"""Agreement of runs in Postgres."""

from collections.abc import Mapping, Sequence

from evalq.results import Agreement
from evalq.store.database import Connection


def keep(tx: Connection, pairs: Sequence[Agreement], run_ids: Mapping[str, int]) -> None:
    """Write the agreement of every pair over what was kept of it, whichever of the two was named first."""
    for pair in pairs:
        tx.run(
            "add_kappa",
            a=run_ids[pair.a],
            b=run_ids[pair.b],
            kappa=_number(pair),
            n=pair.n,
            ac1=pair.ac1,
            degenerate=pair.degenerate,
        )


def _number(pair: Agreement) -> float:
    """A constant rater has no κ; the column wants a number, and `degenerate` says it is none."""
    if pair.kappa is not None:
        return pair.kappa
    return 1.0 if pair.ac1 is not None and pair.ac1 >= 1.0 else 0.0
