"""Drafted cases are read strictly: every one that is dropped has its reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.bakeoff.probes import QueryReply
from evalq.cases.draft_prompt import DraftCall, Stratum
from evalq.cases.draft_reply import Drafts, read_drafts
from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import FINDINGS_RULE, ScoringConfig, TaskConfig

TASK = TaskConfig(
    name="t", system_prompt="s", user_template="{q}", scoring=ScoringConfig(mode="strict_substring")
)
FINDINGS = TASK.model_copy(
    update={"scoring": ScoringConfig(mode="strict_substring", pass_rule=FINDINGS_RULE)}
)
STRATUM = Stratum({"lang": "EN"})


def read(
    reply: Any, n: int = 1, *, task: TaskConfig = TASK, stratum: Stratum = STRATUM, **how: Any
) -> Drafts:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return read_drafts(task, [DraftCall("EN-1", stratum, n)], {"EN-1": QueryReply(text)}, **how)


def a_case(q: str = "x", **other: Any) -> dict[str, Any]:
    return {"inputs": {"q": q}, "expected": {"answer": "y"}, **other}


def test_a_drafted_case_is_marked_and_has_its_stratum_and_a_lasting_id() -> None:
    (case,) = read([a_case()]).cases
    assert (case.draft, case.stratum, case.expected) == (True, {"lang": "EN"}, {"answer": "y"})
    assert case.id.startswith("d-")
    assert read([a_case()]).cases[0].id == case.id != read([a_case("z")]).cases[0].id


def test_a_reply_in_a_code_fence_is_read_too() -> None:
    assert len(read(f"```json\n{json.dumps([a_case()])}\n```").cases) == 1


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("x", "not an object with inputs"),
        ({"inputs": "x"}, "not an object with inputs"),
        (a_case(id="mine"), "not an object with inputs"),
        ({"inputs": {}}, "its inputs are none, not q"),
        ({"inputs": {"q": "x", "r": "y"}}, "its inputs are q, r, not q"),
        ({"inputs": {"q": 3}}, "an input that is not a text"),
        ({"inputs": {"q": " "}}, "an input that is not a text"),
        (a_case(expected=["y"]), "not a case"),
        (a_case(expected_type="maybe"), "not a case"),
        ({"inputs": {"q": "x"}}, "pass_rule exact_match needs expected.answer"),
    ],
)
def test_what_is_not_in_the_form_is_dropped_with_its_reason(entry: Any, reason: str) -> None:
    drafts = read([entry])
    assert drafts.cases == ()
    assert [(one.question, one.reason.startswith(reason)) for one in drafts.dropped] == [("EN-1", True)]


@pytest.mark.parametrize(
    "reply", ["", "none", '{"cases": []}', "[", '[{"a": 1, "a": 2}]', "[NaN]", '["\\ud800"]']
)
def test_a_reply_that_cannot_be_read_brings_nothing(reply: str) -> None:
    drafts = read(reply)
    assert drafts.cases == ()
    assert len(drafts.dropped) == 1


def test_a_call_without_an_answer_is_listed() -> None:
    drafts = read_drafts(
        TASK, [DraftCall("EN-1", STRATUM, 2)], {"EN-1": QueryReply(None, "the answer is truncated")}
    )
    assert drafts.dropped[0].reason == "the answer is truncated"


def test_what_repeats_another_case_in_other_letters_is_dropped() -> None:
    known = [EvalCase(id="k", inputs={"q": "Known  one"})]
    drafts = read([a_case("known one"), a_case("new"), a_case("NEW ")], 3, known=known)
    assert [case.inputs["q"] for case in drafts.cases] == ["new"]
    assert [one.reason for one in drafts.dropped] == ["repeats another case"] * 2


def test_too_many_and_too_few_are_said() -> None:
    assert [one.reason for one in read([a_case("a"), a_case("b")]).dropped] == ["1 more than asked for"]
    assert [one.reason for one in read([a_case("a")], 3).dropped] == ["2 fewer than asked for"]


def test_a_case_of_the_wrong_type_for_its_stratum_is_dropped() -> None:
    negative = Stratum({"bucket": "negative"}, "negative")
    entries = [{"inputs": {"q": "a"}, "expected_type": "negative"}, a_case("b", expected={"any_of": ["b"]})]
    drafts = read(entries, 2, task=FINDINGS, stratum=negative)
    assert [case.expected_type for case in drafts.cases] == ["negative"]
    assert drafts.dropped[0].reason == "positive in a stratum that is negative"


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
    )
)
def test_no_reply_breaks_the_reading(reply: Any) -> None:
    drafts = read(reply)
    assert len(drafts.cases) + len(drafts.dropped) >= 1
