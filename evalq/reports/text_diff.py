"""Marks which words of two texts differ, in bounded time whatever the texts are."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAX_TOKENS = 2_000
"""Words and gaps compared one by one; what follows them is compared as a whole."""

MAX_EDITS = 250
"""With more insertions and deletions than this, everything between the common ends counts as different."""

# A gap, a word, or one sign; a letter of a script without gaps between words stands alone. Linear.
_TOKEN = re.compile(r"\s+|[぀-ヿ㐀-鿿]|[^\W぀-ヿ㐀-鿿]+|.", re.DOTALL)


class Span(NamedTuple):
    """A piece of one text, and whether the other text has it too."""

    text: str
    same: bool


def diff_words(expected: str, answer: str) -> tuple[list[Span], list[Span]]:
    """Both texts as spans that join to the texts again; neighbouring spans differ in `same`.

    The shortest edit script (Myers 1986), bounded in words and in edits.
    """
    left, right = _tokens(expected), _tokens(answer)
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(token, len(numbers)) for token in left]
    b = [numbers.setdefault(token, len(numbers)) for token in right]
    same_a, same_b = _matches(a, b)
    return list(_spans(left, same_a)), list(_spans(right, same_b))


def _tokens(text: str) -> list[str]:
    """At most `MAX_TOKENS` words and gaps, then the rest of the text as one more."""
    tokens: list[str] = []
    for found in _TOKEN.finditer(text):
        if len(tokens) == MAX_TOKENS:
            tokens.append(text[found.start() :])
            break
        tokens.append(found.group())
    return tokens


def _matches(a: Sequence[int], b: Sequence[int]) -> tuple[list[bool], list[bool]]:
    """For each token of both sides, whether it is part of the common subsequence."""
    head = _common_length(a, b)
    tail = _common_length(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    inner_a, inner_b = [False] * len(middle_a), [False] * len(middle_b)
    for x, y in _common_pairs(middle_a, middle_b):
        inner_a[x] = inner_b[y] = True
    start, end = [True] * head, [True] * tail
    return [*start, *inner_a, *end], [*start, *inner_b, *end]


def _common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    length = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        length += 1
    return length


def _common_pairs(a: Sequence[int], b: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The positions that the shortest edit script keeps, last first; none when it is too long."""
    x, y = len(a), len(b)
    trace = _furthest_reaches(a, b)
    for edits, reach in reversed(list(enumerate(trace))):
        diagonal = x - y
        before = _previous_diagonal(reach, diagonal, edits)
        kept_from = reach[before + edits + 1]
        while x > kept_from and y > kept_from - before:
            x, y = x - 1, y - 1
            yield x, y
        x, y = kept_from, kept_from - before


def _furthest_reaches(a: Sequence[int], b: Sequence[int]) -> list[list[int]]:
    """For each number of edits the furthest position on every diagonal before it; empty past the limit."""
    centre = MAX_EDITS + 1
    reach = [0] * (2 * centre + 1)
    trace: list[list[int]] = []
    for edits in range(MAX_EDITS + 1):
        before = reach[centre - edits - 1 : centre + edits + 2]
        trace.append(before)
        for diagonal in range(-edits, edits + 1, 2):
            previous = _previous_diagonal(before, diagonal, edits)
            x = before[previous + edits + 1] + (previous < diagonal)
            x += _run_length(a, b, x, diagonal)
            reach[centre + diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return trace
    return []


def _run_length(a: Sequence[int], b: Sequence[int], x: int, diagonal: int) -> int:
    """How many tokens from here on are equal."""
    start, y = x, x - diagonal
    while x < len(a) and y < len(b) and a[x] == b[y]:
        x, y = x + 1, y + 1
    return x - start


def _previous_diagonal(reach: Sequence[int], diagonal: int, edits: int) -> int:
    """The neighbour from which this diagonal is reached furthest: by an insertion or a deletion."""
    at = diagonal + edits + 1
    if diagonal == -edits:
        return diagonal + 1
    if diagonal != edits and reach[at - 1] < reach[at + 1]:
        return diagonal + 1
    return diagonal - 1


def _spans(tokens: Sequence[str], same: Sequence[bool]) -> Iterator[Span]:
    """Neighbouring tokens joined; a gap between two different words is part of the difference."""
    flags = list(same)
    for at in range(1, len(flags) - 1):
        if tokens[at].isspace() and not flags[at - 1] and not same[at + 1]:
            flags[at] = False
    start = 0
    for at in range(1, len(flags) + 1):
        if at == len(flags) or flags[at] != flags[start]:
            yield Span("".join(tokens[start:at]), flags[start])
            start = at
