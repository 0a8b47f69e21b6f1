import json
import re

import pytest
from answers import grade_now

from evalq.definitions.evalset import EvalCase
from evalq.definitions.rubrics import RUBRICS
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.errors import InputError, UngradableAnswer
from evalq.grading.grade import decide_outcome
from evalq.grading.grader import AnswerToGrade
from evalq.grading.scoring import MAX_FINDINGS, check_rubric, read_verdict, rubric_text, verdict_prompt
from evalq.records import Completion, Grade

CASE = EvalCase(
    id="c", inputs={"sources": "[A] x {curly}\n\n[B] y"}, expected={"any_of": ["x"], "answer": "x"}
)
NEGATIVE = EvalCase(id="n", inputs={"sources": "…"}, expected_type="negative")


def task(**scoring: object) -> TaskConfig:
    return TaskConfig(
        name="t",
        system_prompt="s",
        user_template="{sources}",
        scoring={"pass_rule": FINDINGS_RULE, **scoring},
    )  # type: ignore[arg-type]


MODEL = task(mode="llm_judge", judge_model="g", rubric="knowledge_audit")


def subject(task: TaskConfig, case: EvalCase, answer: str = "x") -> AnswerToGrade:
    return AnswerToGrade(task, case, Completion("answered", answer))


def test_checks_never_ask_a_model(context) -> None:
    [grade] = grade_now(subject(task(mode="strict_substring"), CASE, '["x"]'), context())
    assert (grade.grader, grade.passed) == ("strict_substring", True)


def test_one_valid_finding_passes_a_positive_case(context) -> None:
    [grade] = grade_now(subject(MODEL, CASE, '["a", "b", "c"]'), context("INVALID", "VALID"))
    assert (grade.passed, grade.reason) == (True, "finding 2 of 3 is VALID")


def test_no_valid_finding_fails_a_positive_case(context) -> None:
    [grade] = grade_now(subject(MODEL, CASE, '["a"]'), context("INVALID"))
    assert (grade.passed, grade.reason) == (False, "no VALID finding among 1")


def test_the_grader_is_not_asked_about_empty_or_negative_answers(context) -> None:
    assert grade_now(subject(MODEL, CASE, "[]"), context())[0].passed is False
    assert grade_now(subject(MODEL, NEGATIVE, "[]"), context())[0].passed is True
    assert grade_now(subject(MODEL, NEGATIVE, "[1]"), context())[0].passed is False


@pytest.mark.parametrize("answer", ["not json", json.dumps(["f"] * (MAX_FINDINGS + 1))])
def test_an_ungradable_answer_has_no_verdict_and_ends_errored(answer: str, context) -> None:
    [grade] = grade_now(subject(MODEL, CASE, answer), context())
    assert grade.passed is None
    outcome = decide_outcome(subject(MODEL, CASE), [grade])
    assert (outcome.verdict, outcome.error_kind) == ("errored", "ungradable")


def test_a_grader_that_answers_something_else_makes_an_error_not_a_fail(context) -> None:
    [grade] = grade_now(subject(MODEL, CASE, '["a"]'), context("It is VALID because…"))
    assert decide_outcome(subject(MODEL, CASE), [grade]).verdict == "errored"


def test_a_whole_answer_is_put_to_the_grader_under_the_other_rules(context) -> None:
    whole = task(mode="llm_judge", judge_model="g", rubric="answer_matches", pass_rule="exact_match")
    assert grade_now(subject(whole, CASE, "x"), context("VALID"))[0].passed is True
    assert re.search(r"Answer:\n<answer-(\w+)>\nx\n</answer-\1>\n", verdict_prompt(whole, CASE, "x").user)


@pytest.mark.parametrize("state", ["empty", "refused", "blocked", "truncated", "malformed"])
def test_what_is_no_answer_is_errored_by_its_state(state) -> None:
    outcome = decide_outcome(AnswerToGrade(MODEL, CASE, Completion(state, "")), [])
    assert (outcome.verdict, outcome.error_kind) == ("errored", state)


def test_the_rubric_shows_the_finding_and_the_sources_with_braces_left_alone() -> None:
    prompt = verdict_prompt(MODEL, CASE, '{"quote": "x"}')
    assert "[A] x {curly}" in prompt.user
    assert '{"quote": "x"}' in prompt.user
    assert rubric_text(MODEL) == RUBRICS["knowledge_audit"]


