"""A judge's key, read from the environment and fit to be sent, or the variable to set."""

from collections.abc import Mapping

from evalq.definitions.judged import Judged
from evalq.errors import ProviderFault


def read_key(judge: Judged, environ: Mapping[str, str]) -> str | None:
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
