"""Adapters to everything that can be a judge; each is imported only when it is used."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from evalq.definitions.judge import JudgeConfig
    from evalq.records import Completion, Prompt


class Adapter(Protocol):
    """Asks one judge. Raises ProviderFault and nothing else."""

    async def complete(self, prompt: "Prompt") -> "Completion":
        """One call, no retries."""
        ...


_ADAPTERS = {
    "simulated": "evalq.calling.providers.simulated:SimulatedAdapter",
    "python": "evalq.calling.providers.local:PythonAdapter",
    "command": "evalq.calling.providers.local:CommandAdapter",
    "anthropic": "evalq.calling.providers.anthropic:AnthropicAdapter",
    "openai": "evalq.calling.providers.openai:OpenAIAdapter",
    "xai": "evalq.calling.providers.openai:OpenAIAdapter",
    "google": "evalq.calling.providers.google:GoogleAdapter",
    "http": "evalq.calling.providers.http:HttpAdapter",
}

PROVIDERS = tuple(_ADAPTERS)


def connect(judge: "JudgeConfig", environ: Mapping[str, str]) -> Adapter:
    """The adapter of a judge; keys are read from `environ`, and kept out of what it returns."""
    module, name = _ADAPTERS[judge.provider].split(":")
    make_adapter = getattr(import_module(module), name)
    adapter = cast(Adapter, make_adapter(judge, environ))
    from evalq.calling.providers.scrubbing import ScrubbingAdapter, find_secrets

    secrets = find_secrets(judge, environ)
    return ScrubbingAdapter(adapter, secrets) if secrets else adapter
