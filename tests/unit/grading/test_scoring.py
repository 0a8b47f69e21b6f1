import json

import pytest

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import FINDINGS_RULE
from evalq.errors import UngradableAnswer
from evalq.grading.scoring import mark_strictly


def positive(**expected: object) -> EvalCase:
    return EvalCase(id="c", inputs={}, expected=expected)


NEGATIVE = EvalCase(id="c", inputs={}, expected_type="negative")


@pytest.mark.parametrize(
    ("answer", "passes"),
    [("invoice", True), ("  invoice\n", True), ("Invoice", False), ("an invoice", False)],
)
def test_exact_match_compares_the_stripped_answer(answer: str, passes: bool) -> None:
    assert mark_strictly("exact_match", positive(answer="invoice"), answer)[0] is passes


@pytest.mark.parametrize(
    ("expected", "passes"),
    [({"any_of": ["x", "blue"]}, True), ({"answer": "sky"}, True), ({"any_of": ["red"]}, False), ({}, False)],
)
def test_any_substring_wants_one_of_the_phrases(expected: dict[str, object], passes: bool) -> None:
    assert mark_strictly("any_substring", positive(**expected), "the sky is blue")[0] is passes


def test_a_positive_case_needs_a_finding_that_holds_an_expected_phrase() -> None:
    case = positive(any_of=["năm 2021"])
    finding = {"contradiction": "x", "quotes": [{"source": "A", "quote": "ra mắt năm 2021"}]}
    # ASCII escapes in the JSON must not hide the quote.
    assert mark_strictly(FINDINGS_RULE, case, json.dumps([finding]))[0]
    assert not mark_strictly(FINDINGS_RULE, case, '[{"quote": "2023"}]')[0]
    assert mark_strictly(FINDINGS_RULE, case, "[]") == (False, "empty on a positive case")


def test_a_negative_case_wants_an_empty_list() -> None:
    assert mark_strictly(FINDINGS_RULE, NEGATIVE, "```json\n[]\n```")[0]
    assert mark_strictly(FINDINGS_RULE, NEGATIVE, '["something"]') == (False, "1 findings on a negative case")


@pytest.mark.parametrize("answer", ["", "no contradictions", '{"findings": []}', "[1,", "[" * 100_000])
def test_what_is_no_json_list_cannot_be_graded_and_is_no_fail(answer: str) -> None:
    with pytest.raises(UngradableAnswer):
        mark_strictly(FINDINGS_RULE, NEGATIVE, answer)


def test_a_finding_may_be_of_any_json_shape() -> None:
    case = positive(any_of=["7"])
    assert mark_strictly(FINDINGS_RULE, case, '[7, null, ["a", 7]]')[0]
