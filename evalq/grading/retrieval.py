"""Marking a ranking: was a relevant id found, and how far up."""

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import HitAtK, Mrr
from evalq.errors import UngradableAnswer
from evalq.grading.findings import parse_list
from evalq.records import Grade
from evalq.stats.retrieval import first_rank, hit_at_k, mrr


def ranked_ids(answer: str) -> list[str]:
    """The answered ids, best first; each counted at its first place."""
    ids = parse_list(answer)
    if not all(isinstance(item, str) for item in ids):
        raise UngradableAnswer("the ranking holds something that is not an id")
    return list(dict.fromkeys(ids))


def grade_hit_at_k(grader: HitAtK, case: EvalCase, answer: str) -> Grade:
    """Passed when a relevant id is among the first k."""
    rank = _rank(case, answer)
    score = hit_at_k([rank], grader.k)
    return Grade(f"hit_at_{grader.k}", score == 1, score, _where(rank), grader.required, grader.weight)


def grade_mrr(grader: Mrr, case: EvalCase, answer: str) -> Grade:
    """Scores one over the rank; passed when found at all."""
    rank = _rank(case, answer)
    return Grade("mrr", rank is not None, mrr([rank]), _where(rank), grader.required, grader.weight)


def _rank(case: EvalCase, answer: str) -> int | None:
    return first_rank(ranked_ids(answer), set((case.expected or {}).get("relevant", ())))


def _where(rank: int | None) -> str:
    return f"first relevant id at rank {rank}" if rank else "no relevant id"
