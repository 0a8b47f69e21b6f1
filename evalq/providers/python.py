"""A Python callable as a judge: `module:function`, given the case's inputs, returning the answer."""

import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from evalq.definitions.judge import PythonJudge
from evalq.errors import ProviderFault
from evalq.records import Completion, Prompt


class PythonAdapter:
    """Calls the function in this process."""

    def __init__(self, judge: PythonJudge, environ: Mapping[str, str]) -> None:
        del environ  # a function of the user's reads its own environment
        self._function = _load(judge.callable)
        self._name = judge.callable

    def complete(self, prompt: Prompt) -> Completion:
        """The function's return value: text as it is, anything else as JSON, None as no answer."""
        started = time.perf_counter()
        try:
            text = _text(self._function(dict(prompt.about.inputs)))
        except (Exception, SystemExit) as exc:  # a function that ends its program must not end a worker
            raise ProviderFault("permanent", f"{self._name} raised {type(exc).__name__}") from exc
        latency_ms = round((time.perf_counter() - started) * 1000)
        return Completion(
            "answered" if text.strip() else "empty", text, latency_ms=latency_ms, model=self._name
        )


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
