"""Spans: where in a text something stands that is to be replaced, and of what kind it is."""

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
"""A detector: the places of one kind in a text, in time that grows with its length and no faster."""


class Span(NamedTuple):
    """The characters from `start` up to `end`."""

    start: int
    end: int
    kind: Kind


def merge(spans: Iterable[Span], ranking: Sequence[Kind]) -> list[Span]:
    """Spans that overlap become one over all they cover, of the kind that comes first in the ranking.

    Nothing that any detector found is left standing, whoever else found a part of it.
    """
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
            continue
        kind = min(last.kind, span.kind, key=ranking.index)
        merged[-1] = Span(last.start, max(last.end, span.end), kind)
    return merged
