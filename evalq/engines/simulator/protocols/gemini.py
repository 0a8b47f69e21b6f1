"""Gemini's generateContent."""

import re
from collections.abc import Mapping
from json import dumps
from typing import Any
from urllib.parse import unquote

from evalq.engines.simulator.exchange import ModelReply, ModelRequest, text_of
from evalq.engines.simulator.profile import Fault, LimitStatus
from evalq.engines.simulator.protocols.wire import error_row

_MODEL = re.compile(r"/models/([^/]+):generateContent$")
_INVALID = "INVALID_ARGUMENT"
_EXHAUSTED = "RESOURCE_EXHAUSTED"
_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
_TYPE = "type.googleapis.com/google.rpc."

# kind: (status, its name, message)
_ERRORS = {
    "400": (400, _INVALID, 'Invalid JSON payload received. Unknown name "thinkingBudget".'),
    "temperature": (400, _INVALID, "Temperature is not supported by this model."),
    "unreadable": (400, _INVALID, "Invalid JSON payload received."),
    "bad_key": (400, _INVALID, "API key not valid. Please pass a valid API key."),
    "401": (401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
    "402": (402, "FAILED_PRECONDITION", "Billing is not enabled for this project."),
    "403": (403, "PERMISSION_DENIED", "The caller does not have permission"),
    "404": (404, "NOT_FOUND", "models/{model} is not found for API version v1beta"),
    "408": (408, "DEADLINE_EXCEEDED", "The request timed out."),
    "409": (409, "ABORTED", "The operation was aborted."),
    "413": (413, _INVALID, "Request payload size exceeds the limit"),
    "422": (422, _INVALID, "The request could not be followed."),
    "429": (429, _EXHAUSTED, "You exceeded your current quota, please check your plan and billing details."),
    "quota": (
        429,
        _EXHAUSTED,
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "500": (500, "INTERNAL", "An internal error has occurred. Please retry."),
    "503": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "504": (504, "DEADLINE_EXCEEDED", "The request timed out. Please try again."),
    "529": (529, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}


class Gemini:
    """POST …/models/MODEL:generateContent."""

    name = "gemini"

    def read(self, path: str, document: Mapping[str, Any]) -> ModelRequest:
        """The model is in the path; contents without a role are the user's."""
        named = _MODEL.search(path)
        settings = document.get("generationConfig") or {}
        system = text_of(document.get("systemInstruction") or ())
        texts = [(one.get("role") or "user", text_of(one["parts"])) for one in document["contents"]]
        return ModelRequest(
            model=unquote(named[1]) if named else "",
            system=system,
            user=next((text for role, text in reversed(texts) if role == "user"), ""),
            prompt="\n".join([system, *(text for _, text in texts)]),
            max_tokens=settings.get("maxOutputTokens"),
            has_temperature=settings.get("temperature") is not None,
            is_structured="responseJsonSchema" in settings or "responseSchema" in settings,
        )

    def success(self, asked: ModelRequest, reply: ModelReply, seq: int) -> str:
        """Candidates, or none with the reason why the prompt was blocked."""
        return (
            f'{{{_outcome(reply)}"usageMetadata":{_usage(reply)},"modelVersion":{dumps(asked.model)},'
            f'"responseId":"sim{seq:020x}"}}'
        )

    def failure(self, fault: Fault, model: str, seq: int) -> tuple[int, str]:
        """An `error` object; when to come back is among its details."""
        del seq
        code, status, message = error_row(_ERRORS, fault.kind)
        error = {"code": code, "message": message.replace("{model}", model), "status": status}
        details = _details(fault, model)
        return code, dumps({"error": {**error, "details": details} if details else error})

    def headers(self, standing: LimitStatus, seq: int) -> str:
        """Gemini tells neither limits nor an id."""
        del standing, seq
        return ""

    def retry_headers(self, fault: Fault) -> str:
        """Nothing: it is in the body."""
        del fault
        return ""


def _outcome(reply: ModelReply) -> str:
    if reply.finish == "blocked":
        return '"promptFeedback":{"blockReason":"SAFETY"},'
    if reply.finish == "empty":
        return ""
    parts = f'"parts":[{{"text":{dumps(reply.text)}}}],' if reply.text else ""
    content = "" if reply.finish == "refusal" else f'"content":{{{parts}"role":"model"}},'
    return f'"candidates":[{{{content}"finishReason":"{_FINISH[reply.finish]}","index":0}}],'


def _usage(reply: ModelReply) -> str:
    """Candidates and thoughts are disjoint; what is 0 is left out, as protobuf's JSON does."""
    counts = {
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.answer_tokens,
        "thoughtsTokenCount": reply.thinking_tokens,
        "totalTokenCount": reply.input_tokens + reply.output_tokens,
    }
    return "{" + ",".join(f'"{name}":{count}' for name, count in counts.items() if count) + "}"


def _details(fault: Fault, model: str) -> list[dict[str, Any]]:
    match fault.kind:
        case "bad_key":
            return [
                {"@type": f"{_TYPE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"},
            ]
        case "quota":
            return [
                {"@type": f"{_TYPE}Help", "links": [{"description": "Learn more about Gemini API quotas"}]}
            ]
        case "429":
            return _retry_details(fault, model)
    return []


def _retry_details(fault: Fault, model: str) -> list[dict[str, Any]]:
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_requests",
        "quotaId": "GenerateRequestsPerMinutePerProjectPerModel",
        "quotaDimensions": {"location": "global", "model": model},
    }
    quota = {"@type": f"{_TYPE}QuotaFailure", "violations": [violation]}
    retry = {"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{fault.retry_s:g}s"}
    return [quota, retry] if fault.retry_form else [quota]
