"""Simulated judges decide in the form asked for, and pass the checks of a case when they are right."""

from random import Random

import pytest
from answers import NoContext, grade_now
from pydantic import TypeAdapter

from evalq.calling.providers.simulated import right_answer, wrong_answer
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import DecisionGrader, GraderConfig
from evalq.definitions.prompt import describe_case, satisfying_text
from evalq.definitions.task import TaskConfig
from evalq.formats.skills.trigger_cases import (
    Skill,
    build_choice_case,
    build_trigger_case,
    build_trigger_task,
)
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion

TASK = build_trigger_task("t")
SKILLS = [Skill("a", "does a"), Skill("b", "does b")]
GRADERS: TypeAdapter[list[GraderConfig]] = TypeAdapter(list[GraderConfig])


def passes(task: TaskConfig, case: EvalCase, answer: str) -> list[bool | None]:
    subject = AnswerToGrade(task, case, Completion("answered", answer))
    return [grade.passed for grade in grade_now(subject, NoContext())]


@pytest.mark.parametrize(
    "case",
    [
        build_trigger_case(SKILLS[0], "q", should_trigger=True),
        build_trigger_case(SKILLS[0], "q", should_trigger=False),
        build_choice_case(SKILLS, "q", right=["b"]),
        build_choice_case(SKILLS, "q", right=["a", "none"]),
    ],
)
def test_a_decision_is_right_or_wrong_by_design(case: EvalCase) -> None:
    for seed in range(10):
        rng = Random(seed)
        assert passes(TASK, case, right_answer(describe_case(TASK, case), rng)) == [True]
        assert passes(TASK, case, wrong_answer(describe_case(TASK, case), rng)) == [False]


def graders(*fields: dict[str, object]) -> list[GraderConfig]:
    return GRADERS.validate_python(list(fields))


@pytest.mark.parametrize(
    "check",
    [
        {"type": "contains", "value": "<diff>"},
        {"type": "contains_all", "values": ["one", "two"]},
        {"type": "contains_any", "values": ["one", "two"]},
        {"type": "matches", "pattern": "^all good\\.$"},
        {"type": "min_tokens", "value": 12},
        {"type": "max_tokens", "value": 40},
        {"type": "not_contains", "value": "sorry"},
        {"type": "contains", "value": "sorry", "negate": True},
    ],
)
def test_a_right_answer_passes_the_checks_of_a_case_that_says_no_more(check: dict[str, object]) -> None:
    task = TaskConfig(name="t", system_prompt="", user_template="{q}")
    case = EvalCase(id="c", inputs={"q": "q"}, graders=graders(check))
    assert passes(task, case, right_answer(describe_case(task, case), Random(1))) == [True]


def test_all_that_is_looked_for_is_in_the_text() -> None:
    listed = graders(
        {"type": "contains", "value": "a"},
        {"type": "contains_all", "values": ["b", "a"]},
        {"type": "min_words", "value": 4},
        {"type": "matches", "pattern": "[0-9]+"},
    )
    assert satisfying_text(listed) == "a b and and"
    assert satisfying_text([DecisionGrader(type="decision")]) == "a fitting answer"


def test_what_a_case_expects_goes_before_what_its_checks_look_for() -> None:
    task = TaskConfig(name="t", system_prompt="", user_template="{q}")
    case = EvalCase(
        id="c",
        inputs={"q": "q"},
        expected={"answer": "own"},
        graders=graders({"type": "contains", "value": "a"}),
    )
    assert describe_case(task, case).expected == {"answer": "own"}
    assert describe_case(task, EvalCase(id="c", inputs={"q": "q"})).expected == {}
