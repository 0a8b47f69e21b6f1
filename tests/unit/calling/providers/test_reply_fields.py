import json
from typing import Any

import httpx2
import pytest

from evalq.calling.providers.anthropic import read_message
from evalq.calling.providers.google import read_candidates
from evalq.calling.providers.openai import read_choices
from evalq.calling.providers.reply_fields import read_json, read_tokens, storable_usage
from evalq.records import Completion


def anthropic(**body: Any) -> Completion:
    return read_message(response({"content": [], **body}), 5)


def openai(*, is_additive: bool = False, **body: Any) -> Completion:
    return read_choices(response({"choices": [], **body}), 5, is_additive=is_additive)


def google(**body: Any) -> Completion:
    return read_candidates(json.dumps({"usageMetadata": {}, **body}), 5)


def response(body: Any) -> httpx2.Response:
    return httpx2.Response(200, json=body)


def choice(content: Any, finish: str | None = "stop", **message: Any) -> list[Any]:
    return [{"message": {"content": content, **message}, "finish_reason": finish}]


def candidate(parts: Any, finish: str | None = "STOP") -> list[Any]:
    return [{"content": {"parts": parts}, "finishReason": finish}]


@pytest.mark.parametrize(
    ("body", "state", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "answered", "ab"),
        ({"content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "max_tokens"}, "truncated", ""),
        ({"content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "end_turn"}, "empty", ""),
        ({"content": [{"text": "No."}], "stop_reason": "refusal"}, "refused", "No."),
        ({"stop_reason": "refusal", "stop_details": {"category": "bio"}}, "blocked", ""),
        ({"stop_reason": "refusal", "stop_details": None}, "refused", ""),
        ({"content": [{"text": "a"}], "stop_reason": "pause_turn"}, "truncated", "a"),
        ({"content": [{"text": 7}]}, "malformed", '[{"text": 7}]'),
        ({"content": ["x"]}, "malformed", '["x"]'),
    ],
)
def test_the_states_of_anthropics_messages(body: dict[str, Any], state: str, text: str) -> None:
    found = anthropic(**body)
    assert (found.state, found.text) == (state, text)


@pytest.mark.parametrize(
    ("choices", "state", "text"),
    [
        (choice("a"), "answered", "a"),
        (choice("a", None), "answered", "a"),
        (choice("a", "eos"), "answered", "a"),
        (choice([{"type": "text", "text": "a"}, {"type": "image"}]), "answered", "a"),
        (choice(" \n"), "empty", " \n"),
        (choice(None, "tool_calls"), "empty", ""),
        (choice("a", "length"), "truncated", "a"),
        (choice("", "length"), "truncated", ""),
        (choice(None, "content_filter"), "blocked", ""),
        (choice(None, refusal="No."), "refused", "No."),
        (choice("a", refusal=""), "answered", "a"),
        ([], "empty", ""),
        ([{"finish_reason": "stop"}], "malformed", '{"finish_reason": "stop"}'),
        ([7], "malformed", "7"),
        (choice({"a": 1}), "malformed", '{"a": 1}'),
    ],
)
def test_the_states_of_openais_choices(choices: list[Any], state: str, text: str) -> None:
    found = openai(choices=choices)
    assert (found.state, found.text) == (state, text)


@pytest.mark.parametrize(
    ("body", "state", "text"),
    [
        ({"candidates": candidate([{"text": "a"}, {"text": "b"}])}, "answered", "ab"),
        ({"candidates": candidate([{"text": "hm", "thought": True}, {"text": "a"}])}, "answered", "a"),
        ({"candidates": candidate([{"text": "hm", "thought": True}], "MAX_TOKENS")}, "truncated", ""),
        ({"candidates": candidate(None, "RECITATION")}, "blocked", ""),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "blocked", ""),
        ({"candidates": candidate([{"text": "a"}], "MALFORMED_RESPONSE")}, "malformed", "a"),
        ({"candidates": candidate("x"), "x": 1}, "answered", "x"),
        ({"candidates": candidate([7])}, "malformed", "[7]"),
        ({"promptFeedback": {"blockReason": "OTHER"}}, "blocked", ""),
        ({"candidates": []}, "empty", ""),
        ({}, "empty", ""),
    ],
)
def test_the_states_of_geminis_candidates(body: dict[str, Any], state: str, text: str) -> None:
    found = google(**body)
    assert (found.state, found.text) == (state, text)


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"foo": 1}', b'{"content": 1}', b'{"content": NaN}', b"\xff"]
)
def test_another_reply_than_the_protocols_cannot_be_read(body: bytes) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_message(httpx2.Response(200, content=body), 5)


def test_anthropics_input_is_three_sums() -> None:
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
    found = anthropic(
        usage={**usage, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}}
    ).usage
    assert (found.input_tokens, found.cached_input_tokens) == (325, 300)
    assert (found.output_tokens, found.thinking_tokens) == (7, 4)


OPENAI_USAGE = {
    "prompt_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens": 30,
    "completion_tokens_details": {"reasoning_tokens": 20},
}


def test_openais_reasoning_is_among_its_output() -> None:
    found = openai(usage=OPENAI_USAGE | {"total_tokens": 130}).usage
    assert (found.input_tokens, found.cached_input_tokens) == (100, 60)
    assert (found.output_tokens, found.thinking_tokens) == (30, 20)


@pytest.mark.parametrize(
    ("total", "output"), [({"total_tokens": 150}, 50), ({"total_tokens": 130}, 30), ({}, 50)]
)
def test_xais_reasoning_is_beside_its_output_unless_the_total_says_otherwise(
    total: dict[str, int], output: int
) -> None:
    assert openai(usage=OPENAI_USAGE | total, is_additive=True).usage.output_tokens == output


def test_geminis_thoughts_are_billed_beside_its_candidates() -> None:
    usage = {"promptTokenCount": 9, "toolUsePromptTokenCount": 1, "cachedContentTokenCount": 4}
    found = google(usageMetadata={**usage, "candidatesTokenCount": 5, "thoughtsTokenCount": 70}).usage
    assert (found.input_tokens, found.cached_input_tokens) == (10, 4)
    assert (found.output_tokens, found.thinking_tokens) == (75, 70)


def test_a_server_without_an_account_is_read_all_the_same() -> None:
    for usage in (None, [], "x", {}, {"prompt_tokens": "many", "completion_tokens": -3}):
        found = openai(choices=choice("a"), usage=usage, model=7)
        assert (found.state, found.usage.input_tokens, found.usage.output_tokens) == ("answered", 0, 0)
        assert found.model is None


def test_an_account_is_kept_as_it_came_but_for_what_no_table_holds() -> None:
    kept = storable_usage(
        {"a": 1, "b": {"c": [True, None, "tier"]}, "bad\x00": 1, "nul": "\x00", "half": "\ud800"}
    )
    assert kept == {"a": 1, "b": {"c": [True, None, "tier"]}, "nul": None, "half": None}


def test_counts_are_counts() -> None:
    assert read_tokens({"a": {"b": 3}}, "a", "b") == 3
    assert read_tokens({"a": 3}, "a", "b") == 0
    assert read_tokens({"a": True}, "a") == 0
    assert read_tokens({"a": 10**30}, "a") == 100_000_000


def test_json_is_strict() -> None:
    assert read_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    for data in (b"NaN", b'{"a": Infinity}', b"", b"\xff"):
        with pytest.raises(ValueError):
            read_json(data)
