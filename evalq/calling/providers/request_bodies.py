"""Builds the body of a request for each provider and model: output limit, temperature, form of the reply."""

import re
from collections.abc import Mapping
from typing import Any

from evalq.definitions.judge import AnthropicJudge, GoogleJudge, ModelJudge, OpenAIJudge, XaiJudge
from evalq.errors import ProviderFault
from evalq.records import Prompt

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
_LIMITS = {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"}
_OPENAI_HOST = re.compile(r"https?://([\w-]+\.)*openai\.(com|azure\.com)(:\d+)?(/|$)")


def anthropic_body(judge: AnthropicJudge, prompt: Prompt) -> dict[str, Any]:
    """A request to /v1/messages."""
    body: dict[str, Any] = {
        "model": judge.model,
        "max_tokens": prompt.max_tokens,
        "messages": _build_messages(prompt),
        "system": prompt.system or None,
    }
    if prompt.reply_schema and takes_schema(judge):
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(prompt.reply_schema)}}
    return _merge_params(body, judge.params)


def openai_body(judge: OpenAIJudge | XaiJudge, prompt: Prompt) -> dict[str, Any]:
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
    return _merge_params(body, judge.params)


def google_config(judge: GoogleJudge, prompt: Prompt) -> dict[str, Any]:
    """The fields of a GenerateContentConfig."""
    config: dict[str, Any] = {
        "system_instruction": prompt.system or None,
        "max_output_tokens": prompt.max_tokens,
        "temperature": prompt.temperature if takes_temperature(judge) else None,
    }
    if prompt.reply_schema and takes_schema(judge):
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = dict(prompt.reply_schema)
    return _merge_params(config, judge.params)


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
    is_unknown_server = isinstance(judge, OpenAIJudge) and not is_openai(judge)
    return not is_unknown_server and not _matches(_NO_SCHEMA, judge)


def is_openai(judge: OpenAIJudge | XaiJudge) -> bool:
    """Whether this is OpenAI itself, not another server that speaks its protocol."""
    if isinstance(judge, XaiJudge):
        return False
    return judge.base_url is None or bool(_OPENAI_HOST.match(judge.base_url))


def refuse_streaming(judge: ModelJudge) -> None:
    """Refuse a judge with `stream` at once, not after every call: evalq does not read answers in pieces."""
    if judge.params.get("stream"):
        raise ProviderFault("fatal", f"{judge.name} has stream among its params, which evalq does not read")


def _matches(table: Mapping[str, re.Pattern[str]], judge: ModelJudge) -> bool:
    pattern = table.get(judge.provider)  # type: ignore[attr-defined]
    return pattern is not None and pattern.match(judge.model.rpartition("/")[2]) is not None


def _merge_params(ours: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Our fields under the user's parameters; null leaves a field out, and their limit replaces ours."""
    body = {**ours, **params}
    if not _LIMITS.isdisjoint(params):
        for name in _LIMITS - params.keys():
            body.pop(name, None)
    return {name: value for name, value in body.items() if value is not None}
