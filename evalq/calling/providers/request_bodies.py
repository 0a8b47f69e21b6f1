"""Builds the body of a request for each provider and model, and bounds what that very body can cost."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalq.calling.providers.thinking import decide_thinking
from evalq.definitions.judge import ModelJudge, OpenAIJudge
from evalq.definitions.model_params import ModelParams, protocol_of, read_params
from evalq.errors import InputError, ProviderFault
from evalq.records import CaseContext, Prompt

_EVERY_MODEL = re.compile("")

# These answer any temperature with a 400: all of Anthropic's current API, and OpenAI's that reason.
_NO_TEMPERATURE = {
    "anthropic": _EVERY_MODEL,
    "openai": re.compile(r"(ft:)?(o\d|gpt-([5-9]|\d\d))"),
}
# Models from before structured output; a private server is asked for it by `params` only.
_NO_SCHEMA = {
    "anthropic": re.compile(r"claude-([123]|instant|(opus|sonnet)-4-(0|2025))"),
    "openai": re.compile(r"(ft:)?(gpt-3|gpt-4(-|$)|o1-(mini|preview))"),
    "google": re.compile(r"(models/)?(gemma|gemini-1)"),
}
# xAI and Google report thinking beside the answer and do not promise that one limit holds both, so as much
# again is set aside, or the budget of thinking where there is one.
_THINKING_BESIDE_ANSWER = ("xai", "google")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_COPIES = ("n", "best_of", "candidate_count")
_BUDGETS = (
    ("thinking_budget",),
    ("thinking", "budget_tokens"),
    ("reasoning", "max_tokens"),
    ("chat_template_kwargs", "thinking_budget"),
    ("thinking_config", "thinking_budget"),
)
_PROMPT_FIELDS = {"model", "messages", "system", "system_instruction", *_LIMITS}
_OPENAI_HOST = re.compile(r"https?://([\w-]+\.)*openai\.(com|azure\.com)(:\d+)?(/|$)")


@dataclass(frozen=True)
class ModelRequest:
    """The body of a request, and the most it can be billed for, read from this very body.

    `output_tokens` counts the answer and the thinking, in every copy. `extra_bytes` is the size of what is
    sent beside the prompt's texts.
    """

    body: dict[str, Any]
    output_tokens: int
    extra_bytes: int
    may_write_cache: bool


def build_request(judge: ModelJudge, prompt: Prompt) -> ModelRequest:
    """What is sent to a model and what it is priced by; InputError for parameters without a bound."""
    params = read_params(judge)
    thinking = decide_thinking(judge, params, is_private_server=_is_private_server(judge))
    roomy = replace(prompt, max_tokens=prompt.max_tokens + thinking.room_tokens)
    ours = _BUILDERS[protocol_of(judge)](judge, roomy)
    body = _merge_params({**ours, **thinking.fields}, params)
    extra = {name: value for name, value in body.items() if name not in _PROMPT_FIELDS}
    return ModelRequest(
        body=body,
        output_tokens=_bound_output(judge, body),
        extra_bytes=len(json.dumps(extra, default=str, ensure_ascii=False).encode()) if extra else 0,
        # Anthropic writes its prompt cache only when asked to; others decide for themselves.
        may_write_cache=protocol_of(judge) != "anthropic" or _holds_key(body, "cache_control"),
    )


def build_body(judge: ModelJudge, prompt: Prompt) -> dict[str, Any]:
    """The body alone; a fatal fault for parameters without a bound."""
    try:
        return build_request(judge, prompt).body
    except InputError as refused:
        raise ProviderFault("fatal", str(refused.problems[0])) from None


def check_params(judge: ModelJudge) -> None:
    """Refuse at once, not at every call, parameters that cannot be sent."""
    build_body(judge, Prompt("", "", 1, CaseContext("", "")))


def _bound_output(judge: ModelJudge, body: Mapping[str, Any]) -> int:
    """The most tokens billed as output: the limit with its thinking, for every copy."""
    tokens: int = max(body[name] for name in _LIMITS if name in body)
    budgets = [budget for path in _BUDGETS if (budget := _find_count(body, path)) is not None]
    tokens += sum(budgets)
    is_beside = judge.provider in _THINKING_BESIDE_ANSWER  # type: ignore[attr-defined]
    if is_beside and not budgets and "non-reasoning" not in judge.model:
        tokens *= 2
    for name in _COPIES:
        tokens *= body.get(name, 1)
    return tokens


def _find_count(body: Any, path: tuple[str, ...]) -> int | None:
    for name in path:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body if type(body) is int else None


def _holds_key(value: object, name: str) -> bool:
    if isinstance(value, Mapping):
        return name in value or any(_holds_key(item, name) for item in value.values())
    return isinstance(value, list) and any(_holds_key(item, name) for item in value)


def _anthropic_body(judge: ModelJudge, prompt: Prompt) -> dict[str, Any]:
    """A request to /v1/messages."""
    body: dict[str, Any] = {
        "model": judge.model,
        "max_tokens": prompt.max_tokens,
        "messages": _build_messages(prompt),
        "system": prompt.system or None,
    }
    if prompt.reply_schema and takes_schema(judge):
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(prompt.reply_schema)}}
    return body


def _openai_body(judge: ModelJudge, prompt: Prompt) -> dict[str, Any]:
    """A request to /chat/completions."""
    system = [{"role": "system", "content": prompt.system}] if prompt.system else []
    body: dict[str, Any] = {
        "model": judge.model,
        "messages": [*system, *_build_messages(prompt)],
        "max_completion_tokens" if is_openai(judge) else "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature if takes_temperature(judge) else None,
    }
    if prompt.reply_schema and takes_schema(judge):
        schema = {"name": "reply", "strict": True, "schema": dict(prompt.reply_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _google_config(judge: ModelJudge, prompt: Prompt) -> dict[str, Any]:
    """The fields of a GenerateContentConfig."""
    config: dict[str, Any] = {
        "system_instruction": prompt.system or None,
        "max_output_tokens": prompt.max_tokens,
        "temperature": prompt.temperature if takes_temperature(judge) else None,
    }
    if prompt.reply_schema and takes_schema(judge):
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = dict(prompt.reply_schema)
    return config


_BUILDERS: Mapping[str, Callable[[ModelJudge, Prompt], dict[str, Any]]] = {
    "anthropic": _anthropic_body,
    "openai": _openai_body,
    "google": _google_config,
}


def google_contents(prompt: Prompt) -> Any:
    """The conversation as generateContent takes it; a lone question is its text."""
    if not prompt.turns:
        return prompt.user
    contents = []
    for turn in prompt.turns:
        role = "model" if turn.role == "assistant" else "user"
        contents.append({"role": role, "parts": [{"text": turn.text}]})
    return [*contents, {"role": "user", "parts": [{"text": prompt.user}]}]


def _build_messages(prompt: Prompt) -> list[dict[str, str]]:
    """The earlier turns, then the question, as OpenAI and Anthropic write them."""
    turns = [{"role": turn.role, "content": turn.text} for turn in prompt.turns]
    return [*turns, {"role": "user", "content": prompt.user}]


def takes_temperature(judge: ModelJudge) -> bool:
    """Whether the model accepts a temperature at all."""
    return not _matches(_NO_TEMPERATURE, judge)


def takes_schema(judge: ModelJudge) -> bool:
    """Whether a reply can be constrained by a JSON Schema."""
    return not _is_private_server(judge) and not _matches(_NO_SCHEMA, judge)


def _is_private_server(judge: ModelJudge) -> bool:
    return isinstance(judge, OpenAIJudge) and not is_openai(judge)


def is_openai(judge: ModelJudge) -> bool:
    """Whether this is OpenAI itself, not another server that speaks its protocol."""
    if not isinstance(judge, OpenAIJudge):
        return False
    return judge.base_url is None or bool(_OPENAI_HOST.match(judge.base_url))


def _matches(table: Mapping[str, re.Pattern[str]], judge: ModelJudge) -> bool:
    pattern = table.get(judge.provider)  # type: ignore[attr-defined]
    return pattern is not None and pattern.match(judge.model.rpartition("/")[2]) is not None


def _merge_params(ours: dict[str, Any], params: ModelParams) -> dict[str, Any]:
    """Our fields under the user's parameters; null leaves a field out, and their limit replaces ours."""
    body = dict(ours)
    if params.limit_name:
        body = {name: value for name, value in ours.items() if name not in _LIMITS}
    for name, value in params.fields.items():
        is_both = isinstance(value, dict) and isinstance(body.get(name), dict) and name == "output_config"
        body[name] = {**body[name], **value} if is_both else value
    return {name: value for name, value in body.items() if value is not None}
