"""Marking by regular expression."""

from typing import TYPE_CHECKING

from evalq.definitions.graders.patterns import Matches, NotMatches, PatternGrader
from evalq.grading.checks.answer import nothing_to_compare, text_of
from evalq.grading.search import Search
from evalq.grading.subject import Mark, Subject, mark
from evalq.grading.words import shown

if TYPE_CHECKING:
    import regex

MAX_CAPTURED = 1_000


def mark_matches(grader: Matches, subject: Subject) -> Mark:
    """Passed when one of the patterns is found, or none where none may be."""
    found = _found(grader, subject)
    if found is None:
        return mark(not grader.must_match, "no match")
    captures = _captures(found, grader.capture_groups)
    listed = "".join(f"; {name}={shown(text)}" for name, text in captures.items())
    reason = f"matches at character {found.start()}: {shown(found.group())}{listed}"
    return mark(grader.must_match, reason, **({"captures": captures} if captures else {}))


def mark_not_matches(grader: NotMatches, subject: Subject) -> Mark:
    """Passed when none of the patterns is found."""
    found = _found(grader, subject)
    if found is None:
        return mark(True, "no match")
    return mark(False, f"matches at character {found.start()}: {shown(found.group())}")


def _found(grader: PatternGrader, subject: Subject) -> "regex.Match[str] | None":
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
