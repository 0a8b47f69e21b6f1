"""Takes the keys of a call out of whatever is kept of its reply: a server may send back what it was sent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalq.definitions.judge import CommandJudge, HttpJudge, JudgeConfig, PythonJudge
from evalq.errors import ProviderFault
from evalq.records import Completion, Prompt, ToolCall

if TYPE_CHECKING:
    from evalq.calling.providers import Adapter

_SHORTEST_SECRET = 8
"""Shorter values are words, and would be taken out of honest answers."""

_SECRET_SIGNS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
"""In the name of a variable whose value must not be kept."""


class ScrubbingAdapter:
    """An adapter whose answers and faults hold no key: each is replaced by its variable's name."""

    def __init__(self, adapter: "Adapter", secrets: Mapping[str, str]) -> None:
        self._adapter = adapter
        self._secrets = secrets

    async def complete(self, prompt: Prompt) -> Completion:
        """One call of the inner adapter."""
        try:
            return self._clean_completion(await self._adapter.complete(prompt))
        except ProviderFault as fault:
            fault.request_id = self._clean(fault.request_id)
            message = self._clean(fault.message)
            if message == fault.message:
                raise
            raise ProviderFault(
                fault.kind, message, retry_after_s=fault.retry_after_s, request_id=fault.request_id
            ) from None

    def _clean_completion(self, found: Completion) -> Completion:
        calls = tuple(
            ToolCall(self._clean(call.name), self._clean(dict(call.arguments))) for call in found.tool_calls
        )
        return replace(
            found,
            text=self._clean(found.text),
            model=self._clean(found.model),
            request_id=self._clean(found.request_id),
            tool_calls=calls,
        )

    def _clean(self, value: Any) -> Any:
        """The value without keys, in every text inside it."""
        if isinstance(value, str):
            for name, secret in self._secrets.items():
                value = value.replace(secret, f"[{name}]")
            return value
        if isinstance(value, Mapping):
            return {self._clean(name): self._clean(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        return value


def find_secrets(judge: JudgeConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """The values that a judge's calls carry and nobody may read, by their variables; the longest first."""
    names = {judge.key_name or ""}
    if isinstance(judge, HttpJudge):
        names |= {*judge.headers_env.values(), *judge.variables_env.values()}
    if isinstance(judge, CommandJudge | PythonJudge):  # they may read, and then print, the whole environment
        names |= {name for name in environ if any(sign in name.upper() for sign in _SECRET_SIGNS)}
    found = {name: environ.get(name, "").strip() for name in names}
    kept = {name: value for name, value in found.items() if len(value) >= _SHORTEST_SECRET}
    return dict(sorted(kept.items(), key=lambda item: -len(item[1])))
