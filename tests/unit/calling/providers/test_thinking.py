"""Models that think have room for it, or are told not to; what is sent is what is set aside."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from evalq.calling.providers.request_bodies import build_request
from evalq.definitions.catalogue import all_judges
from evalq.definitions.judge import JudgeConfig, ModelJudge
from evalq.records import CaseContext, Prompt

PROMPT = Prompt("", "Is it spam?", 32, CaseContext("t", "c"))
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
SHIPPED = {name: judge for name, judge in all_judges({}).items() if isinstance(judge, ModelJudge)}
# What each model is known to think before a short answer, unless it is told not to.
USUAL_THOUGHT = 1000


def judge(provider: str, model: str, **fields: Any) -> ModelJudge:
    named = {"name": "mine", "provider": provider, "model": model, **fields}
    made = TypeAdapter[JudgeConfig](JudgeConfig).validate_python(named)
    assert isinstance(made, ModelJudge)
    return made


def limit_sent(asked: ModelJudge) -> int:
    body = build_request(asked, PROMPT).body
    return int(next(body[name] for name in LIMITS if name in body))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_model_has_room_to_think_or_is_told_not_to(name: str) -> None:
    body = build_request(SHIPPED[name], PROMPT).body
    budget = body.get("thinking_config", {}).get("thinking_budget")
    is_off = body.get("reasoning_effort") == "none" or budget is not None
    thinks_only_when_asked = SHIPPED[name].model.startswith(
        ("claude-haiku-4", "claude-sonnet-4", "claude-opus-4")
    )
    room = limit_sent(SHIPPED[name]) - PROMPT.max_tokens
    assert thinks_only_when_asked or is_off or room >= USUAL_THOUGHT
    assert room >= (budget or 0)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_room_that_is_sent_is_set_aside(name: str) -> None:
    assert build_request(SHIPPED[name], PROMPT).output_tokens >= limit_sent(SHIPPED[name])


@pytest.mark.parametrize(
    ("provider", "model", "fields"),
    [
        ("openai", "gpt-5.4-mini", {"reasoning_effort": "none"}),
        ("openai", "gpt-5-nano", {"reasoning_effort": "minimal"}),
        ("openai", "gpt-5-pro", {}),
        ("openai", "gpt-5.1-chat-latest", {}),
        ("openai", "gpt-4.1", {}),
        ("openai", "o3-mini", {}),
        ("google", "models/gemini-2.5-flash-lite", {"thinking_config": {"thinking_budget": 0}}),
        ("google", "gemini-2.5-pro", {"thinking_config": {"thinking_budget": 128}}),
        ("google", "gemini-3.5-flash", {"thinking_config": {"thinking_level": "LOW"}}),
        ("google", "gemma-3-27b", {}),
        ("anthropic", "claude-fable-5-1", {}),
    ],
)
def test_a_model_is_sent_only_the_switch_it_takes(provider: str, model: str, fields: dict[str, Any]) -> None:
    body = build_request(judge(provider, model), PROMPT).body
    switches = ("reasoning_effort", "thinking_config", "thinking")
    assert {name: body[name] for name in switches if name in body} == fields


@pytest.mark.parametrize("provider", ["anthropic", "openai", "xai", "google"])
def test_room_is_what_the_judge_says(provider: str) -> None:
    assert limit_sent(judge(provider, "m")) == 32
    assert limit_sent(judge(provider, "m", thinking_tokens=500)) == 532


def test_a_budget_of_thinking_is_room_as_well() -> None:
    params = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert limit_sent(judge("anthropic", "claude-haiku-4-5", params=params)) == 32 + 1024
    gemini = judge("google", "gemini-2.5-flash", thinking_tokens=700)
    assert build_request(gemini, PROMPT).body["thinking_config"] == {"thinking_budget": 700}
    assert limit_sent(gemini) == 732


def test_a_model_told_to_think_has_room_for_it() -> None:
    asked = judge("openai", "gpt-5.4", params={"reasoning_effort": "high"})
    assert build_request(asked, PROMPT).body["reasoning_effort"] == "high"
    assert limit_sent(asked) > 32 + USUAL_THOUGHT


def test_a_limit_among_the_parameters_is_the_whole_limit() -> None:
    assert limit_sent(judge("xai", "grok-4.3", params={"max_tokens": 77})) == 77


def test_thinking_that_is_switched_off_needs_no_room() -> None:
    assert limit_sent(judge("xai", "grok-4.3", thinking_tokens=0)) == 32


def test_nothing_is_assumed_of_a_model_on_a_private_server() -> None:
    body = build_request(judge("openai", "gpt-5.4", base_url="http://127.0.0.1:8000/v1"), PROMPT).body
    assert body.keys() == {"model", "messages", "max_tokens"}
    assert body["max_tokens"] == 32
