"""Marking a ranking: was a relevant id found, and how far up."""

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import HitAtK, Mrr
from evalq.errors import UngradableAnswer
from evalq.grading.findings import parse_list
from evalq.records import Grade


def ranked_ids(answer: str) -> list[str]:
    """The answered ids, best first; each counted at its first place."""
    ids = parse_list(answer)
    if not all(isinstance(item, str) for item in ids):
        raise UngradableAnswer("the ranking holds something that is not an id")
    return list(dict.fromkeys(ids))


def first_rank(case: EvalCase, answer: str) -> int | None:
    """The place (from 1) of the first relevant id."""
    relevant = set((case.expected or {}).get("relevant", ()))
    return next((at for at, item in enumerate(ranked_ids(answer), start=1) if item in relevant), None)


def grade_hit_at_k(grader: HitAtK, case: EvalCase, answer: str) -> Grade:
    """Passed when a relevant id is among the first k."""
    rank = first_rank(case, answer)
    hit = rank is not None and rank <= grader.k
    return Grade(f"hit_at_{grader.k}", hit, float(hit), _where(rank), grader.required, grader.weight)


def grade_mrr(grader: Mrr, case: EvalCase, answer: str) -> Grade:
    """Scores one over the rank; passed when found at all."""
    rank = first_rank(case, answer)
    return Grade(
        "mrr", rank is not None, 1 / rank if rank else 0.0, _where(rank), grader.required, grader.weight
    )


def _where(rank: int | None) -> str:
    return f"first relevant id at rank {rank}" if rank else "no relevant id"
