"""The tools a judge asked for, read from every protocol's own way of writing them."""

import pytest

from evalq.calling.providers.reply_fields import read_tool_calls, state_with_tools
from evalq.records import ToolCall

SEARCH = (ToolCall("search", {"q": "x"}),)


@pytest.mark.parametrize(
    "written",
    [
        [{"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}],
        [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "name": "search", "input": {"q": "x"}},
        ],
        [{"text": "Let me see."}, {"functionCall": {"name": "search", "args": {"q": "x"}}}],
        [{"name": "search", "arguments": {"q": "x"}}],
        [{"tool": "search", "args": {"q": "x"}}],
    ],
    ids=["openai", "anthropic", "google", "own", "agent"],
)
def test_a_tool_call_is_read_however_it_is_written(written: list[object]) -> None:
    assert read_tool_calls(written) == SEARCH


@pytest.mark.parametrize(
    "written", [None, "search", {}, [1, "x", None], [{"name": 7}], [{"type": "thinking", "name": "x"}]]
)
def test_what_is_no_tool_call_is_passed_over(written: object) -> None:
    assert read_tool_calls(written) == ()


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [("not json", {"text": "not json"}), ("[1]", {"value": [1]}), (None, {}), ("{}", {})],
)
def test_strange_arguments_are_kept_as_they_are(arguments: object, kept: dict[str, object]) -> None:
    assert read_tool_calls([{"name": "t", "arguments": arguments}]) == (ToolCall("t", kept),)


def test_a_tool_without_words_is_an_answer_and_silence_is_none() -> None:
    assert state_with_tools("empty", SEARCH) == "answered"
    assert state_with_tools("empty", ()) == "empty"
    assert state_with_tools("refused", SEARCH) == "refused"
