from evalq.calling.rate_limit import estimate_tokens
from evalq.records import CaseContext, Prompt, Turn


def test_earlier_turns_count_as_input_tokens() -> None:
    question = Prompt("s" * 30, "u" * 30, 16, CaseContext("t", "c"))
    turns = (Turn("user", "a" * 300), Turn("assistant", "b" * 300))
    talk = Prompt("s" * 30, "u" * 30, 16, CaseContext("t", "c"), turns=turns)
    assert estimate_tokens(talk) - estimate_tokens(question) == 200
