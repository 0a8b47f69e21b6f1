"""From ratings to marks: enough people, who agree; an open question is an error and never a fail."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError
from evalq.grading.grade import ask_people, outcome_of
from evalq.grading.grader import AnswerToGrade
from evalq.grading.people import Values, agreement_of, decide, grade_of, human_grader, refuse_unrankable
from evalq.records import Completion

RANKING = {"type": "ranking"}
TIES = {"type": "ranking", "tie_allowed": True}
CASE = EvalCase(id="c", inputs={})


def grader(scale: str | dict[str, Any] = "binary", **fields: Any) -> Human:
    return Human.model_validate({"type": "human", "rating_scale": scale, **fields})


def one(*values: float) -> list[Values]:
    return [(value,) for value in values]


@pytest.mark.parametrize(
    ("asks", "ratings", "passed", "score", "reason"),
    [
        (grader(), one(1), True, 1.0, "1 of 1 review say Pass"),
        (grader(), one(1, 0, 1), True, 2 / 3, "2 of 3 reviews say Pass"),
        (grader(), one(1, 0, 0), False, 1 / 3, "2 of 3 reviews say Fail"),
        (grader("likert"), one(4), True, 0.75, "mean 4 of 1 review, 4 passes"),
        (grader("likert"), one(3, 5), True, 0.75, "mean 4 of 2 reviews, 4 passes"),
        (grader("likert"), one(3, 4), False, 0.625, "mean 3.5 of 2 reviews, 4 passes"),
        (grader({"type": "likert", "criteria": ["a", "b"]}), [(5, 3), (4, 4)], True, 0.75, "mean 4 of 2"),
    ],
)
def test_enough_who_agree_decide(
    asks: Human, ratings: list[Values], passed: bool, score: float, reason: str
) -> None:
    standing = decide(asks, ratings)
    (mark,) = standing.marks
    assert (standing.state, mark.passed, mark.score) == ("decided", passed, pytest.approx(score))
    assert reason in mark.reason


def test_too_few_wait() -> None:
    asks = grader(min_required=2)
    assert decide(asks, []).reason == "waits for review"
    standing = decide(asks, one(1))
    assert (standing.state, standing.reason) == ("pending", "waits for review: 1 of 2 reviews")


def test_without_a_rating_the_grade_is_what_the_worker_gave() -> None:
    fields: dict[str, Any] = {"name": "t", "system_prompt": "", "user_template": "x"}
    task = TaskConfig.model_validate(
        {**fields, "graders": [{"type": "human", "required": False, "weight": 2}]}
    )
    (asked,) = ask_people(AnswerToGrade(task, CASE, Completion("answered", "x")))
    asks = human_grader(task, CASE, "human")
    assert grade_of("human", asks, decide(asks, []), 0) == asked


def test_those_who_disagree_are_joined_by_others_until_no_more_may_be_asked() -> None:
    asks = grader("likert", min_required=2, max_allowed=3, agreement_threshold=0.8)
    second = decide(asks, one(1, 5))
    assert (second.state, second.agreement) == ("pending", 0)
    assert second.reason == "waits for review: agreement 0.00 is below 0.8, one more review is wanted"
    third = decide(asks, one(1, 5, 5))
    assert third.state == "undecidable"
    assert third.reason == "disagreement: agreement 0.33 is below 0.8; adjudicate"
    grade = grade_of("human", asks, third, 0)
    assert (grade.passed, grade.pending, grade.details["ratings"]) == (None, False, [1, 5, 5])
    assert outcome_of([grade], None).verdict == "errored"


def test_an_even_split_decides_nothing() -> None:
    assert decide(grader(min_required=2, max_allowed=2), one(1, 0)).state == "undecidable"
    assert decide(grader(min_required=2, max_allowed=3), one(1, 0)).state == "pending"


def test_an_adjudicator_decides_alone() -> None:
    asks = grader("likert", max_allowed=2, agreement_threshold=1)
    standing = decide(asks, one(1, 5), adjudicated=(5.0,))
    grade = grade_of("human", asks, standing, 0)
    assert (standing.state, grade.passed, grade.score) == ("decided", True, 1)
    assert grade.reason.startswith("adjudicated: mean 5")
    assert grade.details["ratings"] == [1, 5, 5]


def test_negate_weight_and_required_are_those_of_the_grader() -> None:
    asks = grader("likert", negate=True, weight=3, required=False)
    grade = grade_of("rude", asks, decide(asks, one(5)), 0)
    assert (grade.passed, grade.score, grade.reason[:5]) == (False, 0, "not: ")
    assert (grade.grader, grade.kind, grade.weight, grade.required) == ("rude", "human", 3, False)


def test_the_best_mean_rank_passes() -> None:
    asks = grader(RANKING, min_required=2)
    standing = decide(asks, [(1, 2, 3), (1, 3, 2)], n_answers=3)
    assert [(mark.passed, mark.score) for mark in standing.marks] == [(True, 1), (False, 0.25), (False, 0.25)]
    assert standing.marks[0].reason == "rank 1 of 3 answers (mean 1 of 2 reviews)"


def test_as_many_pass_as_the_pass_rank_says() -> None:
    asks = grader({**RANKING, "pass_rank": 2})
    assert [mark.passed for mark in decide(asks, [(3, 1, 2)], n_answers=3).marks] == [False, True, True]


def test_a_tie_on_the_rank_that_passes_needs_another_review_unless_ties_are_allowed() -> None:
    turned = [(1.0, 2.0), (2.0, 1.0)]
    assert decide(grader(RANKING, min_required=2), turned, n_answers=2).state == "pending"
    allowed = decide(grader(TIES, min_required=2), turned, n_answers=2)
    assert [mark.passed for mark in allowed.marks] == [True, True]


def test_too_few_or_too_many_answers_cannot_be_ranked() -> None:
    asks = grader({"type": "ranking", "min_items": 2, "max_items": 3})
    assert decide(asks, [], n_answers=1).reason == "1 answer to rank, at least 2 can be ranked"
    assert decide(asks, [], n_answers=4).state == "undecidable"
    assert decide(asks, [], n_answers=1, adjudicated=(1.0,)).marks[0].score == 1


def test_judges_that_cannot_be_ranked_are_refused_before_they_are_asked() -> None:
    fields: dict[str, Any] = {"name": "t", "system_prompt": "", "user_template": "x"}
    task = TaskConfig.model_validate({**fields, "graders": [{"type": "human", "rating_scale": RANKING}]})
    refuse_unrankable(task, [CASE], 2)
    with pytest.raises(InputError, match="grader 'human' of task 't': 1 answer to rank"):
        refuse_unrankable(task, [CASE], 1)


@pytest.mark.parametrize(
    ("asks", "ratings", "agreement"),
    [
        (grader(), [], None),
        (grader(), one(1), 1),
        (grader(), one(1, 1, 0), 1 / 3),
        (grader("likert"), one(1, 3), 0.5),
        (grader({"type": "likert", "criteria": ["a", "b"]}), [(1, 5), (5, 5)], 0.5),
        (grader(RANKING), [(1, 2, 3), (1, 2, 3)], 1),
        (grader(RANKING), [(1, 2, 3), (1, 3, 2)], 0.5),
        (grader(RANKING), [(1, 2, 3), (3, 2, 1)], 0),
        (grader(TIES), [(2, 2, 2), (1, 2, 3)], 0),
    ],
)
def test_agreement_on_one_item(asks: Human, ratings: list[Values], agreement: float | None) -> None:
    assert agreement_of(asks.rating_scale, ratings) == (
        None if agreement is None else pytest.approx(agreement)
    )


sides = st.lists(st.sampled_from([(0.0,), (1.0,)]), max_size=6)
steps = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=6)
rankings = st.lists(st.permutations([1.0, 2.0, 3.0]).map(tuple), max_size=6)
terms = st.fixed_dictionaries(
    {
        "min_required": st.integers(1, 3),
        "max_allowed": st.integers(3, 6),
        "agreement_threshold": st.floats(0, 1),
    }
)
scales = st.sampled_from(["binary", {"type": "likert", "criteria": ["a", "b"]}, RANKING])


@given(st.data(), terms, scales)
def test_in_which_order_people_rate_does_not_matter(data: st.DataObject, quotas: Any, scale: Any) -> None:
    asks = grader(scale, **quotas)
    kind = asks.rating_scale.type
    ratings = data.draw({"binary": sides, "likert": steps, "ranking": rankings}[kind])
    mixed = data.draw(st.permutations(ratings))
    n_answers = 3 if kind == "ranking" else 1
    standing = decide(asks, ratings, n_answers=n_answers)
    assert standing == decide(asks, mixed, n_answers=n_answers)
    assert (standing.state == "pending") <= (len(ratings) < asks.evaluators.max_allowed)
    assert (standing.state == "decided") <= (len(ratings) >= asks.evaluators.min_required)
    for mark in standing.marks:
        assert 0 <= mark.score <= 1


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 4))
def test_a_better_rating_never_makes_a_worse_mark(ratings: list[int], raised: int) -> None:
    better = [step + (at == raised % len(ratings)) for at, step in enumerate(ratings)]
    (before,), (after,) = (
        decide(grader("likert"), one(*ratings)).marks,
        decide(grader("likert"), one(*better)).marks,
    )
    assert after.score > before.score
    assert after.passed >= before.passed


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_one_more_pass_never_turns_a_pass_into_a_fail(said: list[bool]) -> None:
    first = decide(grader(max_allowed=9), one(*map(float, said)))
    second = decide(grader(max_allowed=9), one(*map(float, said), 1.0))
    assert not any(mark.passed for mark in first.marks) or second.marks[0].passed
