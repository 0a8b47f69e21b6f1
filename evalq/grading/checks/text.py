"""Checks of an answer's text: phrases, patterns, length, and edit distance to what is wanted."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

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
from evalq.grading.grader import AnswerToGrade, Mark, mark, quote, quote_first
from evalq.grading.search import TimedSearch

if TYPE_CHECKING:
    import regex

Wanted = TypeVar("Wanted")

MAX_CHARS = 2**20
"""A check reads up to a megabyte; a longer answer is ungradable, not failed."""

MAX_CAPTURED = 1_000
MAX_COMPARED = 20_000
DEFAULT_THRESHOLD = 0.8

_LONG_RUN = re.compile(r"([^\w\x00-\u02ff]{31,})")
"""Accents and symbols without a letter between them, more than the 30 that Unicode allows for.

See the Stream-Safe Text Format, https://unicode.org/reports/tr15/#Stream_Safe_Text_Format.
"""

Fold = Callable[[str], str]


def text_of(answer: AnswerToGrade) -> str:
    """The answer's text, if it is short enough to check."""
    if len(answer.text) > MAX_CHARS:
        raise UngradableAnswer(
            f"the answer has {len(answer.text):,} characters, checks read at most {MAX_CHARS:,}"
        )
    return answer.text


def fold(text: str, *, case_sensitive: bool = True) -> str:
    """The text in Unicode's composed form, so that equal letters compare equal; in one case if asked."""
    composed = _compose(text)
    if case_sensitive:
        return composed
    return _compose(composed.casefold())


def _compose(text: str) -> str:
    """The text in Unicode's composed form, except for long runs of accents, which stay as they are.

    Python sorts a run of accents in quadratic time and lets no other thread run meanwhile: an answer of
    accents alone would stop the worker.
    """
    pieces = _LONG_RUN.split(text)
    for place in range(0, len(pieces), 2):  # the long runs are at the odd places
        pieces[place] = unicodedata.normalize("NFC", pieces[place])
    return "".join(pieces)


def nothing_to_compare() -> UngradableAnswer:
    """For a grader whose case expects nothing; loading the two together reports that earlier."""
    return UngradableAnswer("neither the grader nor the case says what is expected")


def mark_contains(grader: Contains | ContainsAny | NotContains, answer: AnswerToGrade) -> Mark:
    """Passed when one of the texts occurs."""
    wanted = _require(grader.wanted(answer.expected))
    fold_one = _fold_of(grader.type)
    text = fold_one(text_of(answer))
    for phrase in wanted:
        if fold_one(phrase) in text:
            return mark(True, f"contains {quote(phrase)}")
    return mark(False, f"contains {'none of' if len(wanted) > 1 else 'no'} {quote_first(wanted)}")


def mark_not_contains(grader: NotContains, answer: AnswerToGrade) -> Mark:
    """Passed when none of the texts occurs."""
    found = mark_contains(grader, answer)
    return mark(not found.passed, found.reason)


def mark_contains_all(grader: ContainsAll, answer: AnswerToGrade) -> Mark:
    """Passed when all of the texts occur, or all of one alternative list."""
    lists = _require(grader.wanted(answer.expected))
    fold_one = _fold_of(grader.type)
    text = fold_one(text_of(answer))
    tries = [[phrase for phrase in wanted if fold_one(phrase) not in text] for wanted in lists]
    missing = min(tries, key=len)
    if missing:
        return mark(False, f"does not contain {quote_first(missing)}")
    return mark(True, "contains all")


def mark_starts_with(grader: StartsEnds, answer: AnswerToGrade) -> Mark:
    """Passed when the answer begins with one of the texts."""
    return _mark_edge(grader, answer, str.startswith, "start")


def mark_ends_with(grader: StartsEnds, answer: AnswerToGrade) -> Mark:
    """Passed when the answer ends with one of the texts."""
    return _mark_edge(grader, answer, str.endswith, "end")


def _mark_edge(
    grader: StartsEnds, answer: AnswerToGrade, has_edge: Callable[[str, str], bool], verb: str
) -> Mark:
    wanted = _require(grader.wanted(answer.expected))
    text = fold(text_of(answer).strip(), case_sensitive=grader.case_sensitive)
    for one in wanted:
        if has_edge(text, fold(one.strip(), case_sensitive=grader.case_sensitive)):
            return mark(True, f"{verb}s with {quote(one)}")
    return mark(False, f"does not {verb} with {quote_first(wanted)}")


def mark_equals(grader: Equals, answer: AnswerToGrade) -> Mark:
    """Passed when the answer is one of the texts."""
    wanted = _require(grader.wanted(answer.expected))
    text = _normalise(text_of(answer), grader)
    for one in wanted:
        if _normalise(one, grader) == text:
            return mark(True, f"equals {quote(one)}")
    return mark(False, f"expected {quote_first(wanted)}, got {quote(answer.text)}")


def _normalise(text: str, grader: Equals) -> str:
    """The text as it is compared: line ends, outer whitespace and letter case as the grader wants them."""
    if grader.normalize_newlines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if grader.trim_whitespace:
        text = text.strip()
    if grader.ignore_punctuation:
        text = drop_punctuation(text)
    return fold(text, case_sensitive=grader.case_sensitive)


def drop_punctuation(text: str) -> str:
    """The words of a text with one blank between them: `**Billing.**` is `Billing`."""
    kept = [" " if unicodedata.category(char).startswith("P") else char for char in text]
    return " ".join("".join(kept).split())


