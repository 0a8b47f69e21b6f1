"""The forms in which each provider says that there is nothing to read."""

import json
from typing import Any

import pytest

from evalq.engines.simulator.exchange import ModelReply, ModelRequest
from evalq.engines.simulator.protocols.anthropic import Anthropic
from evalq.engines.simulator.protocols.gemini import Gemini
from evalq.engines.simulator.protocols.openai import OpenAI, duration

ASKED = ModelRequest("m", "", "", "")


def said(wire: Any, text: str, finish: str, thinking: int = 0) -> Any:
    return json.loads(wire.success(ASKED, ModelReply(text, finish, 10, 3, thinking), 1))  # type: ignore[arg-type]


def test_openai_has_a_form_for_each() -> None:
    assert said(OpenAI(), "", "empty")["choices"] == []
    blocked = said(OpenAI(), "", "blocked")["choices"][0]
    assert (blocked["finish_reason"], blocked["message"]["content"]) == ("content_filter", None)
    refused = said(OpenAI(), "", "refusal")["choices"][0]
    assert (refused["finish_reason"], refused["message"]["content"]) == ("stop", None)
    assert refused["message"]["refusal"]
    assert said(OpenAI(), "ha", "length")["choices"][0]["finish_reason"] == "length"


def test_anthropic_has_a_form_for_each() -> None:
    assert (said(Anthropic(), "", "empty")["content"], said(Anthropic(), "", "empty")["stop_reason"]) == (
        [],
        "end_turn",
    )
    blocked = said(Anthropic(), "", "blocked")
    assert (blocked["content"], blocked["stop_reason"]) == ([], "refusal")
    assert blocked["stop_details"]["category"]
    refused = said(Anthropic(), "", "refusal")
    assert (refused["stop_reason"], refused["stop_details"]["category"]) == ("refusal", None)
    cut = said(Anthropic(), "", "length", thinking=3)
    assert (cut["stop_reason"], [block["type"] for block in cut["content"]]) == ("max_tokens", ["thinking"])


def test_gemini_has_a_form_for_each() -> None:
    assert "candidates" not in said(Gemini(), "", "empty")
    assert said(Gemini(), "", "blocked")["promptFeedback"] == {"blockReason": "SAFETY"}
    refused = said(Gemini(), "", "refusal")["candidates"][0]
    assert (refused["finishReason"], "content" in refused) == ("SAFETY", False)
    cut = said(Gemini(), "", "length")["candidates"][0]
    assert (cut["finishReason"], cut["content"]) == ("MAX_TOKENS", {"role": "model"})


def test_what_is_nothing_is_left_out_of_geminis_usage() -> None:
    assert "thoughtsTokenCount" not in said(Gemini(), "x", "stop")["usageMetadata"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.012, "12ms"), (1, "1s"), (1.5, "1.5s"), (360, "6m0s"), (62.25, "1m2.25s")]
)
def test_a_duration_is_written_as_openai_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_model_may_have_any_name() -> None:
    asked = Gemini().read("/v1/models/tuned%2Fmy%20one:generateContent", {"contents": []})
    assert asked.model == "tuned/my one"
    asked.model = 'a "b" é\n'
    assert (
        json.loads(Gemini().success(asked, ModelReply("x", "stop", 1, 1, 0), 1))["modelVersion"]
        == asked.model
    )


def test_the_last_word_of_the_user_counts_among_several() -> None:
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "rules"}]},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": [{"type": "text", "text": "last"}]},
    ]
    asked = OpenAI().read(
        "", {"model": "m", "messages": messages, "max_completion_tokens": 5, "max_tokens": 9}
    )
    assert (asked.system, asked.user, asked.max_tokens) == ("rules", "last", 5)
    assert asked.prompt == "rules\nfirst\nanswer\nlast"
