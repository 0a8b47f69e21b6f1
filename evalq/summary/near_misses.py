"""Finds answers that are right but for their form: case, punctuation, white space, a code fence."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from evalq.definitions.fences import unfence

_LONGEST = 2_000
"""Characters of an answer that are looked at; a longer one differs in more than its form."""

IGNORE_CASE = "{type: equals, case_sensitive: false}"
IGNORE_SIGNS = "{type: equals, case_sensitive: false, ignore_punctuation: true}"
FIND_INSIDE = "{type: icontains}"


@dataclass(frozen=True)
class NearMisses:
    """How many failures differ from what is expected only in form, and the grader that accepts them.

    `grader` is a line for `graders:`; None when no check would accept all of them.
    """

    n: int
    forms: tuple[str, ...]
    grader: str | None


def form_difference(expected: str, answer: str) -> str | None:
    """In what alone the answer differs from the expected text: `case`, `white space`, …; None if in more."""
    if not expected.strip() or max(len(expected), len(answer)) > _LONGEST:
        return None
    wanted = expected.strip()
    for name, read in (
        ("white space", _join_words),
        ("case", lambda text: _join_words(text).casefold()),
        ("a code fence", lambda text: _join_words(unfence(text)).casefold()),
        ("case or punctuation", _letters_alone),
    ):
        if read(answer) == read(wanted) and read(wanted):
            return name
    return None


def find_near_misses(failures: Iterable[tuple[str, str]]) -> NearMisses | None:
    """Over pairs of expected text and failed answer; None when no failure is only a matter of form."""
    found = []
    forms: dict[str, None] = {}
    for expected, answer in failures:
        form = form_difference(expected, answer)
        if form is not None:
            found.append((expected, answer))
            forms[form] = None
    if not found:
        return None
    return NearMisses(len(found), tuple(forms), _choose_grader(found))


def _choose_grader(pairs: list[tuple[str, str]]) -> str | None:
    """The strictest check that accepts every pair."""
    if all(wanted.strip().casefold() == answer.strip().casefold() for wanted, answer in pairs):
        return IGNORE_CASE
    if all(_drop_signs(wanted) == _drop_signs(answer) for wanted, answer in pairs):
        return IGNORE_SIGNS
    if all(wanted.strip().casefold() in answer.casefold() for wanted, answer in pairs):
        return FIND_INSIDE
    return None


def _drop_signs(text: str) -> str:
    """The text as `ignore_punctuation` reads it: every run of signs and blanks is one blank."""
    kept = [" " if unicodedata.category(sign).startswith("P") else sign for sign in text]
    return _join_words("".join(kept)).casefold()


def _join_words(text: str) -> str:
    return " ".join(text.split())


def _letters_alone(text: str) -> str:
    """Letters, digits and symbols such as + or €, without punctuation and in one case."""
    kept = [sign for sign in unfence(text) if not unicodedata.category(sign).startswith("P") and sign != "`"]
    return _join_words("".join(kept)).casefold()
