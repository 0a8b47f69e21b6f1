"""Claude models, through Anthropic's SDK."""

import logging
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
from evalq.definitions.judge import AnthropicJudge
from evalq.records import Completion, CompletionState, Prompt, Usage

_URL = "https://api.anthropic.com"
_STATES: States = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "pause_turn": "truncated",
    "refusal": "refused",
}


class AnthropicAdapter:
    """Asks /v1/messages. The SDK's typed methods cost twice as much as the call: its `post` is used."""

    def __init__(self, judge: AnthropicJudge, environ: Mapping[str, str]) -> None:
        import anthropic

        check_params(judge)
        key = read_key(judge, environ)
        # At DEBUG the SDK logs the prompt.
        logging.getLogger("anthropic").setLevel(logging.INFO)
        self._judge = judge
        self._party = Party("anthropic", judge.key_name, (key,) if key else ())
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=judge.base_url or _URL,
            timeout=judge.deadline_s,
            max_retries=0,
            http_client=client,
            open_telemetry=False,
        )
        # The SDK parses a path and merges it with its base at every call; the whole URL it only parses.
        self._url = str(self._client.base_url).rstrip("/") + "/v1/messages"

    async def complete(self, prompt: Prompt) -> Completion:
        """One message."""
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
            return read_message(response, latency_ms)


def read_message(response: httpx2.Response, latency_ms: int) -> Completion:
    """The completion in an answer of 200; ValueError, TypeError or KeyError if there is none."""
    body = read_object(response.content)
    content = read_list(body, "content")
    text, calls = join_text(content), read_tool_calls(content)
    return Completion(
        state_with_tools(_decide_state(text, body), calls),
        text_or_json(text, content),
        _read_usage(storable_usage(body.get("usage"))),
        latency_ms,
        model=printable_or_none(body.get("model")),
        request_id=request_id(response.headers),
        rate_hints=read_rate_hints(response.headers),
        tool_calls=calls,
    )


def _decide_state(text: str | None, body: dict[str, Any]) -> CompletionState:
    """A refusal before the first word comes from a filter and has a category: the prompt was blocked."""
    finish = body.get("stop_reason")
    if finish == "refusal" and not text and dict_or_empty(body.get("stop_details")).get("category"):
        return "blocked"
    return state_of(text, finish, _STATES)


def _read_usage(usage: dict[str, Any]) -> Usage:
    """The input is three disjoint sums; the output includes the thinking."""
    cached = read_tokens(usage, "cache_read_input_tokens")
    return Usage(
        read_tokens(usage, "input_tokens") + read_tokens(usage, "cache_creation_input_tokens") + cached,
        read_tokens(usage, "output_tokens"),
        cached_input_tokens=cached,
        thinking_tokens=read_tokens(usage, "output_tokens_details", "thinking_tokens"),
        raw=usage,
        is_stated=states_tokens(usage, "input_tokens", "output_tokens"),
    )
