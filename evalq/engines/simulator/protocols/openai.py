"""OpenAI's chat completions, which xAI and most local servers speak too."""

import time
from collections.abc import Mapping
from json import dumps
from typing import Any

from evalq.engines.simulator.exchange import ModelReply, ModelRequest, text_of
from evalq.engines.simulator.profile import UNLIMITED, Fault, LimitStatus
from evalq.engines.simulator.protocols.wire import error_row, retry_after

_REFUSAL = "I'm sorry, but I can't help with that."
_INVALID = "invalid_request_error"

# kind: (status, type, param, code, message)
_ERRORS: dict[str, tuple[int, str, str | None, str | None, str]] = {
    "400": (
        400,
        _INVALID,
        "max_tokens",
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    ),
    "temperature": (
        400,
        _INVALID,
        "temperature",
        "unsupported_value",
        "Unsupported value: 'temperature' does not support this value with this model. "
        "Only the default (1) value is supported.",
    ),
    "unreadable": (400, _INVALID, None, None, "We could not parse the JSON body of your request."),
    "streamed": (400, _INVALID, "stream", "unsupported_value", "The simulator does not stream."),
    "401": (401, _INVALID, None, "invalid_api_key", "Incorrect API key provided: simulated."),
    "bad_key": (401, _INVALID, None, "invalid_api_key", "Incorrect API key provided: simulated."),
    "402": (402, "billing_error", None, "billing_not_active", "Your account is not active."),
    "403": (403, _INVALID, None, "unsupported_country_region_territory", "Country not supported."),
    "404": (
        404,
        _INVALID,
        None,
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    "408": (408, "timeout", None, None, "Request timed out."),
    "409": (409, _INVALID, None, "conflict", "The resource was updated by another request."),
    "413": (413, _INVALID, None, None, "Request body is too large."),
    "422": (422, _INVALID, None, None, "The request could not be followed."),
    "429": (
        429,
        "requests",
        None,
        "rate_limit_exceeded",
        "Rate limit reached for {model} in organization org-simulated on requests per min (RPM).",
    ),
    "quota": (
        429,
        "insufficient_quota",
        None,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "500": (500, "server_error", None, None, "The server had an error while processing your request."),
    "503": (503, "service_unavailable_error", None, None, "The engine is currently overloaded."),
    "504": (504, "server_error", None, None, "The upstream did not answer in time."),
    "529": (529, "server_error", None, None, "The engine is currently overloaded."),
}


class OpenAI:
    """POST …/chat/completions."""

    name = "openai"

    def read(self, path: str, document: Mapping[str, Any]) -> ModelRequest:
        """The messages by role; the newer of the two names of the output limit wins."""
        del path
        messages = document["messages"]
        texts = [(message["role"], text_of(message["content"])) for message in messages]
        return ModelRequest(
            model=document["model"],
            system="\n".join(text for role, text in texts if role in ("system", "developer")),
            user=next((text for role, text in reversed(texts) if role == "user"), ""),
            prompt="\n".join(text for _, text in texts),
            max_tokens=document.get("max_completion_tokens") or document.get("max_tokens"),
            has_temperature=document.get("temperature") is not None,
            is_structured=(document.get("response_format") or {}).get("type") == "json_schema",
            is_streamed=bool(document.get("stream")),
        )

    def success(self, asked: ModelRequest, reply: ModelReply, seq: int) -> str:
        """A chat.completion."""
        return (
            f'{{"id":"chatcmpl-{seq:024x}","object":"chat.completion","created":{int(time.time())},'
            f'"model":{dumps(asked.model)},"choices":[{_choice(reply)}],"usage":{_usage(reply)},'
            '"service_tier":"default","system_fingerprint":null}'
        )

    def failure(self, fault: Fault, model: str, seq: int) -> tuple[int, str]:
        """An `error` object with type, param and code."""
        del seq
        status, kind, param, code, message = error_row(_ERRORS, fault.kind)
        error = {"message": message.replace("{model}", model), "type": kind, "param": param, "code": code}
        return status, dumps({"error": error})

    def headers(self, standing: LimitStatus, seq: int) -> str:
        """Limits as numbers, resets as durations like 6m0s."""
        limits = _UNLIMITED if standing is UNLIMITED else _limits(standing)
        return f"x-request-id: req_{seq:032x}\r\n{limits}"

    def retry_headers(self, fault: Fault) -> str:
        """Retry-After in any of its forms."""
        return retry_after(fault)


def duration(seconds: float) -> str:
    """As Go writes it: 12ms, 1.5s, 6m0s."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"


def _choice(reply: ModelReply) -> str:
    content, refusal, finish = dumps(reply.text), "null", "stop"
    match reply.finish:
        case "empty":
            return ""
        case "blocked":
            content, finish = "null", "content_filter"
        case "refusal":
            content, refusal = "null", dumps(_REFUSAL)
        case "length":
            finish = "length"
    return (
        f'{{"index":0,"message":{{"role":"assistant","content":{content},"refusal":{refusal},'
        f'"annotations":[]}},"logprobs":null,"finish_reason":"{finish}"}}'
    )


def _usage(reply: ModelReply) -> str:
    """`completion_tokens` holds the reasoning tokens."""
    return (
        f'{{"prompt_tokens":{reply.input_tokens},"completion_tokens":{reply.output_tokens},'
        f'"total_tokens":{reply.input_tokens + reply.output_tokens},'
        '"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},'
        f'"completion_tokens_details":{{"reasoning_tokens":{reply.thinking_tokens},"audio_tokens":0,'
        '"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}'
    )


def _limits(standing: LimitStatus) -> str:
    lines = (
        f"x-ratelimit-limit-{what}: {meter.limit}\r\n"
        f"x-ratelimit-remaining-{what}: {meter.remaining}\r\n"
        f"x-ratelimit-reset-{what}: {duration(meter.reset_s)}\r\n"
        for what, meter in (("requests", standing.requests), ("tokens", standing.input_tokens))
    )
    return "".join(lines)


_UNLIMITED = _limits(UNLIMITED)
