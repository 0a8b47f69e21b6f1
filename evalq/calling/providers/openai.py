"""OpenAI's models, xAI's, and any server that speaks their protocol, through OpenAI's SDK."""

import time
from collections.abc import Mapping
from typing import Any

import httpx2

from evalq.calling.providers.faults import FaultsOf, Party, refuse_error_body, request_id
from evalq.calling.providers.reply_fields import (
    States,
    dict_or_empty,
    elapsed_ms,
    join_text,
    printable_or_none,
    read_key,
    read_list,
    read_object,
    read_tokens,
    read_tool_calls,
    state_of,
    state_with_tools,
    states_tokens,
    storable_usage,
    text_or_json,
)
from evalq.calling.providers.request_bodies import build_body, check_params
from evalq.calling.providers.throttling import read_rate_hints
from evalq.calling.providers.transport import call_headers, client
from evalq.definitions.judge import OpenAIJudge, XaiJudge
from evalq.records import Completion, CompletionState, Prompt, Usage

_URLS = {"openai": "https://api.openai.com/v1", "xai": "https://api.x.ai/v1"}
_NO_KEY = "none"
_STATES: States = {"length": "truncated", "content_filter": "blocked"}


class OpenAIAdapter:
    """Asks /chat/completions. The SDK's typed methods cost twice as much as the call: its `post` is used."""

    def __init__(self, judge: OpenAIJudge | XaiJudge, environ: Mapping[str, str]) -> None:
        import openai

        check_params(judge)
        key = read_key(judge, environ)
        self._judge = judge
        self._party = Party(judge.provider, judge.key_name, (key,) if key else ())
        self._client = openai.AsyncOpenAI(
            api_key=key or _NO_KEY,
            base_url=judge.base_url or _URLS[judge.provider],
            timeout=judge.deadline_s,
            max_retries=0,
            http_client=client,
        )
        # The SDK parses a path and merges it with its base at every call; the whole URL it only parses.
        self._url = str(self._client.base_url).rstrip("/") + "/chat/completions"

    async def complete(self, prompt: Prompt) -> Completion:
        """One chat completion."""
        with FaultsOf(self._party, prompt) as call:
            started = time.perf_counter()
            response = await self._client.post(
                self._url,
                cast_to=httpx2.Response,
                body=build_body(self._judge, prompt),
                options={"headers": dict(call_headers(prompt))},
            )
            latency_ms = elapsed_ms(started)
            call.request_id = request_id(response.headers)
            refuse_error_body(response, self._party, prompt)
            return read_choices(response, latency_ms, is_additive=self._judge.provider == "xai")


def read_choices(response: httpx2.Response, latency_ms: int, *, is_additive: bool) -> Completion:
    """The completion in an answer of 200; ValueError, TypeError or KeyError if there is none."""
    body = read_object(response.content)
    choices = read_list(body, "choices")
    calls = read_tool_calls(_first_message(choices).get("tool_calls"))
    state, text = _read_answer(choices)
    return Completion(
        state_with_tools(state, calls),
        text,
        _read_usage(storable_usage(body.get("usage")), is_additive=is_additive),
        latency_ms,
        model=printable_or_none(body.get("model")),
        request_id=request_id(response.headers),
        rate_hints=read_rate_hints(response.headers),
        tool_calls=calls,
    )


def _first_message(choices: list[Any]) -> dict[str, Any]:
    if not choices:
        return {}
    return dict_or_empty(dict_or_empty(choices[0]).get("message"))


def _read_answer(choices: list[Any]) -> tuple[CompletionState, str]:
    if not choices:
        return "empty", ""
    choice = dict_or_empty(choices[0])
    message = _first_message(choices)
    if message.get("tool_calls"):
        message = {"content": None, **message}  # some servers leave it out then
    if "content" not in message and not message.get("refusal"):
        return "malformed", text_or_json(None, choices[0])
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        return "refused", message["refusal"]
    text = join_text(message["content"])
    return state_of(text, choice.get("finish_reason"), _STATES), text_or_json(text, message["content"])


def _read_usage(usage: dict[str, Any], *, is_additive: bool) -> Usage:
    """Reasoning is among the completion tokens, at xAI beside them; if there is a total, it decides."""
    prompt, output = read_tokens(usage, "prompt_tokens"), read_tokens(usage, "completion_tokens")
    thinking = read_tokens(usage, "completion_tokens_details", "reasoning_tokens")
    total = read_tokens(usage, "total_tokens")
    if is_additive and total:
        output = max(output, total - prompt)
    elif is_additive:
        output += thinking
    return Usage(
        prompt,
        output,
        cached_input_tokens=read_tokens(usage, "prompt_tokens_details", "cached_tokens"),
        thinking_tokens=thinking,
        raw=usage,
        is_stated=states_tokens(usage, "prompt_tokens", "completion_tokens"),
    )
