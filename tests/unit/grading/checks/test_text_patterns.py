"""Regular expressions: found, forbidden, captured, and never searched with for long."""

import time
from typing import Any

import pytest
from answers import grade, passed

from benchmarks.patterns import EVIL


@pytest.mark.parametrize(("pattern", "letters"), EVIL.items(), ids=EVIL)
def test_an_evil_pattern_on_a_megabyte_is_an_error(pattern: str, letters: str) -> None:
    text = letters * (1_000_000 // len(letters)) + "!"
    found = grade({"type": "regex", "pattern": pattern}, text)
    assert found.passed is None
    assert "takes longer than 0.5 s on this answer" in found.reason


def test_alternatives_share_the_time_limit() -> None:
    evil = next(iter(EVIL))
    started = time.process_time()
    assert passed({"type": "regex", "pattern": f"{evil}x", "alternatives": [evil] * 5}, "a" * 100_000) is None
    assert time.process_time() - started < 2.5  # six limits of their own would be three seconds at least


@pytest.mark.parametrize(
    ("options", "answer", "is_passed"),
    [
        ({"pattern": "B$"}, "a\nb\nc", False),
        ({"pattern": "B$", "flags": ["multiline", "ignorecase"]}, "a\nb\nc", True),
        ({"pattern": "B$", "flags": "mi"}, "a\nb\nc", True),
        ({"pattern": "a.b"}, "a\nb", False),
        ({"pattern": "a.b", "flags": ["DOTALL"]}, "a\nb", True),
        ({"pattern": "a b", "flags": "dotall"}, "a b", True),
        ({"pattern": "a b # spaced", "flags": "x"}, "ab", True),
        ({"pattern": r"^\w$", "flags": ["ascii"]}, "é", False),
        ({"pattern": r"^\w$", "flags": "gu"}, "é", True),
        ({"pattern": "x", "alternatives": ["y"]}, "y", True),
        ({"pattern": "x", "must_match": False}, "y", True),
        ({"pattern": "y", "must_match": False}, "y", False),
        ({"pattern": "x", "alternatives": ["y"], "must_match": False}, "y", False),
    ],
)
def test_a_pattern_matches_by_its_flags(options: dict[str, Any], answer: str, is_passed: bool) -> None:
    found = grade({"type": "matches", **options}, answer)
    assert (found.passed, found.score) == (is_passed, float(is_passed))


def test_none_of_the_forbidden_patterns_may_be_found() -> None:
    grader = {"type": "not_matches", "pattern": "x", "alternatives": ["y"]}
    assert passed(grader, "z") is True
    assert grade(grader, "zy").reason == "matches at character 1: 'y'"


def test_captured_groups_are_in_the_reason() -> None:
    grader = {
        "type": "regex",
        "pattern": r"def (?P<name>\w+)\((\w*)\)",
        "capture_groups": ["name", "argument"],
    }
    found = grade(grader, "def solve(n): pass")
    assert found.reason == "matches at character 0: 'def solve(n)'; name='solve'; argument='n'"
    assert found.details == {"captures": {"name": "solve", "argument": "n"}}


def test_named_groups_are_captured_unasked() -> None:
    found = grade({"type": "regex", "pattern": r"(?P<year>\d{4})(?P<rest>-\d+)?"}, "in 2026")
    assert found.details == {"captures": {"year": "2026", "rest": None}}


def test_a_name_without_a_group_captures_nothing() -> None:
    pattern = r"^function\s+\w+\s*\([^)]*\)\s*\{"
    found = grade(
        {"type": "regex", "pattern": pattern, "capture_groups": ["function_name"]}, "function f() {"
    )
    assert (found.passed, found.details) == (True, {"captures": {"function_name": None}})


def test_a_pattern_may_stand_in_the_case() -> None:
    assert passed({"type": "matches"}, "a1", {"pattern": r"\d"}) is True
    assert passed({"type": "not_matches", "flags": "i"}, "A", {"must_not_match": "a"}) is False
