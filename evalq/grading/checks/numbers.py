"""Marking a number in the answer."""

from decimal import Decimal

from evalq.definitions.graders.numbers import Numeric
from evalq.grading.checks.answer import nothing_to_compare, text_of
from evalq.grading.numbers import is_near, numbers_in, read_number
from evalq.grading.subject import Mark, Subject, mark
from evalq.grading.words import shown


def mark_numeric(grader: Numeric, subject: Subject) -> Mark:
    """Passed when the answer's number is near enough to one of the wanted ones; failed when it has none."""
    wanted = grader.wanted(subject.expected)
    if not wanted:
        raise nothing_to_compare()
    number = _number(grader, text_of(subject))
    if number is None:
        place = "is not a number" if grader.extract == "whole" else "has no number in it"
        return mark(False, f"the answer {place}: {shown(subject.answer)}")
    passed = any(is_near(number, one, abs_tol=grader.abs_tol, rel_tol=grader.rel_tol) for one in wanted)
    return mark(passed, f"{number} for {' or '.join(f'{one:g}' for one in wanted[:5])}{_room(grader)}")


def _number(grader: Numeric, answer: str) -> Decimal | None:
    if grader.extract == "whole":
        return read_number(answer.strip().removesuffix("."), decimal=grader.decimal)
    return next(numbers_in(answer, decimal=grader.decimal, backwards=grader.extract == "last"), None)


def _room(grader: Numeric) -> str:
    rooms = [f"± {grader.abs_tol:g}"] if grader.abs_tol else []
    rooms += [f"± {grader.rel_tol:.3g} of it"] if grader.rel_tol else []
    return f" ({' or '.join(rooms)})" if rooms else ""
