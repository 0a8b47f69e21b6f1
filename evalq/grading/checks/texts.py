"""Marking an answer's words."""

from collections.abc import Callable, Iterable

from evalq.definitions.graders.texts import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    MaxWords,
    MinWords,
    NotContains,
    Semantic,
    StartsEnds,
)
from evalq.grading.checks.answer import folded, nothing_to_compare, text_of
from evalq.grading.subject import Mark, Subject, mark
from evalq.grading.words import listed, shown

Fold = Callable[[str], str]


def mark_contains(grader: Contains | ContainsAny | NotContains, subject: Subject) -> Mark:
    """Passed when one of the texts occurs."""
    wanted = grader.wanted(subject.expected)
    found = _occurring(wanted, text_of(subject), _fold(grader.type))
    if found:
        return mark(True, f"contains {shown(found[0])}")
    return mark(False, f"contains {'none of' if wanted[1:] else 'no'} {listed(wanted)}")


def mark_not_contains(grader: NotContains, subject: Subject) -> Mark:
    """Passed when none of the texts occurs."""
    found = mark_contains(grader, subject)
    return mark(not found.passed, found.reason)


def mark_contains_all(grader: ContainsAll, subject: Subject) -> Mark:
    """Passed when all of the texts occur, or all of one alternative list."""
    lists = grader.wanted(subject.expected)
    if not lists:
        raise nothing_to_compare()
    answer, fold = text_of(subject), _fold(grader.type)
    missing = min((_missing(wanted, answer, fold) for wanted in lists), key=len)
    return mark(not missing, f"does not contain {listed(missing)}" if missing else "contains all")


def mark_starts_with(grader: StartsEnds, subject: Subject) -> Mark:
    """Passed when the answer begins with one of the texts."""
    return _mark_edge(grader, subject, str.startswith, "starts")


def mark_ends_with(grader: StartsEnds, subject: Subject) -> Mark:
    """Passed when the answer ends with one of the texts."""
    return _mark_edge(grader, subject, str.endswith, "ends")


def mark_equals(grader: Equals, subject: Subject) -> Mark:
    """Passed when the answer is one of the texts."""
    wanted = _some(grader.wanted(subject.expected))
    answer = _levelled(text_of(subject), grader)
    found = [text for text in wanted if _levelled(text, grader) == answer]
    if found:
        return mark(True, f"equals {shown(found[0])}")
    return mark(False, f"expected {listed(wanted)}, got {shown(subject.answer)}")


def mark_semantic(grader: Semantic, subject: Subject) -> Mark:
    """Scores the share of demands that hold; passed when all do."""
    wanted, banned = grader.demands(subject.expected)
    if not wanted and not banned:
        raise nothing_to_compare()

    def fold(text: str) -> str:
        return " ".join(folded(text, case_sensitive=grader.case_sensitive).split())

    answer = fold(text_of(subject))
    unsaid = [choices for choices in wanted if not any(fold(text) in answer for text in choices)]
    said = [choices for choices in banned if any(fold(text) in answer for text in choices)]
    reasons = [f"does not say {listed(choices)}" for choices in unsaid]
    reasons += [f"says {listed(choices)}" for choices in said]
    score = 1 - len(reasons) / (len(wanted) + len(banned))
    return Mark(not reasons, score, "; ".join(reasons[:5]) or "says all it must and nothing it must not")


def mark_min_words(grader: MinWords, subject: Subject) -> Mark:
    """Passed with so many words or more."""
    words = len(text_of(subject).split())
    return mark(words >= grader.value, f"{words} words, at least {grader.value} wanted")


def mark_max_words(grader: MaxWords, subject: Subject) -> Mark:
    """Passed with so many words or fewer."""
    words = len(text_of(subject).split())
    return mark(words <= grader.value, f"{words} words, at most {grader.value} wanted")


def _mark_edge(grader: StartsEnds, subject: Subject, has_edge: Callable[[str, str], bool], verb: str) -> Mark:
    def fold(text: str) -> str:
        return folded(text.strip(), case_sensitive=grader.case_sensitive)

    wanted = _some(grader.wanted(subject.expected))
    answer = fold(text_of(subject))
    found = [text for text in wanted if has_edge(answer, fold(text))]
    if found:
        return mark(True, f"{verb} with {shown(found[0])}")
    return mark(False, f"does not {verb.removesuffix('s')} with {listed(wanted)}")


def _fold(kind: str) -> Fold:
    """The checks that begin with an i do not mind letter case."""
    is_sensitive = not kind.startswith("i")
    return lambda text: folded(text, case_sensitive=is_sensitive)


def _some(wanted: list[str]) -> list[str]:
    if not wanted:
        raise nothing_to_compare()
    return wanted


def _occurring(wanted: list[str], answer: str, fold: Fold) -> list[str]:
    text = fold(answer)
    return [phrase for phrase in _some(wanted) if fold(phrase) in text]


def _missing(wanted: Iterable[str], answer: str, fold: Fold) -> list[str]:
    text = fold(answer)
    return [phrase for phrase in wanted if fold(phrase) not in text]


def _levelled(text: str, grader: Equals) -> str:
    """The text as it is compared: its ends, its line ends and its letter case as the grader has it."""
    if grader.normalize_newlines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if grader.trim_whitespace:
        text = text.strip()
    return folded(text, case_sensitive=grader.case_sensitive)
