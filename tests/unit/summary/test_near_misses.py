"""Answers that are right but for their form, and the grader that would accept them."""

import pytest
import yaml

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders.text import Contains, Equals
from evalq.definitions.task import TaskConfig
from evalq.grading.checks.text import mark_contains, mark_equals
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion
from evalq.summary.near_misses import (
    FIND_INSIDE,
    IGNORE_CASE,
    IGNORE_SIGNS,
    find_near_misses,
    form_difference,
)


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("hello  world", "white space"),
        ("\n hello world \t", "white space"),
        ("Hello WORLD", "case"),
        ("```\nhello world\n```", "a code fence"),
        ("```text\nHello world\n```", "a code fence"),
        ("Hello, world.", "case or punctuation"),
        ("**hello world**", "case or punctuation"),
        ("`hello world`", "case or punctuation"),
        ("hello there world", None),
        ("", None),
        ("!!!", None),
        (" " * 1_000_000 + "hello world", None),
        ("hello world" + "!" * 1_000_000, None),
    ],
)
def test_the_form_in_which_alone_an_answer_differs(answer: str, form: str | None) -> None:
    assert form_difference("hello world", answer) == form


def test_an_empty_expectation_is_never_met_by_form() -> None:
    assert form_difference(" ", "") is None
    assert form_difference("...", "!!!") is None


def test_near_misses_are_counted_with_the_strictest_grader_that_accepts_them() -> None:
    failures = [("billing", "Billing"), ("sales", "SALES"), ("sales", "support")]

    found = find_near_misses(failures)

    assert found is not None
    assert (found.n, found.forms, found.grader) == (2, ("case",), IGNORE_CASE)


def test_punctuation_needs_a_grader_that_ignores_it() -> None:
    found = find_near_misses([("billing", "Billing."), ("sales", "SALES")])

    assert found is not None
    assert (found.forms, found.grader) == (("case or punctuation", "case"), IGNORE_SIGNS)


def test_no_check_accepts_what_lacks_the_expected_signs() -> None:
    found = find_near_misses([("e-mail", "email")])

    assert found is not None
    assert found.grader is None


def test_failures_that_are_wrong_are_no_near_misses() -> None:
    assert find_near_misses([("a", "b"), ("c", "")]) is None


@pytest.mark.parametrize(
    ("answer", "line"),
    [("BILLING", IGNORE_CASE), ("**Billing.**", IGNORE_SIGNS), ("`Billing`!", FIND_INSIDE)],
)
def test_the_grader_that_is_recommended_accepts_the_answer(answer: str, line: str) -> None:
    found = find_near_misses([("billing", answer)])
    assert found is not None
    assert found.grader == line

    config = TaskConfig(name="t", system_prompt="", user_template="", graders=[yaml.safe_load(line)])
    case = EvalCase(id="c", inputs={}, expected={"answer": "billing"})
    to_grade = AnswerToGrade(config, case, Completion("answered", answer))
    (grader,) = config.graders

    assert isinstance(grader, Equals | Contains)
    mark = mark_equals(grader, to_grade) if isinstance(grader, Equals) else mark_contains(grader, to_grade)
    assert mark.passed
