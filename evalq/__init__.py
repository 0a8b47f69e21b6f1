"""evalq: large parallel bake-offs of language models that people can act on."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalq.api import BakeOff, bake_off

__all__ = ["BakeOff", "bake_off"]


def __getattr__(name: str) -> Any:
    """The Python API, imported when it is used: `evalq --help` must not wait for it."""
    if name in __all__:
        from evalq import api

        return getattr(api, name)
    raise AttributeError(f"module 'evalq' has no attribute {name!r}")
