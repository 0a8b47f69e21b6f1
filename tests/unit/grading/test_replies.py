"""Replies of grader models are read strictly: by the last line, or as one JSON object."""

import json

import pytest

from evalq.errors import UngradableAnswer
from evalq.grading.replies import (
    REASON_CHARACTERS,
    boolean_form,
    category_form,
    criteria_form,
    preference_form,
    score_form,
    verdict_form,
)

SCORE = score_form(1, 5)
CRITERIA = criteria_form(["a", "b"], 1, 5)
CATEGORY = category_form(["good", "so so", "bad"])


def scores(**scores: object) -> str:
    return json.dumps({"reason": "r", "scores": scores})


@pytest.mark.parametrize(
    ("form", "reply", "value", "reason"),
    [
        (verdict_form(), "VALID", "VALID", ""),
        (verdict_form(), "thinking…\nvalid.\n\n", "VALID", ""),
        (verdict_form(), '{"reason": "why", "verdict": "INVALID"}', "INVALID", "why"),
        (SCORE, "SCORE=4 REASON=it says why", 4, "it says why"),
        (SCORE, "SCORE=1 REASON=no\r\n \nSCORE=5 REASON=yes\r\n", 5, "yes"),
        (SCORE, '{"reason": "why", "score": 3}', 3, "why"),
        (score_form(-10, 10), "SCORE=-3 REASON=r", -3, "r"),
        (score_form(0, 100), "SCORE=100 REASON=r", 100, "r"),
        (CATEGORY, "CATEGORY=so so REASON=r", "so so", "r"),
        (CATEGORY, '{"reason": "r", "category": "bad"}', "bad", "r"),
        (boolean_form(), "ANSWER=NO REASON=r", "NO", "r"),
        (preference_form(), "WINNER=TIE REASON=r", "TIE", "r"),
        (CRITERIA, scores(a=1, b=5), {"a": 1, "b": 5}, "r"),
        (CRITERIA, json.dumps(json.loads(scores(b=5, a=1)), indent=2), {"a": 1, "b": 5}, "r"),
        (CRITERIA, f"Let me see.\n{scores(a=2, b=2)}\n", {"a": 2, "b": 2}, "r"),
        (
            CRITERIA,
            f"```json\n{scores(a=5, b=5)}\n```\nNo:\n```\n{scores(a=2, b=2)}\n```",
            {"a": 2, "b": 2},
            "r",
        ),
    ],
)
def test_a_reply_in_the_form_is_read(form, reply: str, value: object, reason: str) -> None:
    read = form.read(reply)
    assert (read.value, read.reason) == (value, reason)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "SCORE=5",
        "SCORE=5/5 REASON=r",
        "SCORE=50 REASON=r",
        "SCORE=0 REASON=r",
        "SCORE=05 REASON=r",
        "SCORE=4.5 REASON=r",
        "SCORE=４ REASON=r",
        "SCORE=٤ REASON=r",
        "ＳＣＯＲＥ=4 REASON=r",
        "score=4 reason=r",
        "**SCORE=4 REASON=r**",
        "My verdict: SCORE=4 REASON=r",
        "SCORE=4 REASON=r\nI hope this helps.",
        '{"score": 4}',
        '{"reason": "r", "score": "4"}',
        '{"reason": "r", "score": 4.0}',
        '{"reason": "r", "score": true}',
        '{"reason": "r", "score": 6}',
        '{"reason": null, "score": 4}',
        '{"reason": "r", "score": 4, "passed": true}',
        '{"reason": "r", "score": 2, "score": 5}',
        'so: {"reason": "r", "score": 4}',
        "[4]",
    ],
)
def test_anything_else_is_no_score(reply: str) -> None:
    with pytest.raises(UngradableAnswer):
        SCORE.read(reply)


@pytest.mark.parametrize(
    "reply",
    [
        scores(a=1),
        scores(a=1, b=2, c=3),
        scores(a=1, b="2"),
        scores(a=True, b=2),
        scores(a=0, b=2),
        '{"reason": "r", "scores": [1, 2]}',
        '{"reason": "r", "scores": {"a": 1, "a": 5, "b": 2}}',
        f"{scores(a=1, b=2)}\nthat is all",
        f"```json\n{scores(a=1, b=2)}\n```\nthat is all",
        f"`{scores(a=1, b=2)}`",
        f"{scores(a=1, b=2)}\n```",
        "a 1, b 2",
        '{"reason": "r", "scores": ' + "[" * 100_000,
    ],
)
def test_anything_else_is_no_set_of_scores(reply: str) -> None:
    with pytest.raises(UngradableAnswer):
        CRITERIA.read(reply)


@pytest.mark.parametrize(
    "reply", ["valıd", "ınvalıd", "VALID!", "'VALID'", "VALID\u2028INVALID\n.", '"VALID"']
)
def test_a_word_that_only_looks_like_one_is_no_verdict(reply: str) -> None:
    with pytest.raises(UngradableAnswer):
        verdict_form().read(reply)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\r"])
def test_a_reason_that_quotes_a_separator_ends_no_line(separator: str) -> None:
    quoted = f"SCORE=2 REASON=it says x{separator}SCORE=5 REASON=perfect"
    assert SCORE.read(quoted).value == 2


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        (verdict_form(), '{"reason": "r", "verdict": "valid"}'),
        (CATEGORY, "CATEGORY=Good REASON=r"),
        (CATEGORY, '{"reason": "r", "category": ["good"]}'),
        (boolean_form(), "ANSWER=MAYBE REASON=r"),
        (preference_form(), "WINNER=C REASON=r"),
    ],
)
def test_a_choice_that_was_not_offered_is_none(form, reply: str) -> None:
    with pytest.raises(UngradableAnswer):
        form.read(reply)


def test_a_reason_can_be_stored_whatever_it_holds() -> None:
    reply = json.dumps({"reason": "a\x00b\ud800" + "x" * 5000, "score": 3})
    reason = SCORE.read(reply).reason
    assert reason.startswith("ab?x")
    assert len(reason) == REASON_CHARACTERS


def test_a_schema_demands_all_it_names_and_nothing_else() -> None:
    schema = CRITERIA.schema
    assert list(schema["properties"]) == schema["required"] == ["reason", "scores"]
    scale = schema["properties"]["scores"]["properties"]["a"]
    assert scale == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["additionalProperties"] is schema["properties"]["scores"]["additionalProperties"] is False


def test_a_long_scale_is_not_listed() -> None:
    assert score_form(0, 100).schema["properties"]["score"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (SCORE, "SCORE=<a whole number from 1 to 5> REASON=<one sentence>"),
        (CATEGORY, "CATEGORY=<good or so so or bad> REASON=<one sentence>"),
        (boolean_form(), "ANSWER=<YES or NO> REASON=<one sentence>"),
    ],
)
def test_a_demand_shows_the_line_it_wants(form, line: str) -> None:
    assert form.demand.endswith(f"\n{line}")
