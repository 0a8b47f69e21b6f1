"""Reading the tools a judge asked for, as each provider writes them down."""

import json
from collections.abc import Mapping
from typing import Any

from evalq.providers.reading import a_name, an_object
from evalq.records import CompletionState, ToolCall

_ARGUMENTS = ("arguments", "args", "input")
_MOST_CALLS = 1000


def tool_calls(found: object) -> tuple[ToolCall, ...]:
    """The tool calls in a list of them or of parts of an answer; what is none is passed over.

    OpenAI writes `function: {name, arguments: "…"}`, Anthropic `{type: tool_use, name, input}`, Google
    `functionCall: {name, args}`, a system of one's own `{name, arguments}` or `{tool, args}`.
    """
    items = found[:_MOST_CALLS] if isinstance(found, list) else []
    return tuple(call for item in items if (call := _tool_call(an_object(item))) is not None)


def state_with_tools(state: CompletionState, calls: tuple[ToolCall, ...]) -> CompletionState:
    """An answer without words that asks for a tool is an answer."""
    return "answered" if calls and state == "empty" else state


def _tool_call(item: dict[str, Any]) -> ToolCall | None:
    inner = next((item[key] for key in ("function", "functionCall") if isinstance(item.get(key), dict)), item)
    name = a_name(inner.get("name") or inner.get("tool"))
    is_text = inner is item and ("text" in item or item.get("type") not in (None, "tool_use", "function"))
    return None if name is None or is_text else ToolCall(name, _arguments(inner))


def _arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    written: object = next((call[key] for key in _ARGUMENTS if call.get(key) is not None), {})
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            return {"text": written}  # not JSON: kept as the model wrote it
    return written if isinstance(written, dict) else {"value": written}
