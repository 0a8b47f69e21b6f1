"""What a smoke call says about an answer that was cut off."""

from decimal import Decimal

import pytest

from evalq.bakeoff.probes import describe_state
from evalq.records import CompletionState
from evalq.store.answers import JudgeAnswer


def said(state: CompletionState, answer: str) -> JudgeAnswer:
    return JudgeAnswer("j", "c", 1, 1, None, None, None, answer, state, 9, Decimal(0), 10, 32)


@pytest.mark.parametrize(
    ("state", "answer", "message"),
    [
        ("truncated", "", "32 tokens of thinking left no room for text; raise thinking_tokens: of the judge"),
        ("truncated", "It is", "truncated after 32 tokens; raise max_tokens: of the task"),
        ("empty", "", "the answer is empty"),
    ],
)
def test_an_answer_that_was_cut_off_names_its_remedy(
    state: CompletionState, answer: str, message: str
) -> None:
    assert message in describe_state(said(state, answer))
