import json
from random import Random

import pytest

from evalq.calling.providers.simulated import grader_reply, right_answer, wrong_answer
from evalq.records import CaseContext

RNG = Random(0)


def test_text_without_an_answer_is_the_first_expected_phrase() -> None:
    about = CaseContext("t", "c", expected={"any_of": ["blue", "azure"]})
    assert right_answer(about, RNG) == "blue"
    assert wrong_answer(about, RNG) not in ("blue", "azure")


def test_text_of_which_nothing_is_expected_is_empty() -> None:
    assert right_answer(CaseContext("t", "c"), RNG) == ""


def test_a_finding_without_quotes_or_reason_quotes_the_phrases() -> None:
    about = CaseContext("t", "c", expected={"any_of": ["2021"]}, answer_form="findings")
    [finding] = json.loads(right_answer(about, RNG))
    assert finding["quotes"] == [{"source": "?", "quote": "2021"}]
    assert ":" not in finding["contradiction"]


def test_a_false_finding_quotes_only_sections_that_say_something() -> None:
    about = CaseContext(
        "t", "c", inputs={"sources": "[A] Wiki\nx\n\n[B]\n"}, answer_form="findings", is_positive=False
    )
    [finding] = json.loads(wrong_answer(about, RNG))
    assert finding["quotes"] == [{"source": "A", "quote": "Wiki"}]


@pytest.mark.parametrize(("text", "verdict"), [('{"quote": "say \\"no\\""}', "VALID"), ("say no", "INVALID")])
def test_a_grader_knows_a_phrase_behind_json_escapes(text: str, verdict: str) -> None:
    about = CaseContext("t", "c", expected={"any_of": ['say "no"']}, graded_text=text)
    assert grader_reply(about, is_right=True) == verdict


def test_a_grader_of_a_case_without_expectations_finds_nothing_valid() -> None:
    assert grader_reply(CaseContext("t", "c", graded_text="anything"), is_right=True) == "INVALID"


def test_a_ranking_begins_with_a_relevant_id_and_keeps_the_others() -> None:
    about = CaseContext("t", "c", expected={"relevant": ["n1", "n2"]}, answer_form="ranking")
    ids = json.loads(right_answer(about, RNG))
    assert (ids[0], ids[-1]) == ("n1", "n2")
