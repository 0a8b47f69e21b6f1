"""Spans: the places in a text to replace, and the kind of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal[
    "private-key",
    "url-login",
    "jwt",
    "key",
    "auth",
    "secret",
    "iban",
    "card",
    "ssn",
    "id-number",
    "email",
    "phone",
    "ip",
    "birth-date",
    "address",
    "name",
]

Place = tuple[int, int]
Find = Callable[[str], Iterator[Place]]
"""A detector: the places of one kind in a text, in time linear in its length."""


class Span(NamedTuple):
    """The characters from `start` up to `end`."""

    start: int
    end: int
    kind: Kind


def merge_spans(spans: Iterable[Span], ranking: Sequence[Kind]) -> list[Span]:
    """Join spans that overlap to one over all they cover, of the kind that comes first in the ranking.

    So everything that any detector found is replaced, even if others found only a part of it.
    """
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            kind = min(last.kind, span.kind, key=ranking.index)
            span = Span(last.start, max(last.end, span.end), kind)
        merged.append(span)
    return merged
