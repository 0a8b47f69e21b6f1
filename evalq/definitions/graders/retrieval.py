"""Graders of rankings."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from evalq.definitions.graders.expectation import is_texts
from evalq.definitions.graders.grader import Grader, Lack


class RankingGrader(Grader):
    """Holds a ranking against the ids that are relevant."""

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs at least one relevant id."""
        if is_texts(expected.get("relevant")):
            return None
        return "ranking graders need expected.relevant, a list of ids", 'add expected: {relevant: ["…"]}'


class HitAtK(RankingGrader):
    """One of `expected.relevant` is among the first k ids of the answered ranking."""

    type: Literal["hit_at_k"]
    k: int = Field(default=1, ge=1, le=1000)

    @property
    def label(self) -> str:
        """Its k is part of what it is called: a task may have several."""
        return self.name or f"hit_at_{self.k}"


class Mrr(RankingGrader):
    """One over the rank of the first relevant id; passes when it is found at all."""

    type: Literal["mrr"]
