"""Marking a ranking: was a relevant id found, and how far up."""

from evalq.definitions.graders import HitAtK, Mrr
from evalq.errors import UngradableAnswer
from evalq.grading.findings import parse_list
from evalq.grading.subject import Mark, Subject
from evalq.stats.retrieval import first_rank, hit_at_k, mrr


def ranked_ids(answer: str) -> list[str]:
    """The answered ids, best first; each counted at its first place."""
    ids = parse_list(answer)
    if not all(isinstance(item, str) for item in ids):
        raise UngradableAnswer("the ranking holds something that is not an id")
    return list(dict.fromkeys(ids))


def mark_hit_at_k(grader: HitAtK, subject: Subject) -> Mark:
    """Passed when a relevant id is among the first k."""
    rank = _rank(subject)
    score = hit_at_k([rank], grader.k)
    return Mark(score == 1, score, _where(rank))


def mark_mrr(grader: Mrr, subject: Subject) -> Mark:
    """Scores one over the rank; passed when found at all."""
    del grader
    rank = _rank(subject)
    return Mark(rank is not None, mrr([rank]), _where(rank))


def _rank(subject: Subject) -> int | None:
    return first_rank(ranked_ids(subject.answer), set(subject.expected.get("relevant", ())))


def _where(rank: int | None) -> str:
    return f"first relevant id at rank {rank}" if rank else "no relevant id"
