"""Reading several things at once: the problems of all of them are reported together."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from evalq.definitions.validation import cut
from evalq.errors import InputError, Problem

Part = TypeVar("Part")
Made = TypeVar("Made")


def gathered(make: Callable[[], Made], problems: list[Problem]) -> Made | None:
    """What is made; None when it cannot be, with its problems added to the others."""
    try:
        return make()
    except InputError as exc:
        problems += exc.problems
        return None


def each_made(make: Callable[[Part], Made], parts: Iterable[Part]) -> list[Made]:
    """What is made of every part; InputError with the problems of all of them."""
    problems: list[Problem] = []
    made: list[Made] = []
    for part in parts:
        try:
            made.append(make(part))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*cut(list(dict.fromkeys(problems))))
    return made
