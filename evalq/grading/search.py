"""Regular expressions on answers, under one time limit."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalq.definitions.regexes import Flag, compile_regex
from evalq.errors import UngradableAnswer

if TYPE_CHECKING:
    import regex

TIME_LIMIT_S = 0.5
"""Processor time. The engine checks its clock only now and then, so a search may take half as much again."""


class TimedSearch:
    """Searches that share one time limit; a pattern that exceeds it makes the answer ungradable."""

    def __init__(self, limit_s: float = TIME_LIMIT_S) -> None:
        self._limit_s = self._left_s = limit_s

    def find(self, pattern: str, text: str, flags: Sequence[Flag] = ()) -> "regex.Match[str] | None":
        """The first match in the text."""
        return self._run(pattern, text, flags, is_whole=False)

    def matches_all(self, pattern: str, text: str) -> bool:
        """True when the pattern matches the whole text."""
        return self._run(pattern, text, (), is_whole=True) is not None

    def _run(
        self, pattern: str, text: str, flags: Sequence[Flag], *, is_whole: bool
    ) -> "regex.Match[str] | None":
        ready = compile_regex(pattern, tuple(flags))
        search = ready.fullmatch if is_whole else ready.search
        started = time.thread_time()
        try:
            return search(text, timeout=max(self._left_s, 0.001))
        except TimeoutError:
            raise UngradableAnswer(
                f"the pattern {pattern[:80]!r} takes longer than {self._limit_s:g} s on this answer"
            ) from None
        finally:
            self._left_s -= time.thread_time() - started
