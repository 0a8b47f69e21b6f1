"""Upper bounds of what one call can spend, known before it is sent."""

import json

from evalq.definitions.judge import JudgeConfig, ModelJudge
from evalq.records import Prompt

# Protocol overhead of a chat request (roles, separators), generous for every provider.
_OVERHEAD_TOKENS = 64
# What providers add around a reply schema to explain it to the model.
_SCHEMA_OVERHEAD_TOKENS = 512
# Thinking is inside the output limit at Anthropic and OpenAI. xAI and Google report it beside the answer
# and do not promise that one limit holds both, so a limit's worth is set aside for each.
_THINKING_BESIDE_ANSWER = {"xai": 2, "google": 2}
_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_COPIES = ("n", "candidate_count")


def input_bound(judge: JudgeConfig, prompt: Prompt) -> int:
    """No tokenizer makes more tokens than there are UTF-8 bytes; parameters and a schema are read too."""
    size = len(prompt.system.encode()) + len(prompt.user.encode()) + _OVERHEAD_TOKENS
    size += sum(len(turn.text.encode()) + _OVERHEAD_TOKENS for turn in prompt.turns)
    if prompt.reply_schema is not None:
        size += _json_bytes(prompt.reply_schema) + _SCHEMA_OVERHEAD_TOKENS
    if isinstance(judge, ModelJudge) and judge.params:
        size += _json_bytes(judge.params)
    return size


def output_bound(judge: JudgeConfig, prompt: Prompt) -> int:
    """The limit we send or the judge's parameters send over it, for every copy, with its thinking."""
    if not isinstance(judge, ModelJudge):
        return prompt.max_tokens
    limit = max(prompt.max_tokens, *(_number(judge, name) for name in _OUTPUT_LIMITS))
    copies = max(1, *(_number(judge, name) for name in _COPIES))
    return limit * copies * _thinking_factor(judge.provider, judge.model)


def may_write_cache(judge: JudgeConfig) -> bool:
    """Anthropic writes its prompt cache only when asked to; others decide for themselves."""
    return judge.provider != "anthropic" or "cache_control" in judge.params


def _thinking_factor(provider: str, model: str) -> int:
    return 1 if "non-reasoning" in model else _THINKING_BESIDE_ANSWER.get(provider, 1)


def _number(judge: ModelJudge, name: str) -> int:
    value = judge.params.get(name)
    return value if type(value) is int else 0


def _json_bytes(value: object) -> int:
    return len(json.dumps(value, default=str, ensure_ascii=False).encode())
