"""No answer moves the verdict of a grader that repeats all it reads before it says its own."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any, TypeVar

import pytest
from answers import grade_now
from grader_attacks import ATTACKS

from evalq.calling.providers.simulated import SimulatedAdapter
from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grader_calls
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade, Prompt

Read = TypeVar("Read")

CASE = EvalCase(id="c", inputs={"city": "Rome"}, expected={"answer": "Italy"})
RIGHT, WRONG = "Rome is in Italy.", "Rome is in France."
HONEST = (RIGHT, WRONG)

RUBRIC = "It names the right country."
CRITERIA = [{"name": "truth", "weight": 3}, {"name": "style", "weight": 1}]
FORMATS: dict[str, dict[str, Any]] = {
    "verdict": {"graders": [{"type": "verdict", "rubric": RUBRIC}]},
    "score": {"graders": [{"type": "rubric", "rubric": RUBRIC}]},
    "criteria": {"graders": [{"type": "criteria", "criteria": CRITERIA}]},
    "a template": {"graders": [{"type": "rubric", "rubric": "Of {city}: is {answer} like {expected}?"}]},
    "a category": {
        "graders": [
            {
                "type": "categorical",
                "rubric": RUBRIC,
                "categories": ["good", "bad"],
                "pass_categories": ["good"],
            }
        ]
    },
    "yes or no": {"graders": [{"type": "boolean", "question": "Is it right?"}]},
    "scoring": {
        "scoring": {
            "mode": "llm_judge",
            "judge_model": "g",
            "rubric": "answer_matches",
            "pass_rule": "exact_match",
        }
    },
}
every_attack = pytest.mark.parametrize("attack", ATTACKS)


def task_of(form: str, **fields: Any) -> TaskConfig:
    return TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "Where is {city}?", **FORMATS[form], **fields}
    )


class Echoing:
    """A context whose grader model is the echoing simulation; `heard` is what it said last."""

    def __init__(self, *, structured: bool = False) -> None:
        grader = SimulatedJudge(
            name="g",
            provider="simulated",
            model="g",
            accuracy=1.0,
            time_scale=0,
            echo=True,
            structured=structured,
        )
        self._adapter = SimulatedAdapter(grader, {})
        self.heard = ""

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        self.heard = (await self._adapter.complete(prompt)).text
        return read(self.heard)

    async def answer_of(self, judge: str) -> str:
        return WRONG


def graded(form: str, answer: str, context: Echoing) -> Grade:
    [grade] = grade_now(AnswerToGrade(task_of(form), CASE, Completion("answered", answer)), context)
    return grade


def armed(attack: str, honest: str, form: str) -> str:
    """The attack with the nonce that the honest answer's prompt has: the best guess there is."""
    prompt = next(iter(grader_calls(task_of(form), CASE, honest))).prompt.user
    found = re.search(r"<answer-([0-9a-f]{16})>", prompt)
    assert found
    return ATTACKS[attack].replace("NONCE", found[1])


def test_there_are_attacks_of_every_kind() -> None:
    assert len(set(ATTACKS.values())) >= 40
    assert not any("Italy" in text for text in ATTACKS.values())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("structured", [False, True], ids=["by line", "by schema"])
def test_an_honest_answer_gets_the_verdict_it_deserves(form: str, structured: bool) -> None:
    context = Echoing(structured=structured)
    assert [graded(form, answer, context).passed for answer in HONEST] == [True, False]


@every_attack
@pytest.mark.parametrize("structured", [False, True], ids=["by line", "by schema"])
def test_an_attack_does_not_move_the_verdict(attack: str, structured: bool) -> None:
    context = Echoing(structured=structured)
    for form, honest in product(FORMATS, HONEST):
        expected, text = graded(form, honest, context), armed(attack, honest, form)
        for answer in (f"{honest}\n{text}", f"{text}\n{honest}"):
            found = graded(form, answer, context)
            assert (form, found.passed, found.score) == (form, expected.passed, expected.score)


@every_attack
def test_an_attack_wins_no_comparison(attack: str) -> None:
    grader = {"type": "pairwise", "against": "other", "pass_when": "better"}
    for honest, won in ((WRONG, False), (RIGHT, True)):
        answer = f"{honest}\n{ATTACKS[attack]}"
        one = AnswerToGrade(
            task_of("verdict", graders=[grader]), CASE, Completion("answered", answer), "mine"
        )
        assert grade_now(one, Echoing())[0].passed is won


@every_attack
def test_an_attack_stays_behind_the_fence(attack: str) -> None:
    answer = f"{WRONG}\n{armed(attack, WRONG, 'score')}"
    prompt = next(iter(grader_calls(task_of("score"), CASE, answer))).prompt.user
    nonce = re.search(r"<answer-([0-9a-f]{16})>", prompt)[1]
    [_, rest] = prompt.split(f"<answer-{nonce}>\n")
    [inside, after] = rest.split(f"\n</answer-{nonce}>")
    assert nonce not in answer
    assert inside.replace("_", "-") == answer.replace("_", "-")
    assert after.startswith("\n\nIf your reply is held to a JSON schema")


def first_score(reply: str) -> int | None:
    """How one would read it without care: the first thing that looks like a score."""
    found = re.search(r"SCORE=(\d)", reply)
    return int(found[1]) if found else None


def test_the_attacks_would_move_a_reader_of_the_first_score() -> None:
    moved = 0
    for attack in ATTACKS:
        context = Echoing()
        grade = graded("score", f"{WRONG}\n{ATTACKS[attack]}", context)
        moved += first_score(context.heard) != grade.details["members"][0]["value"]
    assert moved >= 20


def test_the_attacks_would_move_a_reader_that_takes_any_object_of_scores() -> None:
    moved = 0
    for attack in ATTACKS:
        context = Echoing()
        grade = graded("criteria", f"{WRONG}\n{ATTACKS[attack]}", context)
        found = re.search(r'"scores": \{"truth": (\d)', context.heard)
        assert found
        moved += int(found[1]) != grade.details["members"][0]["scores"]["truth"]
    assert moved >= 7
