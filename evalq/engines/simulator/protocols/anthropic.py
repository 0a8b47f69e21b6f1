"""Anthropic's messages."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from json import dumps
from typing import Any

from evalq.engines.simulator.exchange import ModelReply, ModelRequest, text_of
from evalq.engines.simulator.profile import UNLIMITED, Fault, LimitMeter, LimitStatus
from evalq.engines.simulator.protocols.wire import error_row, retry_after

_INVALID = "invalid_request_error"
_REFUSAL = "I can't help with"
_OUTPUT_TOKENS = UNLIMITED.input_tokens

# kind: (status, type, message)
_ERRORS = {
    "400": (400, _INVALID, "thinking: Extra inputs are not permitted"),
    "temperature": (400, _INVALID, "`temperature` is not supported for this model."),
    "unreadable": (400, _INVALID, "The request body is not valid JSON."),
    "streamed": (400, _INVALID, "stream: the simulator does not stream"),
    # Out of credit is a 400 in practice, with nothing but its words to tell it from a bad request.
    "quota": (
        400,
        _INVALID,
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    "401": (401, "authentication_error", "invalid x-api-key"),
    "bad_key": (401, "authentication_error", "invalid x-api-key"),
    "402": (402, "billing_error", "There is a problem with your billing or payment information."),
    "403": (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    "404": (404, "not_found_error", "model: {model}"),
    "408": (408, "timeout_error", "Request timed out."),
    "409": (409, _INVALID, "The resource was updated by another request."),
    "413": (413, "request_too_large", "Request exceeds the maximum size"),
    "422": (422, _INVALID, "The request could not be followed."),
    "429": (429, "rate_limit_error", "This request would exceed your organization's rate limit."),
    "500": (500, "api_error", "Internal server error"),
    "503": (503, "api_error", "Service unavailable"),
    "504": (504, "timeout_error", "Gateway timeout"),
    "529": (529, "overloaded_error", "Overloaded"),
}


class Anthropic:
    """POST …/v1/messages."""

    name = "anthropic"

    def read(self, path: str, document: Mapping[str, Any]) -> ModelRequest:
        """The system prompt is a field beside the messages."""
        del path
        system = text_of(document.get("system"))
        texts = [(message["role"], text_of(message["content"])) for message in document["messages"]]
        return ModelRequest(
            model=document["model"],
            system=system,
            user=next((text for role, text in reversed(texts) if role == "user"), ""),
            prompt="\n".join([system, *(text for _, text in texts)]),
            max_tokens=document["max_tokens"],
            has_temperature=document.get("temperature") is not None,
            is_structured=bool((document.get("output_config") or {}).get("format")),
            is_streamed=bool(document.get("stream")),
        )

    def success(self, asked: ModelRequest, reply: ModelReply, seq: int) -> str:
        """A message; thinking is a block of its own."""
        return (
            f'{{"id":"msg_{seq:024x}","type":"message","role":"assistant","model":{dumps(asked.model)},'
            f'"content":[{_content(reply)}],{_stop(reply)},"stop_sequence":null,"usage":{_usage(reply)}}}'
        )

    def failure(self, fault: Fault, model: str, seq: int) -> tuple[int, str]:
        """An `error` object with its type, and the request's id."""
        status, kind, message = error_row(_ERRORS, fault.kind)
        error = {"type": kind, "message": message.replace("{model}", model)}
        return status, dumps({"type": "error", "error": error, "request_id": f"req_{seq:024x}"})

    def headers(self, standing: LimitStatus, seq: int) -> str:
        """Limits as numbers, resets as moments."""
        now = int(time.time())
        limits = _unlimited(now) if standing is UNLIMITED else _limits(standing, now)
        return f"request-id: req_{seq:024x}\r\n{limits}"

    def retry_headers(self, fault: Fault) -> str:
        """Retry-After in any of its forms."""
        return retry_after(fault)


def _content(reply: ModelReply) -> str:
    text = _REFUSAL if reply.finish == "refusal" else reply.text
    if reply.finish in ("empty", "blocked"):
        return ""
    blocks = [f'{{"type":"text","text":{dumps(text)}}}'] if text else []
    if reply.thinking_tokens:
        blocks.insert(0, '{"type":"thinking","thinking":"Hm.","signature":"c2ltdWxhdGVk"}')
    return ",".join(blocks)


def _stop(reply: ModelReply) -> str:
    """A refusal of the prompt has a category, one amid the answer has none."""
    match reply.finish:
        case "blocked":
            details = '{"type":"refusal","category":"general_harms","explanation":"simulated"}'
            return f'"stop_reason":"refusal","stop_details":{details}'
        case "refusal":
            details = '{"type":"refusal","category":null,"explanation":null}'
            return f'"stop_reason":"refusal","stop_details":{details}'
        case "length":
            return '"stop_reason":"max_tokens","stop_details":null'
    return '"stop_reason":"end_turn","stop_details":null'


def _usage(reply: ModelReply) -> str:
    """`output_tokens` holds the thinking; the input is three disjoint sums."""
    return (
        f'{{"input_tokens":{reply.input_tokens},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,'
        '"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},'
        f'"output_tokens":{reply.output_tokens},'
        f'"output_tokens_details":{{"thinking_tokens":{reply.thinking_tokens}}},"service_tier":"standard"}}'
    )


def _limits(standing: LimitStatus, now: int) -> str:
    meters = {
        "requests": standing.requests,
        "tokens": standing.input_tokens,
        "input-tokens": standing.input_tokens,
        "output-tokens": _OUTPUT_TOKENS,
    }
    return "".join(_meter(f"anthropic-ratelimit-{what}", meter, now) for what, meter in meters.items())


@lru_cache(maxsize=4)  # the same for every answer within a second
def _unlimited(now: int) -> str:
    return _limits(UNLIMITED, now)


def _meter(name: str, meter: LimitMeter, now: int) -> str:
    reset = datetime.fromtimestamp(now + meter.reset_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{name}-limit: {meter.limit}\r\n{name}-remaining: {meter.remaining}\r\n{name}-reset: {reset}\r\n"
