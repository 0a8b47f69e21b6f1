"""Failpoints: places where a process kills itself when a test asks for it.

`EVALQ_FAILPOINTS="after_claim=3 before_outcome@case-7"` kills at the third arrival at the first place, and
whenever that case arrives at the second. Read once, and only if EVALQ_TESTING is 1.
"""

import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

FailpointName = Literal[
    "before_claim",
    "after_claim",
    "before_send",
    "after_send",
    "after_answer",
    "before_outcome",
    "conclude_before_commit",
    "conclude_after_commit",
]


@dataclass
class Failpoints:
    """Where to die: at the n-th arrival at a place, or whenever a certain case arrives there."""

    counts: dict[str, int] = field(default_factory=dict)
    cases: frozenset[tuple[str, str]] = frozenset()
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def is_reached(self, name: FailpointName, case_id: str | None) -> bool:
        """Whether to die at this arrival."""
        if not (self.counts or self.cases):
            return False
        with self._lock:
            if name in self.counts:
                self.counts[name] -= 1
            return self.counts.get(name) == 0 or (name, case_id) in self.cases


def read_failpoints(environ: Mapping[str, str]) -> Failpoints:
    """The failpoints a test has set; none outside tests."""
    counts: dict[str, int] = {}
    cases: set[tuple[str, str]] = set()
    words = environ.get("EVALQ_FAILPOINTS", "").split()
    for word in words if environ.get("EVALQ_TESTING") == "1" else ():
        if "=" in word:
            name, _, count = word.partition("=")
            counts[name] = int(count)
        else:
            name, _, case = word.partition("@")
            cases.add((name, case))
        if name not in get_args(FailpointName):
            raise ValueError(f"there is no failpoint {name!r}; known: {', '.join(get_args(FailpointName))}")
    return Failpoints(counts, frozenset(cases))


def failpoint(name: FailpointName, case_id: str | None = None) -> None:
    """Die here if a test asks for it, as if killed by the kernel: no handler runs, nothing is flushed."""
    if _failpoints_of_process().is_reached(name, case_id):
        os.kill(os.getpid(), signal.SIGKILL)


@cache
def _failpoints_of_process() -> Failpoints:
    return read_failpoints(os.environ)
