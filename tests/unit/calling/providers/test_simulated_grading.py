"""A simulated grader is right or wrong in every form it may be asked for."""

import json
from typing import Any

import pytest
from asking import complete

from evalq.calling.providers.simulated import SimulatedAdapter, grader_reply
from evalq.definitions.judge import SimulatedJudge
from evalq.records import CaseContext, Prompt

EXPECTED = {"any_of": ["Italy"]}


def about(form: str, text: str = "It is Italy.", **fields: Any) -> CaseContext:
    return CaseContext("t", "c", expected=EXPECTED, graded_text=text, reply_form=form, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "choices", "good", "bad"),
    [
        ("verdict", (), "VALID", "INVALID"),
        ("score", (), "SCORE=4 REASON=simulated", "SCORE=2 REASON=simulated"),
        (
            "category",
            ("fine", "meh", "poor"),
            "CATEGORY=fine REASON=simulated",
            "CATEGORY=poor REASON=simulated",
        ),
        ("boolean", (), "ANSWER=YES REASON=simulated", "ANSWER=NO REASON=simulated"),
        ("trigger", (), "VALID", "INVALID"),
    ],
)
def test_a_mark_is_the_truth_or_its_opposite(
    form: str, choices: tuple[str, ...], good: str, bad: str
) -> None:
    true, false = about(form, choices=choices), about(form, "France", choices=choices)
    assert grader_reply(true, is_right=True) == grader_reply(false, is_right=False) == good
    assert grader_reply(false, is_right=True) == grader_reply(true, is_right=False) == bad


def test_scores_are_at_one_end_of_the_scale() -> None:
    names = tuple("abcdefgh")
    for text, allowed in (("Italy", {9, 10}), ("France", {0, 1})):
        said = json.loads(grader_reply(about("criteria", text, choices=names, scale=(0, 10)), is_right=True))
        assert list(said["scores"]) == list(names)
        assert set(said["scores"].values()) == allowed


def test_a_short_scale_has_its_ends_alone() -> None:
    assert grader_reply(about("score", scale=(0, 1)), is_right=True).startswith("SCORE=1 ")
    assert grader_reply(about("score", scale=(0, 1)), is_right=False).startswith("SCORE=0 ")


@pytest.mark.parametrize(
    ("choices", "right", "wrong"),
    [
        (("Italy", "France"), "A", "B"),
        (("France", "Italy"), "B", "A"),
        (("Italy", "Italy!"), "TIE", "A"),
        (("France", "Spain"), "TIE", "A"),
    ],
)
def test_of_two_answers_the_true_one_is_better(choices: tuple[str, str], right: str, wrong: str) -> None:
    asked = about("preference", choices=choices)
    assert grader_reply(asked, is_right=True) == f"WINNER={right} REASON=simulated"
    assert grader_reply(asked, is_right=False) == f"WINNER={wrong} REASON=simulated"


@pytest.mark.parametrize(("form", "key"), [("verdict", "verdict"), ("score", "score"), ("boolean", "answer")])
def test_held_to_a_schema_it_replies_with_an_object(form: str, key: str) -> None:
    assert list(json.loads(grader_reply(about(form), is_right=True, is_structured=True))) == ["reason", key]


def ask(**fields: Any) -> str:
    judge = SimulatedJudge(name="g", provider="simulated", model="g", accuracy=1.0, time_scale=0, **fields)
    prompt = Prompt("", "Is this\nright?", 100, about("verdict"))
    return complete(SimulatedAdapter(judge, {}), prompt).text


def test_an_echoing_grader_repeats_all_it_was_shown_before_its_own_words() -> None:
    assert ask() == "VALID"
    assert ask(echo=True) == "Is this\nright?\nVALID"


def test_an_echoing_grader_held_to_a_schema_echoes_in_its_reason() -> None:
    assert json.loads(ask(echo=True, structured=True)) == {"reason": "Is this\nright?", "verdict": "VALID"}


def test_what_nobody_wrote_is_not_in_a_snapshot() -> None:
    plain = SimulatedJudge(name="g", provider="simulated", model="g").model_dump()
    assert {"echo", "structured"}.isdisjoint(plain)
