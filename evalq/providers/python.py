"""A Python callable as a judge: `module:function`, given the case's inputs, returning the answer."""

import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from evalq.definitions.judge import PythonJudge
from evalq.errors import ProviderFault
from evalq.providers.tools import tool_calls
from evalq.records import Completion, CompletionState, Prompt, ToolCall


class PythonAdapter:
    """Calls the function in this process."""

    def __init__(self, judge: PythonJudge, environ: Mapping[str, str]) -> None:
        del environ  # a function of the user's reads its own environment
        self._function = _load(judge.callable)
        self._name = judge.callable

    def complete(self, prompt: Prompt) -> Completion:
        """The function's return value: text as it is, anything else as JSON, None as no answer.

        A mapping of `answer` and `tool_calls` alone is both.
        """
        started = time.perf_counter()
        try:
            value, calls = _apart(self._function(dict(prompt.about.inputs)))
            text = _text(value)
        except (Exception, SystemExit) as exc:  # a function that ends its program must not end a worker
            raise ProviderFault("permanent", f"{self._name} raised {type(exc).__name__}") from exc
        latency_ms = round((time.perf_counter() - started) * 1000)
        state: CompletionState = "answered" if text.strip() or calls else "empty"
        return Completion(state, text, latency_ms=latency_ms, model=self._name, tool_calls=calls)


def _apart(value: Any) -> tuple[Any, tuple[ToolCall, ...]]:
    if isinstance(value, dict) and set(value) == {"answer", "tool_calls"}:
        return value["answer"], tool_calls(value["tool_calls"])
    return value, ()


def _text(value: Any) -> str:
    if value is None:  # forgotten, perhaps: never the word "null", which would be marked as an answer
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _load(name: str) -> Callable[[dict[str, Any]], Any]:
    module, function = name.split(":")
    try:
        found = getattr(import_module(module), function)
    except (Exception, SystemExit) as exc:  # importing runs the user's module
        raise ProviderFault("fatal", f"cannot import {name}: {exc}; is it on PYTHONPATH?") from exc
    if not callable(found):
        raise ProviderFault("fatal", f"{name} is not callable")
    return found  # type: ignore[no-any-return]