@pytest.mark.parametrize("rubric", ["Is {nothing_there} fine with {answer}?", "VALID or INVALID?"])
def test_a_rubric_must_name_what_the_case_has_and_show_the_answer(rubric: str) -> None:
    with pytest.raises(InputError, match="rubric"):
        check_rubric(task(mode="llm_judge", judge_model="g", rubric=rubric), CASE)
    check_rubric(MODEL, CASE)


@pytest.mark.parametrize(
    ("reply", "valid"), [("VALID", True), (" invalid.\n", False), ("It might be VALID\n\nINVALID", False)]
)
def test_a_verdict_is_alone_on_the_last_line(reply: str, valid: bool) -> None:
    assert read_verdict(reply) is valid


@pytest.mark.parametrize(
    "reply", ["", "VALID INVALID", "The verdict: VALID", "NOT VALID", "ＶＡＬＩＤ", "VALID\nI think"]
)
def test_anything_else_is_no_verdict(reply: str) -> None:
    with pytest.raises(UngradableAnswer):
        read_verdict(reply)


RETRIEVAL = TaskConfig(
    name="r",
    system_prompt="",
    user_template="{query}",
    graders=[
        {"type": "hit_at_k", "k": 1, "required": False},
        {"type": "hit_at_k", "k": 3},
        {"type": "mrr", "required": False},
    ],  # type: ignore[list-item]
)
QUERY = EvalCase(id="q", inputs={"query": "?"}, expected={"relevant": ["n2"]})


def test_a_ranking_is_graded_by_the_place_of_the_first_relevant_id(context) -> None:
    grades = grade_now(subject(RETRIEVAL, QUERY, '["n1", "n1", "n2", "n3"]'), context())
    assert [(g.grader, g.passed, g.score) for g in grades] == [
        ("hit_at_1", False, 0.0),
        ("hit_at_3", True, 1.0),
        ("mrr", True, 0.5),
    ]
    assert decide_outcome(subject(RETRIEVAL, QUERY), grades).verdict == "passed"


def test_a_ranking_without_a_relevant_id_fails(context) -> None:
    grades = grade_now(subject(RETRIEVAL, QUERY, "[]"), context())
    assert [g.score for g in grades] == [0.0, 0.0, 0.0]
    assert decide_outcome(subject(RETRIEVAL, QUERY), grades).verdict == "failed"


@pytest.mark.parametrize("answer", ["[1, 2]", "note-1"])
def test_a_ranking_of_anything_but_ids_cannot_be_graded(answer: str, context) -> None:
    grades = grade_now(subject(RETRIEVAL, QUERY, answer), context())
    assert [(g.grader, g.passed) for g in grades] == [("hit_at_1", None), ("hit_at_3", None), ("mrr", None)]
    assert decide_outcome(subject(RETRIEVAL, QUERY), grades).verdict == "errored"


@pytest.mark.parametrize(("threshold", "verdict"), [(0.5, "passed"), (0.6, "failed")])
def test_the_weighted_score_must_reach_the_threshold(threshold: float, verdict: str) -> None:
    strict = RETRIEVAL.model_copy(update={"pass_threshold": threshold})
    grades = [Grade("a", True, 1.0, weight=1.0), Grade("b", True, 0.0, weight=1.0, required=False)]
    assert decide_outcome(subject(strict, QUERY), grades).verdict == verdict


def test_graders_without_weight_reach_no_threshold() -> None:
    strict = RETRIEVAL.model_copy(update={"pass_threshold": 0.1})
    assert decide_outcome(subject(strict, QUERY), [Grade("a", True, 1.0, weight=0.0)]).verdict == "failed"


def test_silence_is_an_answer_where_exactly_that_is_expected(context) -> None:
    plain = TaskConfig(name="t", system_prompt="", user_template="{q}")
    for expected, verdict in (("", "passed"), ("something", "errored")):
        case = EvalCase.model_validate(
            {
                "id": "c",
                "inputs": {"q": "?"},
                "expected": {"answer": expected},
                "graders": [{"type": "exact_match", "value": expected}],
            }
        )
        silent = AnswerToGrade(plain, case, Completion("empty", ""))
        grades = grade_now(silent, context()) if silent.is_gradable else []
        assert decide_outcome(silent, grades).verdict == verdict
