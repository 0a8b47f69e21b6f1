"""Reads a provider's reply: the state of an answer, its tokens and its tool calls; numbers are bounded."""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from evalq.definitions.judge import BaseJudge
from evalq.errors import ProviderFault
from evalq.records import NO_USAGE, CompletionState, ToolCall, Usage

States = Mapping[str, CompletionState]

# More than any model reads or writes in one call: a greater number is not a count of tokens.
_MAX_TOKENS = 100_000_000
_MAX_USD = Decimal(1_000_000)
_MAX_DIGITS = 40
_MAX_NAME_CHARS = 200
_MAX_CALLS = 1000
_ARGUMENTS = ("arguments", "args", "input")


def read_json(data: str | bytes) -> Any:
    """The value of strict JSON; ValueError for anything else, NaN and Infinity included."""
    text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    return _DECODER.decode(text)


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _read_float(digits: str) -> float:
    """A float that JSON and Postgres can hold: `1e999` is the largest one."""
    return max(-sys.float_info.max, min(float(digits), sys.float_info.max))


def _read_int(digits: str) -> int | float:
    """An integer; one with more digits than anything counts is taken for a float."""
    return int(digits) if len(digits) <= _MAX_DIGITS else _read_float(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_read_float, parse_int=_read_int)


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
    """The text of a message: a string, or the joined texts of its parts; None if it is neither.

    Parts marked `skip` are the model's thinking, not its answer.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [part["text"] for part in content if "text" in part and not part.get(skip)]
    if not all(isinstance(text, str) for text in texts):
        return None
    return "".join(texts)


def state_of(text: str | None, finish: object, states: States) -> CompletionState:
    """The state of an answer. Silence is never an answer, whatever the provider calls it."""
    if text is None:
        return "malformed"
    if isinstance(finish, str) and finish in states:
        return states[finish]
    return "answered" if text.strip() else "empty"


def text_or_json(text: str | None, content: object) -> str:
    """The text, or for a malformed answer its content as JSON."""
    return json.dumps(content, ensure_ascii=False) if text is None else text


def dict_or_empty(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def printable_or_none(value: object) -> str | None:
    """The value if it is a short printable string, else None."""
    if isinstance(value, str) and 0 < len(value) <= _MAX_NAME_CHARS and value.isprintable():
        return value
    return None


def storable_usage(value: object) -> dict[str, Any]:
    """A provider's usage object as it came, without strings that no database can hold."""
    return {name: _storable(item) for name, item in dict_or_empty(value).items() if printable_or_none(name)}


def _storable(value: Any) -> Any:
    if isinstance(value, dict):
        return storable_usage(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, str):
        return printable_or_none(value)
    return value


def read_tokens(usage: Mapping[str, Any], *path: str) -> int:
    """A count in a provider's usage object; 0 if it is missing or not a count."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), _MAX_TOKENS)


def states_tokens(usage: Mapping[str, Any], *required: str) -> bool:
    """Whether a usage object can be believed: the required counts are there, and no count is absurd."""
    if not all(_is_count(usage.get(name)) for name in required):
        return False
    counts = [
        value
        for name, value in usage.items()
        if "token" in name.lower() and "detail" not in name.lower() and value is not None
    ]
    return all(_is_count(value) for value in counts)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS


def read_own_usage(value: object) -> Usage:
    """The usage that a system of the user's own reports, in the words of OpenAI or of Anthropic."""
    usage = storable_usage(value)
    for names in (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")):
        if states_tokens(usage, *names):
            return Usage(usage[names[0]], usage[names[1]], raw=usage)
    return replace(NO_USAGE, raw=usage)


def read_own_cost(value: object) -> Decimal | None:
    """The dollars that a system of the user's own reports; None if they cannot be true."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        usd = Decimal(str(value))
    except InvalidOperation:
        return None
    return usd if usd.is_finite() and 0 <= usd <= _MAX_USD else None


def elapsed_ms(started: float) -> int:
    """Milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000)


def read_tool_calls(found: object) -> tuple[ToolCall, ...]:
    """The tool calls among the items of a list; other items are skipped.

    OpenAI writes `function: {name, arguments: "…"}`, Anthropic `{type: tool_use, name, input}`, Google
    `functionCall: {name, args}`, other systems `{name, arguments}` or `{tool, args}`.
    """
    if not isinstance(found, list):
        return ()
    calls = [_read_tool_call(dict_or_empty(item)) for item in found[:_MAX_CALLS]]
    return tuple(call for call in calls if call is not None)


def state_with_tools(state: CompletionState, calls: tuple[ToolCall, ...]) -> CompletionState:
    """The state given its tool calls: a reply without text that asks for a tool is an answer."""
    return "answered" if calls and state == "empty" else state


def _read_tool_call(item: dict[str, Any]) -> ToolCall | None:
    for wrapper in ("function", "functionCall"):
        if isinstance(item.get(wrapper), dict):
            return _named_call(item[wrapper])
    if "text" in item or item.get("type") not in (None, "tool_use", "function"):
        return None
    return _named_call(item)


def _named_call(call: dict[str, Any]) -> ToolCall | None:
    name = printable_or_none(call.get("name") or call.get("tool"))
    return None if name is None else ToolCall(name, _read_arguments(call))


def _read_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    written: object = next((call[key] for key in _ARGUMENTS if call.get(key) is not None), {})
    if isinstance(written, str):
        try:
            written = read_json(written)
        except (ValueError, RecursionError):
            return {"text": written}  # not JSON: kept as the model wrote it
    return written if isinstance(written, dict) else {"value": written}


def read_key(judge: BaseJudge, environ: Mapping[str, str]) -> str | None:
    """A judge's key, None if it needs none; a missing one is a fatal fault that names the variable."""
    if not judge.key_name:
        return None
    return read_variable(judge.key_name, environ, wanted_by=judge.name)


def read_variable(name: str, environ: Mapping[str, str], *, wanted_by: str) -> str:
    """A secret for a header; a fatal fault if it is blank or has characters a header cannot carry."""
    value = environ.get(name, "").strip()
    if not value:
        raise ProviderFault("fatal", f"{wanted_by} has no key; set {name}")
    if not (value.isascii() and value.isprintable()):
        raise ProviderFault("fatal", f"{name} holds characters that no key has; set it again")
    return value
