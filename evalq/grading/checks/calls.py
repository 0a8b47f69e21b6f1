"""Marking what the call took: time, dollars, tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.values import (
    Cost,
    ExpectedCall,
    Latency,
    MaxToolCalls,
    SkillTriggered,
    TokenUsage,
    ToolTrajectory,
)
from evalq.definitions.json_queries import value_at
from evalq.errors import UngradableAnswer
from evalq.grading.checks.text import nothing_to_compare
from evalq.grading.compare_json import equals
from evalq.grading.grader import AnswerToGrade, Mark, mark
from evalq.grading.reading import check_depth
from evalq.records import ToolCall


def mark_latency(grader: Latency, subject: AnswerToGrade) -> Mark:
    """Passed within the limit."""
    took = subject.completion.latency_ms
    return mark(took <= grader.threshold, f"{took} ms, at most {grader.threshold:g} wanted")


def mark_cost(grader: Cost, subject: AnswerToGrade) -> Mark:
    """Passed within the budget."""
    cost = subject.completion.cost_usd
    return mark(cost <= Decimal(repr(grader.budget)), f"${cost:f}, at most ${grader.budget:f} wanted")


def mark_token_usage(grader: TokenUsage, subject: AnswerToGrade) -> Mark:
    """Passed when no limit is passed; a provider that counts no tokens leaves nothing to check."""
    usage = subject.completion.usage
    if not usage.input_tokens and not usage.output_tokens:
        raise UngradableAnswer("the provider did not say how many tokens the answer took")
    limits = {
        "tokens": (usage.input_tokens + usage.output_tokens, grader.max_total),
        "input tokens": (usage.input_tokens, grader.max_input),
        "output tokens": (usage.output_tokens, grader.max_output),
    }
    counted = {name: (took, limit) for name, (took, limit) in limits.items() if limit is not None}
    reasons = [f"{took} {name}, at most {limit} wanted" for name, (took, limit) in counted.items()]
    return mark(all(took <= limit for took, limit in counted.values()), "; ".join(reasons))


@dataclass(frozen=True)
class CallComparison:
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


def compare_exact(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
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
    return CallComparison(held, max(len(expected), len(calls)), tuple(wrong))


def compare_in_order(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """These calls in this order, others before, between and after them."""
    missing, start = [], 0
    for one in expected:
        place = next((i for i in range(start, len(calls)) if fits(one, calls[i])), None)
        if place is None:
            missing.append(f"{one.tool} is not called, or too early")
        else:
            start = place + 1
    return CallComparison(len(expected) - len(missing), len(expected), tuple(missing))


def compare_any_order(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """These calls in any order, and others; each call counts for one expected."""
    taken = _assigned(expected, calls, fits)
    missing = tuple(
        f"{expected[i].tool} is not called" for i in range(len(expected)) if i not in taken.values()
    )
    return CallComparison(len(expected) - len(missing), len(expected), missing)


def compare_subset(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """None but these calls, each as often as the judge likes."""
    wrong = tuple(
        f"{call.name} is not among the expected"
        for call in calls
        if not any(fits(one, call) for one in expected)
    )
    return CallComparison(len(calls) - len(wrong), len(calls), wrong)


def compare_minimums(minimums: Mapping[str, int], calls: Calls) -> CallComparison:
    """Each tool at least so often."""
    counts = {tool: sum(call.name == tool for call in calls) for tool in minimums}
    wrong = tuple(
        f"{tool} is called {counts[tool]} times, at least {least} wanted"
        for tool, least in minimums.items()
        if counts[tool] < least
    )
    return CallComparison(len(minimums) - len(wrong), len(minimums), wrong)


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


MAX_CALLS = 1_000

_MODES = {
    "exact": compare_exact,
    "in_order": compare_in_order,
    "any_order": compare_any_order,
    "superset": compare_any_order,
    "subset": compare_subset,
}
_SKILL_ARGUMENTS = {"Skill": "skill", "Read": "file_path"}


def mark_tool_trajectory(grader: ToolTrajectory, subject: AnswerToGrade) -> Mark:
    """Scores the share of demands that hold; passed when all do, for the expected calls or an alternative."""
    wanted = grader.wanted(subject.expected)
    if wanted is None:
        raise nothing_to_compare()
    calls = _calls(subject)

    def fits(expected: ExpectedCall, call: ToolCall) -> bool:
        return is_call(expected, call, expected.args_match or grader.args_match)

    counts = compare_minimums(grader.minimums, calls)
    tries = [_total(_MODES[grader.mode](expected, calls, fits), counts) for expected in wanted]
    best = max(tries, key=lambda one: (not one.wrong, _score(one)))
    made = ", ".join(call.name for call in calls[:10]) or "no tool"
    return Mark(
        not best.wrong, _score(best), "; ".join(best.wrong[:3]) or f"as expected: {made}", {"calls": made}
    )


def mark_max_tool_calls(grader: MaxToolCalls, subject: AnswerToGrade) -> Mark:
    """Passed within the limit."""
    made = len(subject.completion.tool_calls)
    return mark(made <= grader.value, f"{made} calls of tools, at most {grader.value} wanted")


def mark_skill_triggered(grader: SkillTriggered, subject: AnswerToGrade) -> Mark:
    """Passed when the skill was reached for and should be, or was not and should not be."""
    wanted = grader.wanted(subject.expected)
    if wanted is None:
        raise nothing_to_compare()
    skill, should_trigger = wanted
    calls = _calls(subject)
    is_triggered = any(reaches_for(skill, call) for call in (calls[:1] if grader.first_only else calls))
    first = f"the first tool is {calls[0].name}" if calls else "no tool is called"
    return mark(is_triggered == should_trigger, f"{skill} {'' if is_triggered else 'not '}triggered: {first}")


def _calls(subject: AnswerToGrade) -> tuple[ToolCall, ...]:
    calls = subject.completion.tool_calls
    if len(calls) > MAX_CALLS:
        raise UngradableAnswer(f"{len(calls):,} calls of tools, at most {MAX_CALLS:,} are looked at")
    for call in calls:
        check_depth(dict(call.arguments))
    return calls


def _total(one: CallComparison, other: CallComparison) -> CallComparison:
    return CallComparison(one.held + other.held, one.demands + other.demands, one.wrong + other.wrong)


def _score(comparison: CallComparison) -> float:
    return comparison.held / comparison.demands if comparison.demands else float(not comparison.wrong)


def reaches_for(skill: str, call: ToolCall) -> bool:
    """True for the Skill tool with the skill's name in it, and for Read of one of its files."""
    named = call.arguments.get(_SKILL_ARGUMENTS.get(call.name, ""))
    return isinstance(named, str) and skill in named
