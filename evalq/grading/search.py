"""Searching with regular expressions that somebody wrote in texts that somebody else did: never for long."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalq.definitions.regexes import Flag, compiled
from evalq.errors import UngradableAnswer

if TYPE_CHECKING:
    import regex

TIME_LIMIT_S = 0.5
"""Of processor time; the engine looks at its clock now and then only, so it may take half as much again."""


class Search:
    """Searches that share one time limit; a pattern that would go over it cannot be decided."""

    def __init__(self, limit_s: float = TIME_LIMIT_S) -> None:
        self._limit_s = self._left_s = limit_s

    def find(self, pattern: str, text: str, flags: Sequence[Flag] = ()) -> "regex.Match[str] | None":
        """The first place in the text that the pattern matches."""
        return self._timed(pattern, text, flags, is_whole=False)

    def is_all(self, pattern: str, text: str) -> bool:
        """True when the pattern matches the whole text."""
        return self._timed(pattern, text, (), is_whole=True) is not None

    def _timed(
        self, pattern: str, text: str, flags: Sequence[Flag], *, is_whole: bool
    ) -> "regex.Match[str] | None":
        ready = compiled(pattern, tuple(flags))
        look = ready.fullmatch if is_whole else ready.search
        started = time.thread_time()
        try:
            return look(text, timeout=max(self._left_s, 0.001))
        except TimeoutError:
            raise UngradableAnswer(
                f"the pattern {pattern[:80]!r} takes longer than {self._limit_s:g} s on this answer"
            ) from None
        finally:
            self._left_s -= time.thread_time() - started
