"""Reading findings from hostile text: whatever a model answers is read, or said to be ungradable."""

import json

import pytest

from evalq.errors import UngradableAnswer
from evalq.grading.scoring import finding_json, finding_text, parse_list

DEEP = "[" * 600 + '"x"' + "]" * 600


@pytest.mark.parametrize(
    "answer", ["[]", " [] \n", "```\n[]\n```", "```json\n[]```", "\n```JSON  \n[\n]\n``` "]
)
def test_a_list_may_stand_in_a_code_fence(answer: str) -> None:
    assert parse_list(answer) == []


@pytest.mark.parametrize(
    "answer", ["Here: []", "[] []", "```json\n[]\n``` done", "``````", "null", "7", '"[]"']
)
def test_a_list_among_other_things_is_none(answer: str) -> None:
    with pytest.raises(UngradableAnswer):
        parse_list(answer)


def test_half_a_surrogate_pair_cannot_be_shown_to_a_grader() -> None:
    with pytest.raises(UngradableAnswer):
        parse_list('["\\ud800"]')
    assert parse_list('["\\ud83d\\ude00"]') == ["😀"]


def test_the_text_of_a_finding_is_read_in_order_at_any_depth() -> None:
    finding = {"a": "one", "b": [{"c": "two"}, "three", [4, None, True]], "d": {}}
    assert finding_text(finding) == "one\ntwo\nthree\n4\nnull\ntrue"
    assert finding_text(json.loads(DEEP)) == "x"


def test_a_finding_has_one_canonical_form() -> None:
    assert finding_json({"b": "ü", "a": 1}) == finding_json({"a": 1, "b": "ü"}) == '{"a": 1, "b": "ü"}'
