"""Checks of the call behind an answer: its time, dollars and tokens, and the tools it used."""

from collections import Counter
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

MAX_CALLS = 1_000

_SKILL_ARGUMENTS = {"Skill": "skill", "Read": "file_path"}


def mark_latency(grader: Latency, answer: AnswerToGrade) -> Mark:
    """Passed within the limit."""
    took = answer.completion.latency_ms
    return mark(took <= grader.threshold, f"{took} ms, at most {grader.threshold:g} wanted")


def mark_cost(grader: Cost, answer: AnswerToGrade) -> Mark:
    """Passed within the budget."""
    cost = answer.completion.cost_usd
    return mark(cost <= Decimal(repr(grader.budget)), f"${cost:f}, at most ${grader.budget:f} wanted")


def mark_token_usage(grader: TokenUsage, answer: AnswerToGrade) -> Mark:
    """Passed within all limits; ungradable when the provider reports no tokens."""
    usage = answer.completion.usage
    if not usage.input_tokens and not usage.output_tokens:
        raise UngradableAnswer("the provider did not say how many tokens the answer took")
    limits = {
        "tokens": (usage.input_tokens + usage.output_tokens, grader.max_total),
        "input tokens": (usage.input_tokens, grader.max_input),
        "output tokens": (usage.output_tokens, grader.max_output),
    }
    passed, reasons = True, []
    for name, (used, limit) in limits.items():
        if limit is not None:
            passed = passed and used <= limit
            reasons.append(f"{used} {name}, at most {limit} wanted")
    return mark(passed, "; ".join(reasons))


def mark_max_tool_calls(grader: MaxToolCalls, answer: AnswerToGrade) -> Mark:
    """Passed within the limit."""
    made = len(answer.completion.tool_calls)
    return mark(made <= grader.value, f"{made} calls of tools, at most {grader.value} wanted")


def mark_skill_triggered(grader: SkillTriggered, answer: AnswerToGrade) -> Mark:
    """Passed when the skill was used and should be, or was not and should not be."""
    wanted = grader.wanted(answer.expected)
    if wanted is None:
        raise nothing_to_compare()
    skill, should_trigger = wanted
    calls = _tool_calls(answer)
    considered = calls[:1] if grader.first_only else calls
    is_triggered = any(reaches_for(skill, call) for call in considered)
    first = f"the first tool is {calls[0].name}" if calls else "no tool is called"
    verb = "triggered" if is_triggered else "not triggered"
    return mark(is_triggered == should_trigger, f"{skill} {verb}: {first}")


def reaches_for(skill: str, call: ToolCall) -> bool:
    """True for the Skill tool with the skill's name, and for Read of one of the skill's files."""
    named = call.arguments.get(_SKILL_ARGUMENTS.get(call.name, ""))
    return isinstance(named, str) and skill in named


def mark_tool_trajectory(grader: ToolTrajectory, answer: AnswerToGrade) -> Mark:
    """Scores the share of demands that hold in the best alternative; passed when all do."""
    wanted = grader.wanted(answer.expected)
    if wanted is None:
        raise nothing_to_compare()
    calls = _tool_calls(answer)

    def fits(expected: ExpectedCall, call: ToolCall) -> bool:
        return is_call(expected, call, expected.args_match or grader.args_match)

    counts = compare_minimums(grader.minimums, calls)
    tries = [_MODES[grader.mode](expected, calls, fits).plus(counts) for expected in wanted]
    best = max(tries, key=lambda one: (not one.wrong, one.score))
    made = ", ".join(call.name for call in calls[:10]) or "no tool"
    reason = "; ".join(best.wrong[:3]) or f"as expected: {made}"
    return Mark(not best.wrong, best.score, reason, {"calls": made})


def _tool_calls(answer: AnswerToGrade) -> tuple[ToolCall, ...]:
    calls = answer.completion.tool_calls
    if len(calls) > MAX_CALLS:
        raise UngradableAnswer(f"{len(calls):,} calls of tools, at most {MAX_CALLS:,} are looked at")
    for call in calls:
        check_depth(dict(call.arguments))
    return calls


