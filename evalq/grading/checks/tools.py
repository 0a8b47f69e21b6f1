"""Marking the tools a judge asked for."""

from evalq.definitions.graders.tools import ExpectedCall, MaxToolCalls, SkillTriggered, ToolTrajectory
from evalq.errors import UngradableAnswer
from evalq.grading.checks.answer import nothing_to_compare
from evalq.grading.json_answers import check_depth
from evalq.grading.subject import Mark, Subject, mark
from evalq.grading.trajectory import (
    Comparison,
    compare_any_order,
    compare_exact,
    compare_in_order,
    compare_minimums,
    compare_subset,
    is_call,
)
from evalq.records import ToolCall

MAX_CALLS = 1_000

_MODES = {
    "exact": compare_exact,
    "in_order": compare_in_order,
    "any_order": compare_any_order,
    "superset": compare_any_order,
    "subset": compare_subset,
}
_SKILL_ARGUMENTS = {"Skill": "skill", "Read": "file_path"}


def mark_tool_trajectory(grader: ToolTrajectory, subject: Subject) -> Mark:
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


def mark_max_tool_calls(grader: MaxToolCalls, subject: Subject) -> Mark:
    """Passed within the limit."""
    made = len(subject.completion.tool_calls)
    return mark(made <= grader.value, f"{made} calls of tools, at most {grader.value} wanted")


def mark_skill_triggered(grader: SkillTriggered, subject: Subject) -> Mark:
    """Passed when the skill was reached for and should be, or was not and should not be."""
    wanted = grader.wanted(subject.expected)
    if wanted is None:
        raise nothing_to_compare()
    skill, should_trigger = wanted
    calls = _calls(subject)
    is_triggered = any(reaches_for(skill, call) for call in (calls[:1] if grader.first_only else calls))
    first = f"the first tool is {calls[0].name}" if calls else "no tool is called"
    return mark(is_triggered == should_trigger, f"{skill} {'' if is_triggered else 'not '}triggered: {first}")


def _calls(subject: Subject) -> tuple[ToolCall, ...]:
    calls = subject.completion.tool_calls
    if len(calls) > MAX_CALLS:
        raise UngradableAnswer(f"{len(calls):,} calls of tools, at most {MAX_CALLS:,} are looked at")
    for call in calls:
        check_depth(dict(call.arguments))
    return calls


def _total(one: Comparison, other: Comparison) -> Comparison:
    return Comparison(one.held + other.held, one.demands + other.demands, one.wrong + other.wrong)


def _score(comparison: Comparison) -> float:
    return comparison.held / comparison.demands if comparison.demands else float(not comparison.wrong)


def reaches_for(skill: str, call: ToolCall) -> bool:
    """True for the Skill tool with the skill's name in it, and for Read of one of its files."""
    named = call.arguments.get(_SKILL_ARGUMENTS.get(call.name, ""))
    return isinstance(named, str) and skill in named
