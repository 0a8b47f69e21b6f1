"""Stored agreement against the verdicts it was made of."""

from collections import Counter
from collections.abc import Iterator, Sequence

from evalq.results import Agreement
from evalq.store.database import Database, Row
from evalq.summary.pairs import agreements

_TOLERANCE = 0.00006
"""The column keeps four places."""


def find_wrong_kappas(db: Database, bakeoff_id: int | None) -> list[Row]:
    """Pairs of judges whose stored kappa is missing, extra, or not what the verdicts say."""
    return [
        {"bakeoff_id": row["id"], "id": row["id"], **wrong}
        for row in db.rows("compared_bakeoffs", bakeoff_id=bakeoff_id)
        for wrong in _compare(db.rows("kappas", bakeoff_id=row["id"]), _agreements(db, row["id"]))
    ]


def _agreements(db: Database, bakeoff_id: int) -> list[Agreement]:
    """The agreement of a bake-off's judges, from their votes alone: a tenth of the whole result's work."""
    rows = db.rows("votes", bakeoff_id=bakeoff_id)
    votes = {row["judge"]: dict(zip(row["cases"], row["votes"], strict=True)) for row in rows}
    cases = sorted({case for said in votes.values() for case in said})
    vectors = {judge: [said.get(case) for case in cases] for judge, said in votes.items()}
    return agreements(vectors, {row["judge"]: row["vendor"] for row in rows})


def _compare(kept: Sequence[Row], told: Sequence[Agreement]) -> Iterator[Row]:
    """Pairs are unordered: which judge is named first goes by rank, and a late price may change that."""
    stored = {frozenset((row["a"], row["b"])): row for row in kept}
    times = Counter(frozenset((row["a"], row["b"])) for row in kept)
    expected = {frozenset((pair.a, pair.b)): pair for pair in told}
    for pair in sorted(expected.keys() | stored.keys(), key=sorted):
        if found := _difference(stored.get(pair), expected.get(pair), times[pair]):
            a, b = sorted(pair) if len(pair) > 1 else [*pair, *pair]
            yield {"a": a, "b": b, "found": found}


def _difference(kept: Row | None, told: Agreement | None, times: int) -> str | None:
    if kept is None:
        return "no kappa is stored"
    if told is None:
        return "a kappa is stored though there is nothing to compare"
    if times > 1:
        return f"{times} kappas are stored"
    if _says(kept, told):
        return None
    said = "undefined" if told.kappa is None else told.kappa
    return (
        f"kappa {kept['kappa'].normalize():f} over {kept['n']} cases, the verdicts say {said} over {told.n}"
    )


def _says(kept: Row, told: Agreement) -> bool:
    """A constant rater has no kappa; the number stored for it is a convention."""
    if (kept["n"], kept["degenerate"]) != (told.n, told.degenerate):
        return False
    return told.kappa is None or abs(float(kept["kappa"]) - told.kappa) < _TOLERANCE