@dataclass(frozen=True)
class CallComparison:
    """How many of the demands hold, and what is wrong."""

    held: int
    demands: int
    wrong: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The share of demands that hold; all or nothing without demands."""
        return self.held / self.demands if self.demands else float(not self.wrong)

    def plus(self, other: "CallComparison") -> "CallComparison":
        """Both sets of demands together."""
        return CallComparison(self.held + other.held, self.demands + other.demands, self.wrong + other.wrong)


Fits = Callable[[ExpectedCall, ToolCall], bool]
Calls = Sequence[ToolCall]


def is_call(expected: ExpectedCall, call: ToolCall, args_match: str | list[str]) -> bool:
    """True when the tool is the expected one and so are the arguments, as far as they count."""
    if expected.tool != call.name:
        return False
    if expected.args is None or args_match == "ignore":
        return True
    return _have_args(expected.args, call.arguments, args_match)


def compare_exact(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """These calls and no others, in this order."""
    held, wrong = 0, []
    for number, (one, call) in enumerate(zip(expected, calls, strict=False), start=1):
        if fits(one, call):
            held += 1
        else:
            wrong.append(f"call {number} is {call.name}, not the expected {one.tool}")
    if len(expected) != len(calls):
        wrong.append(f"{len(calls)} calls instead of {len(expected)}")
    return CallComparison(held, max(len(expected), len(calls)), tuple(wrong))


def compare_in_order(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """These calls in this order, others before, between and after them."""
    missing, start = [], 0
    for one in expected:
        found = next((at for at in range(start, len(calls)) if fits(one, calls[at])), None)
        if found is None:
            missing.append(f"{one.tool} is not called, or too early")
        else:
            start = found + 1
    return CallComparison(len(expected) - len(missing), len(expected), tuple(missing))


def compare_any_order(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """These calls in any order, and others; each call counts for one expected call."""
    served = set(_assign(expected, calls, fits).values())
    missing = tuple(f"{one.tool} is not called" for at, one in enumerate(expected) if at not in served)
    return CallComparison(len(expected) - len(missing), len(expected), missing)


def compare_subset(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> CallComparison:
    """Only these calls, each any number of times."""
    wrong = []
    for call in calls:
        if not any(fits(one, call) for one in expected):
            wrong.append(f"{call.name} is not among the expected")
    return CallComparison(len(calls) - len(wrong), len(calls), tuple(wrong))


def compare_minimums(minimums: Mapping[str, int], calls: Calls) -> CallComparison:
    """Each tool at least this number of times."""
    counts = Counter(call.name for call in calls)
    wrong = tuple(
        f"{tool} is called {counts[tool]} times, at least {least} wanted"
        for tool, least in minimums.items()
        if counts[tool] < least
    )
    return CallComparison(len(minimums) - len(wrong), len(minimums), wrong)


def _have_args(expected: Mapping[str, Any], actual: Mapping[str, Any], how: str | list[str]) -> bool:
    if isinstance(how, list):
        return all(_is_same_at(path, expected, actual) for path in how)
    if how == "exact":
        return equals(dict(expected), dict(actual))
    if how == "superset":
        return _is_part_of(expected, actual)
    return _is_part_of(actual, expected)


def _is_same_at(path: str, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    wanted = value_at(dict(expected), path)
    return wanted is ABSENT or equals(wanted, value_at(dict(actual), path))


def _is_part_of(few: Mapping[str, Any], many: Mapping[str, Any]) -> bool:
    return all(key in many and equals(value, many[key]) for key, value in few.items())


def _assign(expected: Sequence[ExpectedCall], calls: Calls, fits: Fits) -> dict[int, int]:
    """Call to expected call, as many as possible, by Kuhn's augmenting paths.

    A greedy assignment could give a general expectation the one call that a specific one needs.
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


_MODES = {
    "exact": compare_exact,
    "in_order": compare_in_order,
    "any_order": compare_any_order,
    "superset": compare_any_order,
    "subset": compare_subset,
}
