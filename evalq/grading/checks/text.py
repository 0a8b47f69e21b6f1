"""Marking an answer's words."""

import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from evalq.definitions.graders.text import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    Levenshtein,
    Matches,
    MaxWords,
    MinWords,
    NotContains,
    NotMatches,
    PatternGrader,
    Semantic,
    StartsEnds,
)
from evalq.errors import UngradableAnswer
from evalq.grading.grader import AnswerToGrade, Mark, mark
from evalq.grading.reading import Search, listed, shown

if TYPE_CHECKING:
    import regex


def edit_distance(one: str, other: str) -> int:
    """The fewest letters to insert, remove or replace to make one text the other: Levenshtein's distance.

    Bit-parallel, after Myers (J. ACM 46, 1999) and Hyyrö (2003): a column of the table is one long integer,
    so a text of n letters costs n steps whatever the other's length is, within reason.
    """
    if not one:
        return len(other)
    places: dict[str, int] = {}
    for i, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << i
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = full, 0, len(one)
    for letter in other:
        equal = places.get(letter, 0)
        vertical = equal | falls
        horizontal = (((equal & rises) + rises) ^ rises) | equal
        up = falls | ~(horizontal | rises) & full
        down = rises & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        rises, falls = (down | ~(vertical | up)) & full, up & vertical & full
    return distance


def similarity(one: str, other: str) -> float:
    """From 0, nothing in common, to 1, the same: one less the distance over the longer length."""
    longer = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longer if longer else 1.0


MAX_CHARS = 2**20
"""A check reads a megabyte; what is longer cannot be decided, which is no fail."""


def text_of(subject: AnswerToGrade) -> str:
    """What the judge said."""
    if len(subject.answer) > MAX_CHARS:
        raise UngradableAnswer(
            f"the answer has {len(subject.answer):,} characters, checks read at most {MAX_CHARS:,}"
        )
    return subject.answer


def folded(text: str, *, case_sensitive: bool = True) -> str:
    """The text in the one form in which equal letters are equal, whatever they are composed of."""
    composed = unicodedata.normalize("NFC", text)
    return composed if case_sensitive else unicodedata.normalize("NFC", composed.casefold())


def nothing_to_compare() -> UngradableAnswer:
    """For a grader whose case does not say what it expects; whoever loads them together is told before."""
    return UngradableAnswer("neither the grader nor the case says what is expected")


Fold = Callable[[str], str]


def mark_contains(grader: Contains | ContainsAny | NotContains, subject: AnswerToGrade) -> Mark:
    """Passed when one of the texts occurs."""
    wanted = grader.wanted(subject.expected)
    found = _occurring(wanted, text_of(subject), _fold(grader.type))
    if found:
        return mark(True, f"contains {shown(found[0])}")
    return mark(False, f"contains {'none of' if wanted[1:] else 'no'} {listed(wanted)}")


def mark_not_contains(grader: NotContains, subject: AnswerToGrade) -> Mark:
    """Passed when none of the texts occurs."""
    found = mark_contains(grader, subject)
    return mark(not found.passed, found.reason)


def mark_contains_all(grader: ContainsAll, subject: AnswerToGrade) -> Mark:
    """Passed when all of the texts occur, or all of one alternative list."""
    lists = grader.wanted(subject.expected)
    if not lists:
        raise nothing_to_compare()
    answer, fold = text_of(subject), _fold(grader.type)
    missing = min((_missing(wanted, answer, fold) for wanted in lists), key=len)
    return mark(not missing, f"does not contain {listed(missing)}" if missing else "contains all")


def mark_starts_with(grader: StartsEnds, subject: AnswerToGrade) -> Mark:
    """Passed when the answer begins with one of the texts."""
    return _mark_edge(grader, subject, str.startswith, "starts")


def mark_ends_with(grader: StartsEnds, subject: AnswerToGrade) -> Mark:
    """Passed when the answer ends with one of the texts."""
    return _mark_edge(grader, subject, str.endswith, "ends")


def mark_equals(grader: Equals, subject: AnswerToGrade) -> Mark:
    """Passed when the answer is one of the texts."""
    wanted = _some(grader.wanted(subject.expected))
    answer = _levelled(text_of(subject), grader)
    found = [text for text in wanted if _levelled(text, grader) == answer]
    if found:
        return mark(True, f"equals {shown(found[0])}")
    return mark(False, f"expected {listed(wanted)}, got {shown(subject.answer)}")


def mark_semantic(grader: Semantic, subject: AnswerToGrade) -> Mark:
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


def mark_min_words(grader: MinWords, subject: AnswerToGrade) -> Mark:
    """Passed with so many words or more."""
    words = len(text_of(subject).split())
    return mark(words >= grader.value, f"{words} words, at least {grader.value} wanted")


def mark_max_words(grader: MaxWords, subject: AnswerToGrade) -> Mark:
    """Passed with so many words or fewer."""
    words = len(text_of(subject).split())
    return mark(words <= grader.value, f"{words} words, at most {grader.value} wanted")


def _mark_edge(
    grader: StartsEnds, subject: AnswerToGrade, has_edge: Callable[[str, str], bool], verb: str
) -> Mark:
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


MAX_CAPTURED = 1_000


def mark_matches(grader: Matches, subject: AnswerToGrade) -> Mark:
    """Passed when one of the patterns is found, or none where none may be."""
    found = _found(grader, subject)
    if found is None:
        return mark(not grader.must_match, "no match")
    captures = _captures(found, grader.capture_groups)
    listed = "".join(f"; {name}={shown(text)}" for name, text in captures.items())
    reason = f"matches at character {found.start()}: {shown(found.group())}{listed}"
    return mark(grader.must_match, reason, **({"captures": captures} if captures else {}))


def mark_not_matches(grader: NotMatches, subject: AnswerToGrade) -> Mark:
    """Passed when none of the patterns is found."""
    found = _found(grader, subject)
    if found is None:
        return mark(True, "no match")
    return mark(False, f"matches at character {found.start()}: {shown(found.group())}")


def _found(grader: PatternGrader, subject: AnswerToGrade) -> "regex.Match[str] | None":
    patterns = grader.wanted(subject.expected)
    if not patterns:
        raise nothing_to_compare()
    search, text = Search(), text_of(subject)
    return next((found for p in patterns if (found := search.find(p, text, grader.flags)) is not None), None)


def _captures(found: "regex.Match[str]", names: list[str]) -> dict[str, str | None]:
    """The named groups, and groups by position for names that are none; None for one that took no part."""
    own, groups = found.groupdict(), found.groups()
    by_place = {name: groups[i] if i < len(groups) else None for i, name in enumerate(names)}
    taken = {name: own.get(name, by_place.get(name)) for name in names or own}
    return {name: text if text is None else text[:MAX_CAPTURED] for name, text in taken.items()}


MAX_COMPARED = 20_000
DEFAULT_THRESHOLD = 0.8


def mark_levenshtein(grader: Levenshtein, subject: AnswerToGrade) -> Mark:
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
