"""Every type of model grader passes, fails and errs as its replies say, and asks what its author meant."""

import re
from typing import Any

import pytest
from answers import grade_now

from evalq.definitions.evalset import EvalCase
from evalq.definitions.rubrics import CRITERIA, RUBRICS
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grader_calls, grader_models
from evalq.grading.grader import AnswerToGrade
from evalq.grading.prompts import MAX_CHARACTERS
from evalq.records import Completion, Grade, Prompt

CASE = EvalCase(id="c", inputs={"city": "Rome"}, expected={"answer": "Italy"})

VERDICT = {"type": "verdict", "rubric": "It names the country."}
RUBRIC = {"type": "rubric", "rubric": "It names the country."}
CRITERIA_OF_TWO = {
    "type": "criteria",
    "criteria": [{"name": "truth", "weight": 3}, {"name": "style", "weight": 1}],
}
CATEGORICAL = {
    "type": "categorical",
    "rubric": "What kind of answer is it?",
    "categories": {"full": 1.0, "part": 0.5, "none": 0.0},
    "pass_categories": ["full", "part"],
}
BOOLEAN = {"type": "boolean", "question": "Does it name the country?"}


def task_of(*graders: dict[str, Any], **fields: Any) -> TaskConfig:
    return TaskConfig.model_validate(
        {
            "name": "t",
            "system_prompt": "",
            "user_template": "Where is {city}?",
            "graders": list(graders),
            **fields,
        }
    )


def subject(
    grader: dict[str, Any], answer: str = "Italy", case: EvalCase = CASE, **fields: Any
) -> AnswerToGrade:
    return AnswerToGrade(task_of(grader, **fields), case, Completion("answered", answer), "judge")


def graded(grader: dict[str, Any], context: Any, *replies: str, answer: str = "Italy") -> Grade:
    [grade] = grade_now(subject(grader, answer), context(*replies))
    return grade


def asked(grader: dict[str, Any], answer: str = "Italy", case: EvalCase = CASE, **fields: Any) -> Prompt:
    one = subject(grader, answer, case, **fields)
    return next(iter(grader_calls(one.task, case, answer))).prompt


@pytest.mark.parametrize(
    ("grader", "reply", "passed", "score"),
    [
        (VERDICT, "VALID", True, 1.0),
        (VERDICT, "Not quite.\nINVALID", False, 0.0),
        (RUBRIC, "SCORE=4 REASON=good", True, 0.75),
        (RUBRIC, "SCORE=3 REASON=fair", False, 0.5),
        (RUBRIC | {"pass_threshold": 3}, "SCORE=3 REASON=fair", True, 0.5),
        (RUBRIC | {"range": [0, 10], "threshold": 7}, '{"reason": "r", "score": 6}', False, 0.6),
        (CRITERIA_OF_TWO, '{"reason": "r", "scores": {"truth": 5, "style": 1}}', True, 0.75),
        (CRITERIA_OF_TWO, '{"reason": "r", "scores": {"truth": 4, "style": 3}}', False, 0.6875),
        (CATEGORICAL, "CATEGORY=part REASON=r", True, 0.5),
        (CATEGORICAL, "CATEGORY=none REASON=r", False, 0.0),
        (CATEGORICAL | {"categories": ["full", "part", "none"]}, "CATEGORY=part REASON=r", True, 1.0),
        (BOOLEAN, "ANSWER=YES REASON=r", True, 1.0),
        (BOOLEAN, "ANSWER=NO REASON=r", False, 0.0),
        (BOOLEAN | {"negate": True}, "ANSWER=NO REASON=r", True, 1.0),
    ],
)
def test_a_reply_becomes_a_mark(grader, reply: str, passed: bool, score: float, context) -> None:
    grade = graded(grader, context, reply)
    assert (grade.passed, grade.score) == (passed, score)


@pytest.mark.parametrize("grader", [VERDICT, RUBRIC, CRITERIA_OF_TWO, CATEGORICAL, BOOLEAN])
@pytest.mark.parametrize("reply", ["I cannot say.", "VALIDE", "SCORE=9 REASON=r", '{"reason": "r"}'])
def test_a_reply_in_no_form_is_an_error_of_the_grader(grader, reply: str, context) -> None:
    grade = graded(grader, context, reply)
    assert (grade.passed, grade.score) == (None, None)
    assert grade.reason


