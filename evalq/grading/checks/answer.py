"""The answer as checks read it: not endlessly long, compared letter by letter."""

import unicodedata

from evalq.errors import UngradableAnswer
from evalq.grading.subject import Subject

MAX_CHARS = 2**20
"""A check reads a megabyte; what is longer cannot be decided, which is no fail."""


def text_of(subject: Subject) -> str:
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
