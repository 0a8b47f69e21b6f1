"""Gemini models, through Google's SDK."""

import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic import ValidationError

from evalq.calling.providers.faults import FaultsOf, Party, refuse_error_body
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
from evalq.calling.providers.request_bodies import build_body, google_contents
from evalq.calling.providers.transport import call_headers, client
from evalq.definitions.judge import GoogleJudge
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, CompletionState, Prompt, Usage

if TYPE_CHECKING:
    from google import genai
    from google.genai.types import GenerateContentConfig

_URL = "https://generativelanguage.googleapis.com"
_BLOCKED = "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII OTHER"
_STATES: States = {
    "MAX_TOKENS": "truncated",
    "CONTINUATION": "truncated",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    **dict.fromkeys(_BLOCKED.split(), "blocked"),
}
_lock = threading.Lock()


class GoogleAdapter:
    """Asks generateContent for the raw reply: the SDK's own reading of it costs more than the call."""

    def __init__(self, judge: GoogleJudge, environ: Mapping[str, str]) -> None:
        key = read_key(judge, environ)
        self._judge = judge
        self._party = Party("google", judge.key_name, (key,) if key else ())
        with _lock:
            self._client = _sdk_client(key, judge.base_url or _URL, round(judge.deadline_s * 1000))
        self._check_params()

    async def complete(self, prompt: Prompt) -> Completion:
        """One candidate."""
        with FaultsOf(self._party, prompt):
            config = _build_config(build_body(self._judge, prompt), call_headers(prompt))
            started = time.perf_counter()
            response = await self._client.aio.models.generate_content(
                model=self._judge.model, contents=google_contents(prompt), config=config
            )
            latency_ms = elapsed_ms(started)
            raw = response.sdk_http_response
            reply = (raw and raw.body) or ""
            refuse_error_body(httpx2.Response(200, text=reply), self._party, prompt)
            return read_candidates(reply, latency_ms)

    def _check_params(self) -> None:
        try:
            _build_config(build_body(self._judge, Prompt("", "", 1, CaseContext("", ""))), {})
        except ValidationError as exc:
            names = ", ".join(".".join(map(str, error["loc"])) for error in exc.errors())
            message = f"{self._judge.name} has params that Google's SDK does not take: {names}"
            raise ProviderFault("fatal", message) from None


@lru_cache(maxsize=64)
def _sdk_client(key: str | None, base_url: str, timeout_ms: int) -> "genai.Client":
    """Shared by judges: making one reads the system's certificates, although they are not used here.

    Its synchronous half is never used; without a client it would read them once more.
    """
    from google import genai
    from google.genai import types

    options = types.HttpOptions(
        base_url=base_url,
        timeout=timeout_ms,
        httpx_client=httpx2.Client(transport=httpx2.BaseTransport()),
        httpx_async_client=client,
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key=key, vertexai=False, http_options=options)


def _build_config(fields: dict[str, Any], headers: Mapping[str, str]) -> "GenerateContentConfig":
    """The SDK's config, without automatic continuations and function calls, which would be paid for."""
    from google.genai import types

    config: dict[str, Any] = {
        "automatic_continuation": False,
        "automatic_function_calling": {"disable": True},
    }
    if headers:
        config["http_options"] = {"headers": dict(headers)}
    return types.GenerateContentConfig(**config | fields | {"should_return_http_response": True})


def read_candidates(reply: str, latency_ms: int) -> Completion:
    """The completion in an answer of 200; ValueError, TypeError or KeyError if there is none."""
    body = read_object(reply)
    state, text = _read_answer(body)
    calls = read_tool_calls(_first_parts(body))
    return Completion(
        state_with_tools(state, calls),
        text,
        _read_usage(storable_usage(body.get("usageMetadata"))),
        latency_ms,
        model=printable_or_none(body.get("modelVersion")),
        request_id=printable_or_none(body.get("responseId")),
        tool_calls=calls,
    )


def _first_parts(body: dict[str, Any]) -> object:
    """The parts of the first candidate, if it has any."""
    candidates = body.get("candidates")
    if not isinstance(candidates, list) or not candidates:
        return None
    content = dict_or_empty(candidates[0]).get("content")
    return dict_or_empty(content).get("parts")


def _read_answer(body: dict[str, Any]) -> tuple[CompletionState, str]:
    if dict_or_empty(body.get("promptFeedback")).get("blockReason"):
        return "blocked", ""
    if "candidates" not in body and "usageMetadata" in body:
        return "empty", ""  # an empty list is left out on the wire; the usage shows that this is a reply
    candidates = read_list(body, "candidates")
    if not candidates:
        return "empty", ""
    parts = _first_parts(body)
    text = join_text(parts, skip="thought")
    return state_of(text, dict_or_empty(candidates[0]).get("finishReason"), _STATES), text_or_json(
        text, parts
    )


def _read_usage(usage: dict[str, Any]) -> Usage:
    """Thoughts are billed as output beside the candidates; what a tool read is input."""
    thinking = read_tokens(usage, "thoughtsTokenCount")
    return Usage(
        read_tokens(usage, "promptTokenCount") + read_tokens(usage, "toolUsePromptTokenCount"),
        read_tokens(usage, "candidatesTokenCount") + thinking,
        cached_input_tokens=read_tokens(usage, "cachedContentTokenCount"),
        thinking_tokens=thinking,
        raw=usage,
        is_stated=states_tokens(usage, "promptTokenCount"),
    )
