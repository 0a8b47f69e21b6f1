"""Graders of rankings."""

from typing import Literal

from pydantic import Field

from evalq.definitions.graders.grader import Grader


class HitAtK(Grader):
    """One of `expected.relevant` is among the first k ids of the answered ranking."""

    type: Literal["hit_at_k"]
    k: int = Field(default=1, ge=1, le=1000)

    @property
    def label(self) -> str:
        """Its k is part of what it is called: a task may have several."""
        return self.name or f"hit_at_{self.k}"


class Mrr(Grader):
    """One over the rank of the first relevant id; passes when it is found at all."""

    type: Literal["mrr"]
