"""Reading what a provider sent: the state of an answer, its tokens, and the limits its headers name."""

import json
import time
from collections.abc import Mapping
from typing import Any

from evalq.definitions.judge import BaseJudge
from evalq.errors import ProviderFault
from evalq.records import CompletionState, RateHints, ToolCall

States = Mapping[str, CompletionState]

_MOST_TOKENS = 2**31 - 1
_LONGEST_NAME = 200


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def read_json(data: str | bytes) -> Any:
    """Strict JSON; ValueError for anything else: paid for perhaps, but unreadable."""
    return _DECODER.decode(data.decode("utf-8-sig") if isinstance(data, bytes) else data)


def read_object(data: str | bytes) -> dict[str, Any]:
    """The JSON object of a reply; ValueError or TypeError for anything else."""
    found = read_json(data)
    if not isinstance(found, dict):
        raise TypeError("the reply is not a JSON object")
    return found


def read_list(body: Mapping[str, Any], name: str) -> list[Any]:
    """A list the protocol promises; KeyError or TypeError without it."""
    found = body[name]
    if not isinstance(found, list):
        raise TypeError(f"{name} is not a list")
    return found


def join_text(content: object, *, skip: str = "") -> str | None:
    """The text of a content: a string, or parts of which some have text; None when it is neither.

    Parts marked `skip` are the model's thinking, not its answer.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [part["text"] for part in content if "text" in part and not part.get(skip)]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def state_of(text: str | None, finish: object, states: States) -> CompletionState:
    """What became of an answer. Silence is never an answer, whatever the provider calls it."""
    if text is None:
        return "malformed"
    if isinstance(finish, str) and finish in states:
        return states[finish]
    return "answered" if text.strip() else "empty"


def text_or_json(text: str | None, content: object) -> str:
    """The text; of a malformed answer what there is of it."""
    return json.dumps(content, ensure_ascii=False) if text is None else text


def dict_or_empty(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def printable_or_none(value: object) -> str | None:
    """The value if it can stand for a model or a request, in a table or on a screen."""
    return (
        value if isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable() else None
    )


def storable_usage(value: object) -> dict[str, Any]:
    """A provider's own account of the tokens as it came, less what no database can hold."""
    return {name: _kept(item) for name, item in dict_or_empty(value).items() if printable_or_none(name)}


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return storable_usage(value)
    if isinstance(value, list):
        return [_kept(item) for item in value]
    return printable_or_none(value) if isinstance(value, str) else value


def read_tokens(usage: Mapping[str, Any], *path: str) -> int:
    """A count in a provider's account; 0 where it is silent or talks nonsense."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), _MOST_TOKENS)


def read_rate_hints(headers: Mapping[str, str], names: Mapping[str, str]) -> RateHints | None:
    """The limits a provider's headers name, per minute; None when they name none."""
    found = {
        field: int(value) for field, name in names.items() if (value := headers.get(name, "")).isdecimal()
    }
    limits = {field: value for field, value in found.items() if value > 0}
    return RateHints(**limits) if limits else None


def elapsed_ms(started: float) -> int:
    """Milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000)


_ARGUMENTS = ("arguments", "args", "input")
_MOST_CALLS = 1000


def read_tool_calls(found: object) -> tuple[ToolCall, ...]:
    """The tool calls in a list of them or of parts of an answer; what is none is passed over.

    OpenAI writes `function: {name, arguments: "…"}`, Anthropic `{type: tool_use, name, input}`, Google
    `functionCall: {name, args}`, a system of one's own `{name, arguments}` or `{tool, args}`.
    """
    items = found[:_MOST_CALLS] if isinstance(found, list) else []
    return tuple(call for item in items if (call := _tool_call(dict_or_empty(item))) is not None)


def state_with_tools(state: CompletionState, calls: tuple[ToolCall, ...]) -> CompletionState:
    """An answer without words that asks for a tool is an answer."""
    return "answered" if calls and state == "empty" else state


def _tool_call(item: dict[str, Any]) -> ToolCall | None:
    inner = next((item[key] for key in ("function", "functionCall") if isinstance(item.get(key), dict)), item)
    name = printable_or_none(inner.get("name") or inner.get("tool"))
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


def read_key(judge: BaseJudge, environ: Mapping[str, str]) -> str | None:
    """The key, None for a judge that needs none; a fatal fault that names the variable when it is missing."""
    return read_variable(judge.key_name, environ, wanted_by=judge.name) if judge.key_name else None


def read_variable(name: str, environ: Mapping[str, str], *, wanted_by: str) -> str:
    """A secret for a header: not blank, and of characters a header can carry."""
    value = environ.get(name, "").strip()
    if not value:
        raise ProviderFault("fatal", f"{wanted_by} has no key; set {name}")
    if not (value.isascii() and value.isprintable()):
        raise ProviderFault("fatal", f"{name} holds characters that no key has; set it anew")
    return value
