"""Marking how near an answer comes to a text."""

from evalq.definitions.graders.texts import Levenshtein
from evalq.errors import UngradableAnswer
from evalq.grading.checks.answer import folded, nothing_to_compare, text_of
from evalq.grading.distance import edit_distance
from evalq.grading.subject import Mark, Subject
from evalq.grading.words import shown

MAX_COMPARED = 20_000
DEFAULT_THRESHOLD = 0.8


def mark_levenshtein(grader: Levenshtein, subject: Subject) -> Mark:
    """Scores the likeness to the nearest of the texts."""
    wanted = grader.wanted(subject.expected)
    if not wanted:
        raise nothing_to_compare()
    answer = folded(text_of(subject).strip(), case_sensitive=grader.case_sensitive)
    distances = [
        (_distance(answer, folded(text.strip(), case_sensitive=grader.case_sensitive)), text)
        for text in wanted
    ]
    (distance, longer), nearest = min(distances, key=lambda found: found[0][0] / max(found[0][1], 1))
    likeness = 1 - distance / longer if longer else 1.0
    reason = f"{distance} edits from {shown(nearest)}, likeness {likeness:.3f}"
    if grader.max_distance is not None:
        passed = any(found[0] <= grader.max_distance for found, _ in distances)
        return Mark(passed, float(passed), f"{reason}, at most {grader.max_distance} edits wanted")
    threshold = DEFAULT_THRESHOLD if grader.threshold is None else grader.threshold
    return Mark(round(likeness, 9) >= threshold, likeness, f"{reason}, {threshold:g} wanted")


def _distance(one: str, other: str) -> tuple[int, int]:
    """The edits between two texts, and the longer one's length."""
    longer = max(len(one), len(other))
    if longer > MAX_COMPARED:
        raise UngradableAnswer(
            f"a text of {longer:,} characters is too long to compare, {MAX_COMPARED:,} at most"
        )
    return edit_distance(one, other), longer
