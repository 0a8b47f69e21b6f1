"""Tells misspelt keys, which are errors, from keys that evalq does not know, which are losses."""

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches

from evalq.definitions.definition import limit_problems
from evalq.errors import InputError, Problem
from evalq.formats.document import Node

_CLOSE = 0.85
_OWN_PREFIXES = (".", "_", "x-", "$")
"""Of keys that a file may have for itself: anchors, comments, schemas."""


def guess_key(key: str, known: Collection[str]) -> str | None:
    """Return the known key that was probably meant: `should_triger`, `shouldTrigger`, `asserts`."""
    plain = _strip_style(key)
    for name in known:
        if _strip_style(name) == plain:
            return name
    return next(iter(get_close_matches(key, known, n=1, cutoff=_CLOSE)), None)


def _strip_style(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


@dataclass
class KeyFindings:
    """The misspelt and the unknown keys of a document, each once, in the order found."""

    misspelt: dict[Problem, None] = field(default_factory=dict)
    unknown: dict[Problem, None] = field(default_factory=dict)

    def check(self, node: Node | None, known: Collection[str], *, lists_unknown: bool = True) -> None:
        """Look at the keys of a mapping; anything else has none."""
        if node is None or not isinstance(node.value, dict):
            return
        for key in node.value:
            if isinstance(key, str) and key not in known and not key.startswith(_OWN_PREFIXES):
                self._add(key, node, known, lists_unknown=lists_unknown)

    def _add(self, key: str, node: Node, known: Collection[str], *, lists_unknown: bool) -> None:
        line = node.located.line_of((*node.loc, key)) or node.line
        guess = guess_key(key, known)
        shown = key[:60]
        if guess is not None:
            self.misspelt[Problem(f"unknown key {shown!r}", f"write {guess}", node.file, line)] = None
        elif lists_unknown:
            self.unknown[Problem(f"{shown} is not taken over", "", node.file, line)] = None

    def refuse_misspelt(self) -> None:
        """Raise InputError if any key is misspelt."""
        if self.misspelt:
            raise InputError(*limit_problems(list(self.misspelt)))


def list_nodes(owner: Node | None, *keys: str) -> list[Node]:
    """Return the entries of every list under these keys; what is not a list is left to its reader."""
    found: list[Node] = []
    for key in keys:
        inner = owner.get(key) if owner else None
        if inner is not None and isinstance(inner.value, list):
            found += inner.items()
    return found