@pytest.mark.parametrize("grader", [VERDICT, RUBRIC, CRITERIA_OF_TWO, CATEGORICAL, BOOLEAN])
def test_an_answer_too_long_to_be_read_is_an_error_and_asks_nobody(grader, context) -> None:
    grade = graded(grader, context, answer="x" * (MAX_CHARACTERS + 1))
    assert grade.passed is None
    assert "200,001 characters" in grade.reason


@pytest.mark.parametrize(
    ("grader", "reply", "reason"),
    [
        (VERDICT, '{"reason": "it does", "verdict": "VALID"}', "says VALID: it does"),
        (RUBRIC, "SCORE=2 REASON=too brief", "scores 2 of 5: too brief"),
        (
            CRITERIA_OF_TWO,
            '{"reason": "dull", "scores": {"truth": 5, "style": 2}}',
            "mean 4.25 of 5 (truth 5, style 2): dull",
        ),
        (CATEGORICAL, "CATEGORY=part REASON=no city", "category part: no city"),
    ],
)
def test_a_grade_says_why(grader, reply: str, reason: str, context) -> None:
    assert graded(grader, context, reply).reason == reason


def test_details_hold_every_score(context) -> None:
    grade = graded(CRITERIA_OF_TWO, context, '{"reason": "r", "scores": {"truth": 5, "style": 2}}')
    [member] = grade.details["members"]
    assert (member["scores"], member["value"]) == ({"truth": 5, "style": 2}, 4.25)


def test_a_plain_rubric_is_shown_with_question_reference_and_answer_each_behind_its_fence() -> None:
    user = asked(VERDICT).user
    nonce = re.search(r"<answer-(\w{16})>", user)[1]
    for word, text in (("question", "Where is Rome?"), ("reference", "Italy"), ("answer", "Italy")):
        assert f"<{word}-{nonce}>\n{text}\n</{word}-{nonce}>" in user
    assert user.startswith("It names the country.\n")
    assert user.index(f"end in -{nonce}.") < user.index("<question-")


def test_what_all_prompts_of_a_grader_begin_with_is_the_same_so_that_a_provider_can_cache_it() -> None:
    first, second = asked(RUBRIC, "one").user, asked(RUBRIC, "two").user
    shared = first[: first.index("Material to judge")]
    assert second.startswith(shared)
    assert "It names the country." in shared


def test_the_question_has_its_instructions_and_its_conversation() -> None:
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "And Rome?"},
    ]
    case = EvalCase.model_validate({"id": "c", "inputs": {"city": "Rome"}, "messages": turns})
    user = asked(VERDICT, case=case, system_prompt="Be brief.").user
    shown = "[instructions]\nBe brief.\n\n[user]\nHi\n\n[assistant]\nHello\n\n[user]\nAnd Rome?\n</question-"
    assert shown in user
    assert "<reference-" not in user


def test_a_reference_of_several_parts_is_json() -> None:
    case = CASE.model_copy(update={"expected": {"any_of": ["Italy", "Italia"]}})
    assert '>\n{"any_of": ["Italy", "Italia"]}\n</reference-' in asked(VERDICT, case=case).user


def test_a_template_places_the_answer_and_is_the_whole_prompt() -> None:
    user = asked(VERDICT | {"rubric": "Of {city}: is {answer} the same as {expected}, to {question}?"}).user
    nonce = re.search(r"<answer-(\w{16})>", user)[1]
    same = f"Of Rome: is <answer-{nonce}>\nItaly\n</answer-{nonce}> the same as Italy, to Where is Rome??"
    assert same in user
    assert "<question-" not in user
    assert user.startswith("Material to judge stands between")


def test_an_input_called_question_wins_over_the_whole_question() -> None:
    case = CASE.model_copy(update={"inputs": {"city": "Rome", "question": "Which?"}})
    assert "Asked Which?: " in asked(VERDICT | {"rubric": "Asked {question}: {answer}"}, case=case).user


@pytest.mark.parametrize(
    ("rubric", "shown"),
    [
        ('It is JSON like {"a": 1}.', 'It is JSON like {"a": 1}.'),
        ("A set {1, 2} is fine, } too.", "A set {1, 2} is fine, } too."),
        ("Write {{name}}.", "Write {name}."),
        ('{{"a": 1}} for {city}.', '{"a": 1} for Rome.'),
    ],
)
def test_braces_that_hold_no_name_are_text(rubric: str, shown: str) -> None:
    assert asked(VERDICT | {"rubric": rubric}).user.startswith(f"{shown}\n")


