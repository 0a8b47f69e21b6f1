"""Failpoints: places where a process kills itself when a test asks for it, and nothing otherwise.

`EVALQ_FAILPOINTS="after_claim=3 before_outcome@case-7"`: at the third arrival at the one, whenever that case
arrives at the other. Read once, and only where EVALQ_TESTING is 1.
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
    """Where to die: at the n-th arrival at a place, or when a case arrives there."""

    counts: dict[str, int] = field(default_factory=dict)
    cases: frozenset[tuple[str, str]] = frozenset()
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def is_reached(self, name: FailpointName, case_id: str | None) -> bool:
        """Whether this arrival is the one to die at."""
        if not (self.counts or self.cases):
            return False
        with self._lock:
            if name in self.counts:
                self.counts[name] -= 1
            return self.counts.get(name) == 0 or (name, case_id) in self.cases


def read_failpoints(environ: Mapping[str, str]) -> Failpoints:
    """The failpoints a test has set; none in earnest."""
    words = environ.get("EVALQ_FAILPOINTS", "").split() if environ.get("EVALQ_TESTING") == "1" else []
    counted = dict(word.split("=", 1) for word in words if "=" in word)
    cases = frozenset(
        (name, case) for name, _, case in (word.partition("@") for word in words if "@" in word)
    )
    for name in {*counted, *(name for name, _ in cases)}:
        if name not in get_args(FailpointName):
            raise ValueError(f"there is no failpoint {name!r}; known: {', '.join(get_args(FailpointName))}")
    return Failpoints({name: int(count) for name, count in counted.items()}, cases)


@cache
def _here() -> Failpoints:
    return read_failpoints(os.environ)


def failpoint(name: FailpointName, case_id: str | None = None) -> None:
    """Die here if a test wants it, as by the kernel's hand: no handler runs, nothing is flushed."""
    if _here().is_reached(name, case_id):
        os.kill(os.getpid(), signal.SIGKILL)
