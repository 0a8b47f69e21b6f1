"""How the tools a judge asked for compare with those it was expected to ask for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.tools import ExpectedCall
from evalq.definitions.json_paths import value_at
from evalq.grading.comparators import equals
from evalq.records import ToolCall


@dataclass(frozen=True)
class Comparison:
    """How many of how many demands hold, and what is wrong."""

    held: int
    demands: int
    wrong: tuple[str, ...] = ()


Fits = Callable[[ExpectedCall, ToolCall], bool]
Calls = Sequence[ToolCall]


def is_call(expected: ExpectedCall, call: ToolCall, args_match: str | list[str]) -> bool:
    """True when the tool and, as far as they count, the arguments are the expected ones."""
    if expected.tool != call.name:
        return False
    if expected.args is None or args_match == "ignore":
        return True
    return _have_args(expected.args, call.arguments, args_match)


def compare_exact(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> Comparison:
    """These calls and no others, in this order."""
    pairs = list(zip(expected, calls, strict=False))
    wrong = [
        f"call {i} is {call.name}, not the expected {one.tool}"
        for i, (one, call) in enumerate(pairs, start=1)
        if not fits(one, call)
    ]
    held = len(pairs) - len(wrong)
    if len(expected) != len(calls):
        wrong.append(f"{len(calls)} calls instead of {len(expected)}")
    return Comparison(held, max(len(expected), len(calls)), tuple(wrong))


def compare_in_order(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> Comparison:
    """These calls in this order, others before, between and after them."""
    missing, start = [], 0
    for one in expected:
        place = next((i for i in range(start, len(calls)) if fits(one, calls[i])), None)
        if place is None:
            missing.append(f"{one.tool} is not called, or too early")
        else:
            start = place + 1
    return Comparison(len(expected) - len(missing), len(expected), tuple(missing))


def compare_any_order(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> Comparison:
    """These calls in any order, and others; each call counts for one expected."""
    taken = _assigned(expected, calls, fits)
    missing = tuple(
        f"{expected[i].tool} is not called" for i in range(len(expected)) if i not in taken.values()
    )
    return Comparison(len(expected) - len(missing), len(expected), missing)


def compare_subset(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> Comparison:
    """None but these calls, each as often as the judge likes."""
    wrong = tuple(
        f"{call.name} is not among the expected"
        for call in calls
        if not any(fits(one, call) for one in expected)
    )
    return Comparison(len(calls) - len(wrong), len(calls), wrong)


def compare_minimums(minimums: Mapping[str, int], calls: Calls) -> Comparison:
    """Each tool at least so often."""
    counts = {tool: sum(call.name == tool for call in calls) for tool in minimums}
    wrong = tuple(
        f"{tool} is called {counts[tool]} times, at least {least} wanted"
        for tool, least in minimums.items()
        if counts[tool] < least
    )
    return Comparison(len(minimums) - len(wrong), len(minimums), wrong)


def _have_args(expected: Mapping[str, Any], actual: Mapping[str, Any], how: str | list[str]) -> bool:
    if isinstance(how, list):
        wanted = {path: value_at(dict(expected), path) for path in how}
        return all(
            value is ABSENT or equals(value, value_at(dict(actual), path)) for path, value in wanted.items()
        )
    if how == "exact":
        return equals(dict(expected), dict(actual))
    few, many = (expected, actual) if how == "superset" else (actual, expected)
    return all(key in many and equals(value, many[key]) for key, value in few.items())


def _assigned(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> dict[int, int]:
    """Call to expected, as many as possible: Kuhn's augmenting paths.

    First come first served would give an unspecific expectation the one call a specific one needs.
    """
    candidates = [[j for j, call in enumerate(calls) if fits(one, call)] for one in expected]
    taken: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j in candidates[i]:
            if j in seen:
                continue
            seen.add(j)
            if j not in taken or place(taken[j], seen):
                taken[j] = i
                return True
        return False

    for i in range(len(expected)):
        place(i, set())
    return taken
