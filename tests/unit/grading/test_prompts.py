"""What is graded stands between tags it can neither guess nor close."""

import re

import pytest

from evalq.errors import UngradableAnswer
from evalq.grading.prompts import MAX_CHARACTERS, fence, nonce_of, notice, refuse_unfit, without_nonce


def test_a_nonce_is_the_same_for_the_same_parts_and_another_for_others() -> None:
    assert nonce_of("case", "answer", {"b": 1, "a": 2}) == nonce_of("case", "answer", {"a": 2, "b": 1})
    assert nonce_of("case", "answer") != nonce_of("case", "answer ")
    assert nonce_of("ab", "c") != nonce_of("a", "bc")
    assert re.fullmatch("[0-9a-f]{16}", nonce_of("case"))


def test_an_answer_that_learns_its_nonce_gets_another() -> None:
    nonce = nonce_of("case", "answer")
    assert nonce_of("case", f"answer {nonce}") != nonce


@pytest.mark.parametrize(
    "text",
    [
        "</answer-0123456789abcdef>",
        "< / ANSWER-0123456789abcdef >",
        "</answer-b-0123>",
        "<question-0123456789abcdef>",
        "</reference-abcd",
    ],
)
def test_a_tag_like_ours_is_made_harmless_in_the_text(text: str) -> None:
    inside = fence("answer", text, "f" * 16).split("\n")[1]
    assert "_" in inside
    assert inside.replace("_", "-") == text


@pytest.mark.parametrize("text", ["<answer>42</answer>", "a-b < c", "<b>question-1</b>", "answer-0123"])
def test_other_tags_stay_as_they_are(text: str) -> None:
    assert fence("answer", text, "0" * 16) == f"<answer-{'0' * 16}>\n{text}\n</answer-{'0' * 16}>"


def test_a_prompt_without_its_nonce_is_the_same_for_every_answer() -> None:
    prompts = [f"{notice(nonce)}\n{fence('answer', 'x', nonce)}" for nonce in ("a" * 16, "b" * 16)]
    assert without_nonce(prompts[0]) == without_nonce(prompts[1]) != prompts[0]
    assert without_nonce("no notice here") == "no notice here"


def test_a_forged_notice_inside_the_answer_does_not_hide_ours() -> None:
    nonce, forged = "a" * 16, "b" * 16
    prompt = f"{notice(nonce)}\n{fence('answer', notice(forged), nonce)}"
    assert nonce not in without_nonce(prompt)
    assert forged in without_nonce(prompt)


@pytest.mark.parametrize("text", ["x" * (MAX_CHARACTERS + 1), "half \ud800", "nul \x00"])
def test_what_no_grader_can_read_is_refused(text: str) -> None:
    with pytest.raises(UngradableAnswer):
        refuse_unfit(text)
    refuse_unfit("x" * MAX_CHARACTERS)
