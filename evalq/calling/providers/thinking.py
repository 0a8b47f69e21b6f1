"""How models that think are asked: thinking off or bounded where the provider can, else room for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalq.definitions.judge import ModelJudge
from evalq.definitions.model_params import ModelParams


@dataclass(frozen=True)
class Thinking:
    """The fields that bound a model's thinking, and the tokens it may need beside its answer."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    room_tokens: int = 0


_OFF = "none"
_FAMILIES: Mapping[str, tuple[tuple[str, Thinking], ...]] = {
    # https://developers.openai.com/api/docs/guides/reasoning: `none` from gpt-5.1 on, `minimal` for gpt-5;
    # pro, codex and chat models take neither.
    "openai": (
        (r"(ft:)?gpt-5\.\d++(?!.*(pro|codex|chat))", Thinking({"reasoning_effort": _OFF})),
        (r"(ft:)?gpt-5(-mini|-nano)?(-\d{4}|:|$)", Thinking({"reasoning_effort": "minimal"}, 1024)),
        (r"(ft:)?(o\d|gpt-([5-9]|\d\d))", Thinking(room_tokens=4096)),
    ),
    # https://ai.google.dev/gemini-api/docs/thinking: 2.5 Pro cannot stop thinking, and 128 is its least.
    "google": (
        (r"gemini-2\.5-flash", Thinking({"thinking_config": {"thinking_budget": 0}})),
        (r"gemini-2\.5-pro", Thinking({"thinking_config": {"thinking_budget": 128}}, 128)),
        (r"gemini-3", Thinking({"thinking_config": {"thinking_level": "LOW"}}, 2048)),
        (r"gemini-([4-9]|\d\d)", Thinking(room_tokens=4096)),
    ),
    # Older models think only when asked to; the newest refuse `thinking: disabled`.
    "anthropic": ((r"claude-(fable|mythos|(opus|sonnet|haiku)-[5-9])", Thinking(room_tokens=2048)),),
    "xai": ((r"grok-(3-mini|[4-9])(?!.*non-reasoning)", Thinking(room_tokens=4096)),),
}
"""By provider: a pattern for the beginning of a model's name, and how such a model is asked; first match."""

_SWITCHES = frozenset(
    {
        "thinking",
        "thinking_budget",
        "thinking_config",
        "reasoning",
        "reasoning_effort",
        "enable_thinking",
        "chat_template_kwargs",
        "output_config",
    }
)
_ROOM_WHEN_ASKED = 4096
"""Room for a model that the judge's parameters tell to think, without a budget."""


def decide_thinking(judge: ModelJudge, params: ModelParams, *, is_private_server: bool) -> Thinking:
    """The judge's own parameters first, then its `thinking_tokens`, then what suits the model.

    A private server may serve anything under a well-known name, so nothing is known of its models.
    """
    usual = None if is_private_server else _find_family(judge)
    if not _SWITCHES.isdisjoint(params.fields):
        return Thinking(room_tokens=_room_beside(judge, params, is_known=usual is not None))
    if usual is None:
        return Thinking(room_tokens=judge.thinking_tokens or 0)
    if judge.thinking_tokens is None:
        return usual
    if judge.thinking_tokens == 0:
        return Thinking(usual.fields)
    if "thinking_budget" in usual.fields.get("thinking_config", {}):
        budget = {"thinking_config": {"thinking_budget": judge.thinking_tokens}}
        return Thinking(budget, judge.thinking_tokens)
    return Thinking(room_tokens=judge.thinking_tokens)


def _room_beside(judge: ModelJudge, params: ModelParams, *, is_known: bool) -> int:
    if judge.thinking_tokens is not None:
        return judge.thinking_tokens
    if params.budgets:
        return sum(params.budgets)
    return _ROOM_WHEN_ASKED if is_known else 0


def _find_family(judge: ModelJudge) -> Thinking | None:
    name = judge.model.rpartition("/")[2]
    provider: str = judge.provider  # type: ignore[attr-defined]
    for pattern, thinking in _FAMILIES.get(provider, ()):
        if re.match(pattern, name):
            return thinking
    return None
