"""Asks an adapter from a test that is not a coroutine."""

import asyncio

from evalq.calling.providers import Adapter
from evalq.records import Completion, Prompt


def complete(adapter: Adapter, prompt: Prompt) -> Completion:
    """One call on a loop of its own, whose connections end with it."""
    return asyncio.run(adapter.complete(prompt))