def mark_semantic(grader: Semantic, answer: AnswerToGrade) -> Mark:
    """Scores the share of demands that hold; passed when all do."""
    wanted, banned = grader.demands(answer.expected)
    if not wanted and not banned:
        raise nothing_to_compare()
    text = _flatten(text_of(answer), grader)

    def has_one_of(choices: Iterable[str]) -> bool:
        return any(_flatten(choice, grader) in text for choice in choices)

    reasons = [f"does not say {quote_first(choices)}" for choices in wanted if not has_one_of(choices)]
    reasons += [f"says {quote_first(choices)}" for choices in banned if has_one_of(choices)]
    score = 1 - len(reasons) / (len(wanted) + len(banned))
    return Mark(not reasons, score, "; ".join(reasons[:5]) or "says all it must and nothing it must not")


def _flatten(text: str, grader: Semantic) -> str:
    return " ".join(fold(text, case_sensitive=grader.case_sensitive).split())


def mark_min_words(grader: MinWords, answer: AnswerToGrade) -> Mark:
    """Passed with at least this number of words."""
    words = len(text_of(answer).split())
    return mark(words >= grader.value, f"{words} words, at least {grader.value} wanted")


def mark_max_words(grader: MaxWords, answer: AnswerToGrade) -> Mark:
    """Passed with at most this number of words."""
    words = len(text_of(answer).split())
    return mark(words <= grader.value, f"{words} words, at most {grader.value} wanted")


def mark_matches(grader: Matches, answer: AnswerToGrade) -> Mark:
    """Passed when one of the patterns is found, or when none is and none may be."""
    found = _find_pattern(grader, answer)
    if found is None:
        return mark(not grader.must_match, "no match")
    reason = f"matches at character {found.start()}: {quote(found.group())}"
    captures = _read_captures(found, grader.capture_groups)
    if not captures:
        return mark(grader.must_match, reason)
    for name, text in captures.items():
        reason += f"; {name}={quote(text)}"
    return mark(grader.must_match, reason, captures=captures)


def mark_not_matches(grader: NotMatches, answer: AnswerToGrade) -> Mark:
    """Passed when none of the patterns is found."""
    found = _find_pattern(grader, answer)
    if found is None:
        return mark(True, "no match")
    return mark(False, f"matches at character {found.start()}: {quote(found.group())}")


def _find_pattern(grader: PatternGrader, answer: AnswerToGrade) -> "regex.Match[str] | None":
    """The first match of the first pattern that has one."""
    patterns = _require(grader.wanted(answer.expected))
    search, text = TimedSearch(), text_of(answer)
    for pattern in patterns:
        found = search.find(pattern, text, grader.flags)
        if found is not None:
            return found
    return None


def _read_captures(found: "regex.Match[str]", names: list[str]) -> dict[str, str | None]:
    """The pattern's groups under these names, or under its own without any; None for an unused group.

    A name that the pattern does not have stands for the group at the name's position.
    """
    captures: dict[str, str | None] = found.groupdict()
    if names:
        by_position = dict(zip(names, found.groups(), strict=False))
        captures = {name: captures.get(name, by_position.get(name)) for name in names}
    for name, text in captures.items():
        if text is not None:
            captures[name] = text[:MAX_CAPTURED]
    return captures


def mark_levenshtein(grader: Levenshtein, answer: AnswerToGrade) -> Mark:
    """Scores the likeness to the nearest of the texts."""
    wanted = _require(grader.wanted(answer.expected))
    text = fold(text_of(answer).strip(), case_sensitive=grader.case_sensitive)
    compared = []
    for one in wanted:
        other = fold(one.strip(), case_sensitive=grader.case_sensitive)
        longer = max(len(text), len(other))
        if longer > MAX_COMPARED:
            raise UngradableAnswer(
                f"a text of {longer:,} characters is too long to compare, {MAX_COMPARED:,} at most"
            )
        edits = edit_distance(text, other)
        compared.append((1 - edits / max(longer, 1), edits, one))
    likeness, distance, nearest = max(compared, key=lambda found: found[0])
    reason = f"{distance} edits from {quote(nearest)}, likeness {likeness:.3f}"
    if grader.max_distance is not None:
        passed = any(edits <= grader.max_distance for _, edits, _ in compared)
        return mark(passed, f"{reason}, at most {grader.max_distance} edits wanted")
    threshold = DEFAULT_THRESHOLD if grader.threshold is None else grader.threshold
    return Mark(round(likeness, 9) >= threshold, likeness, f"{reason}, {threshold:g} wanted")


def edit_distance(one: str, other: str) -> int:
    """Levenshtein's distance: the fewest letters to insert, remove or replace to make the texts equal.

    Bit-parallel, after Myers (J. ACM 46, 1999) and Hyyrö (2003): a column of the table is one long integer,
    so a text of n letters costs n steps almost regardless of the other's length.
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


def _fold_of(kind: str) -> Fold:
    """How a check folds texts: the types that begin with an i ignore letter case."""
    is_sensitive = not kind.startswith("i")
    return lambda text: fold(text, case_sensitive=is_sensitive)


def _require(wanted: Sequence[Wanted]) -> Sequence[Wanted]:
    if not wanted:
        raise nothing_to_compare()
    return wanted
