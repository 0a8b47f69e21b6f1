"""The tools a judge asked for: in which order, with which arguments, and whether a skill was among them."""

from typing import Any

import pytest
from answers import grade, passed


def calls(*written: str | tuple[str, dict[str, Any]]) -> dict[str, Any]:
    listed = [(one, {}) if isinstance(one, str) else one for one in written]
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in listed]}


def trajectory(mode: str, *tools: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_trajectory", "mode": mode, "expected": [{"tool": tool} for tool in tools], **more}


@pytest.mark.parametrize(
    ("mode", "made", "is_passed", "score"),
    [
        ("exact", "ab", True, 1.0),
        ("exact", "abc", False, 2 / 3),
        ("exact", "ba", False, 0.0),
        ("exact", "", False, 0.0),
        ("in_order", "xaxbx", True, 1.0),
        ("in_order", "ba", False, 0.5),
        ("in_order", "b", False, 0.5),
        ("any_order", "bxa", True, 1.0),
        ("any_order", "bx", False, 0.5),
        ("superset", "cba", True, 1.0),
        ("superset", "aa", False, 0.5),
        ("subset", "aba", True, 1.0),
        ("subset", "", True, 1.0),
        ("subset", "abxa", False, 0.75),
    ],
)
def test_a_mode_says_which_calls_are_right(mode: str, made: str, is_passed: bool, score: float) -> None:
    found = grade(trajectory(mode, "a", "b"), calls(*made))
    assert (found.passed, found.score) == (is_passed, pytest.approx(score)), found.reason


def test_no_tool_may_be_what_is_expected() -> None:
    assert passed(trajectory("exact"), "just words") is True
    assert passed(trajectory("exact"), calls("a")) is False
    assert passed(trajectory("subset"), calls("a")) is False


ARGS = {"q": "rain", "at": {"city": "Rome", "day": 1}}


@pytest.mark.parametrize(
    ("args_match", "actual", "is_passed"),
    [
        ("exact", ARGS, True),
        ("exact", {**ARGS, "n": 1}, False),
        ("exact", {"q": "rain", "at": {"city": "Rome", "day": True}}, False),
        ("ignore", {}, True),
        ("superset", {**ARGS, "n": 1}, True),
        ("superset", {"q": "rain"}, False),
        ("subset", {"q": "rain"}, True),
        ("subset", {"q": "rain", "n": 1}, False),
        (["q"], {"q": "rain", "at": 3}, True),
        (["q"], {"q": "sun", "at": ARGS["at"]}, False),
        (["at.city"], {"at": {"city": "Rome"}}, True),
        (["at.city", "n"], {"n": 9}, False),
    ],
)
def test_arguments_compare_as_the_grader_says(
    args_match: Any, actual: dict[str, Any], is_passed: bool
) -> None:
    expected = [{"tool": "a", "args": ARGS}]
    grader = {"type": "tool_trajectory", "mode": "exact", "expected": expected, "args_match": args_match}
    assert passed(grader, calls(("a", actual))) is is_passed


def test_a_call_may_have_its_own_way_to_compare() -> None:
    expected = [{"tool": "a", "args": {"x": 1}, "args_match": "ignore"}, {"tool": "a", "args": {"x": 1}}]
    grader = {"type": "tool_trajectory", "mode": "exact", "expected": expected}
    assert passed(grader, calls(("a", {"x": 9}), ("a", {"x": 1}))) is True
    assert passed(grader, calls(("a", {"x": 1}), ("a", {"x": 9}))) is False


def test_any_arguments_may_be_written_as_any() -> None:
    grader = {"type": "tool_trajectory", "mode": "exact", "expected": [{"tool": "a", "args": "any"}]}
    assert passed(grader, calls(("a", {"x": 9}))) is True


def test_an_unspecific_expectation_leaves_the_call_a_specific_one_needs() -> None:
    expected = [{"tool": "a"}, {"tool": "a", "args": {"x": 1}}]
    grader = {"type": "tool_trajectory", "mode": "any_order", "expected": expected}
    assert passed(grader, calls(("a", {"x": 1}), ("a", {"x": 2}))) is True
    assert grade(grader, calls(("a", {"x": 2}), ("a", {"x": 3}))).reason == "a is not called"


def test_a_call_counts_for_one_expectation_only() -> None:
    expected = [{"tool": "a", "args": {"x": 1}}, {"tool": "a"}, {"tool": "a"}]
    grader = {"type": "tool_trajectory", "mode": "superset", "expected": expected}
    assert grade(grader, calls(("a", {"x": 1}), ("a", {"x": 2}))).score == pytest.approx(2 / 3)


def test_tools_may_be_counted() -> None:
    grader = {"type": "tool_trajectory", "mode": "any_order", "minimums": {"a": 2, "b": 0}}
    assert passed(grader, calls("a", "x", "a")) is True
    found = grade(grader, calls("a"))
    assert (found.score, found.reason) == (0.5, "a is called 1 times, at least 2 wanted")


def test_one_of_several_trajectories_is_enough() -> None:
    grader = trajectory("exact", "a", alternatives=[[{"tool": "b"}, {"tool": "c"}]])
    assert passed(grader, calls("b", "c")) is True
    assert grade(grader, calls("b")).score == 0.5


def test_expected_tools_may_stand_in_the_case() -> None:
    grader = {"type": "tool_trajectory", "mode": "in_order"}
    expected = {"tools": ["a", {"tool": "b", "args": {"x": 1}}]}
    assert passed(grader, calls("a", ("b", {"x": 1})), expected) is True
    assert passed(grader, calls("a", "b"), expected) is False


def test_arguments_too_deep_to_compare_are_an_error() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"x": deep}
    assert passed(trajectory("exact", "a"), calls(("a", deep))) is None


@pytest.mark.parametrize(
    ("made", "is_triggered"),
    [
        ((("Skill", {"skill": "csv-analyzer-skill-1a2b"}),), True),
        ((("Read", {"file_path": "skills/csv-analyzer/SKILL.md"}),), True),
        ((("Skill", {"skill": "CSV-Analyzer"}),), False),
        ((("Skill", {"name": "csv-analyzer"}),), False),
        ((("Read", {"skill": "csv-analyzer"}),), False),
        ((("Bash", {"command": "csv-analyzer"}),), False),
        ((("Skill", {"skill": 3}),), False),
        (("Bash", ("Skill", {"skill": "csv-analyzer"})), False),
        ((), False),
    ],
)
def test_a_skill_is_triggered_by_the_first_tool(made: tuple[Any, ...], is_triggered: bool) -> None:
    grader = {"type": "skill_triggered", "skill": "csv-analyzer"}
    assert passed(grader, calls(*made)) is is_triggered
    assert passed({**grader, "should_trigger": False}, calls(*made)) is not is_triggered


def test_a_later_tool_may_count_too() -> None:
    grader = {"type": "skill_triggered", "skill": "csv", "first_only": False}
    found = grade(grader, calls("Bash", ("Skill", {"skill": "csv"})))
    assert (found.passed, found.reason) == (True, "csv triggered: the first tool is Bash")


def test_the_case_may_say_which_skill_and_whether() -> None:
    expected = {"skill": "csv", "should_trigger": False}
    assert passed({"type": "skill_triggered"}, "no tools", expected) is True
    assert passed({"type": "skill_triggered", "should_trigger": True}, "no tools", expected) is False
