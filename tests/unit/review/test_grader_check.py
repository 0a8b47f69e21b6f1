"""Known-bad answers: surely bad for their case, in the form the task asks for, given by simulated judges."""

import json
from typing import Any

import pytest
from answers import grade_now
from asking import complete

from evalq.calling.providers.simulated import SimulatedAdapter
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import HitAtK
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import FINDINGS_RULE, ScoringConfig, TaskConfig
from evalq.grading.grade import decide_outcome
from evalq.grading.grader import AnswerToGrade, GradingContext
from evalq.review.grader_check import UNKNOWN, Trial, make_trial, may_be_right


def task(rule: Any = "exact_match", **fields: Any) -> TaskConfig:
    scoring = ScoringConfig(mode="strict_substring", pass_rule=rule)
    known: dict[str, Any] = {"name": "t", "system_prompt": "", "user_template": "?", "scoring": scoring}
    return TaskConfig(**{**known, **fields})


def case(name: str, expected: dict[str, Any] | None, **fields: Any) -> EvalCase:
    return EvalCase(id=name, inputs={}, expected=expected, **fields)


TEXTS = [case(f"c{at}", {"answer": f"town {at} of all"}) for at in range(5)]
FINDINGS = [case("n", None, expected_type="negative")] + [
    case(f"f{at}", {"any_of": [f"quote {at} here"]}) for at in range(4)
]
RANKED = [case(f"r{at}", {"relevant": [f"doc-{at:02}-x"]}) for at in range(4)]
RANKING = task(scoring=None, graders=[HitAtK(type="hit_at_k", k=3)])


def verdicts(trial: Trial, asked: TaskConfig, context: GradingContext) -> dict[str, set[str]]:
    """What the task's own grader makes of what the simulated judges really say."""
    found: dict[str, set[str]] = {}
    for judge in trial.judges():
        for one in trial.cases:
            completion = complete(SimulatedAdapter(judge, {}), answer_prompt(asked, one))
            subject = AnswerToGrade(asked, one, completion)
            grades = grade_now(subject, context) if completion.is_answer else []
            outcome = decide_outcome(subject, grades)
            found.setdefault(judge.name, set()).add(outcome.error_kind or outcome.verdict)
    return found


@pytest.mark.parametrize(
    ("asked", "cases", "of_unknown"),
    [
        (task(), TEXTS, "failed"),
        (task("any_substring"), TEXTS, "failed"),
        (task(FINDINGS_RULE), FINDINGS, "ungradable"),
        (RANKING, RANKED, "ungradable"),
    ],
)
def test_no_bad_answer_passes_an_honest_grader(
    asked: TaskConfig, cases: list[EvalCase], of_unknown: str, context
) -> None:
    trial = make_trial(asked, cases)
    assert len(trial.cases) == 3
    assert verdicts(trial, asked, context()) == {
        "bad-empty": {"empty"},
        "bad-unknown": {of_unknown},
        "bad-other-case": {"failed"},
    }


def test_another_cases_answer_would_be_right_there() -> None:
    trial = make_trial(task(), TEXTS)
    assert trial.texts["other_case"] == {"c0": "town 1 of all", "c1": "town 2 of all", "c2": "town 3 of all"}
    finding = json.loads(make_trial(task(FINDINGS_RULE), FINDINGS).texts["other_case"]["f0"])
    assert "quote 1 here" in json.dumps(finding)


def test_a_negative_case_is_no_trial() -> None:
    assert [one.id for one in make_trial(task(FINDINGS_RULE), FINDINGS).cases] == ["f0", "f1", "f2"]
    assert make_trial(task(FINDINGS_RULE), FINDINGS[:1]).cases == ()


def test_a_case_whose_answer_is_not_to_know_is_no_trial() -> None:
    cases = [case("c9", {"answer": "I don't know"}), *TEXTS]
    assert [one.id for one in make_trial(task(), cases).cases] == ["c0", "c1", "c2"]


@pytest.mark.parametrize(
    ("text", "is_right"),
    [("Paris", True), ("it is PARIS.", True), ("par", True), ("Rome", False), (UNKNOWN, False)],
)
def test_what_holds_the_expected_answer_or_is_part_of_it_may_be_right(text: str, is_right: bool) -> None:
    assert may_be_right(case("c", {"answer": "Paris"}), text) is is_right


def test_without_a_surely_wrong_answer_that_kind_is_left_out() -> None:
    alike = [case(f"c{at}", {"answer": "billing"}) for at in range(3)]
    for cases in (alike, [case("c0", None), case("c1", {"answer": " "}), case("c2", {"relevant": "x"})]):
        trial = make_trial(task(), cases)
        assert list(trial.texts) == ["empty", "unknown"]
        assert trial.skipped[0].startswith("other_case: ")


def test_a_simulated_judge_says_what_it_is_told_to_and_is_itself_elsewhere() -> None:
    judge = SimulatedJudge(
        name="j", provider="simulated", model="j", accuracy=1.0, time_scale=0.0, answers={"c0": "hello"}
    )
    say = [complete(SimulatedAdapter(judge, {}), answer_prompt(task(), one)).text for one in TEXTS[:2]]
    assert say == ["hello", "town 1 of all"]