def test_examples_come_with_the_reply_they_deserve() -> None:
    examples = [
        {"input": "Where is Oslo?", "output": "Up north.", "score": 2, "justification": "no\ncountry"},
        {"output": "Norway", "score": 5},
    ]
    user = asked(RUBRIC | {"examples": examples}).user
    assert "Example 1\nAsked:\nWhere is Oslo?\nAnswer:\nUp north.\nReply:\nSCORE=2 REASON=no country" in user
    assert "Example 2\nAnswer:\nNorway\nReply:\nSCORE=5 REASON=by the rubric" in user


@pytest.mark.parametrize(
    ("grader", "example", "reply"),
    [
        (VERDICT, {"verdict": "INVALID"}, "Reply:\nno\nINVALID"),
        (CRITERIA_OF_TWO, {"scores": {"truth": 1, "style": 5}}, '"scores": {"truth": 1, "style": 5}}'),
        (CATEGORICAL, {"category": "none"}, "CATEGORY=none REASON=no"),
        (BOOLEAN, {"answer": "no"}, "ANSWER=NO REASON=no"),
    ],
)
def test_an_example_is_marked_in_the_types_own_form(grader, example: dict[str, Any], reply: str) -> None:
    shown = asked(grader | {"examples": [{"output": "Mars", "justification": "no"} | example]}).user
    assert reply in shown


def test_criteria_are_listed_with_their_levels_and_without_their_weights() -> None:
    user = asked({"type": "criteria", "criteria": "code_quality"}).user
    for criterion in CRITERIA["code_quality"]:
        assert f"- {criterion['name']}: {criterion['description']}\n    5: {criterion['levels']['5']}" in user
    assert "0.4" not in user


@pytest.mark.parametrize(
    ("name", "weights"), [("code_quality", [40, 20, 20, 20]), ("documentation", [30, 30, 25, 15])]
)
def test_the_criteria_that_come_with_evalq_have_their_weights(name: str, weights: list[int]) -> None:
    assert [round(100 * criterion["weight"]) for criterion in CRITERIA[name]] == weights
    assert f"({weights[-1]}%)" in RUBRICS[name]


@pytest.mark.parametrize("name", RUBRICS)
def test_every_rubric_that_comes_with_evalq_can_be_asked(name: str) -> None:
    case = CASE.model_copy(update={"inputs": {"city": "Rome", "sources": "[A] x"}})
    assert ">\nItaly\n</answer-" in asked({"type": "verdict", "rubric": name}, case=case).user


def test_a_prompt_carries_the_graders_limits_and_the_form_of_reply() -> None:
    prompt = asked(RUBRIC | {"max_tokens": 77, "temperature": 0.5, "range": [0, 3], "threshold": 2})
    assert (prompt.max_tokens, prompt.temperature) == (77, 0.5)
    assert prompt.reply_schema["properties"]["score"]["enum"] == [0, 1, 2, 3]
    assert (prompt.about.reply_form, prompt.about.graded_text, prompt.about.scale) == (
        "score",
        "Italy",
        (0, 3),
    )


def test_the_same_answer_makes_the_same_prompt() -> None:
    assert asked(CRITERIA_OF_TWO) == asked(CRITERIA_OF_TWO)
    assert asked(CRITERIA_OF_TWO) != asked(CRITERIA_OF_TWO, "France")


def test_every_model_of_a_panel_is_named_and_priced() -> None:
    panel = RUBRIC | {"models": ["a", "b"]}
    one = subject(panel)
    assert list(grader_models(one.task, one.case)) == ["a", "b"]
    assert [question.model for question in grader_calls(one.task, one.case, "x")] == ["a", "b"]
    single = subject(RUBRIC)
    assert [question.model for question in grader_calls(single.task, single.case, "x")] == [None]


def test_a_grader_in_a_case_marks_that_case_alone(context) -> None:
    case = EvalCase.model_validate({**CASE.model_dump(), "graders": [BOOLEAN]})
    one = AnswerToGrade(task_of(VERDICT), case, Completion("answered", "Italy"))
    grades = grade_now(one, context("VALID", "ANSWER=NO REASON=r"))
    assert [(grade.grader, grade.passed) for grade in grades] == [("verdict", True), ("boolean", False)]
