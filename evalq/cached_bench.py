"""A bench that asks nobody: grader models answer from the verdict cache, or not at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from evalq.definitions.judge import JudgeConfig
from evalq.errors import UngradableAnswer
from evalq.pricing import estimate_usd
from evalq.records import Prompt
from evalq.sandbox.program import Program, ProgramRun
from evalq.store.database import Database
from evalq.verdict_cache import verdict_key

Read = TypeVar("Read")

UNASKED = "not in the verdict cache"
UNRUN = "code is run by the fleet only"


@dataclass
class CachedBench:
    """Counts what it finds, and what would have to be asked and for how much."""

    db: Database
    graders: Mapping[str, JudgeConfig]
    opponents: Mapping[str, str]
    found: int = 0
    missing: int = 0
    missing_usd: Decimal = Decimal(0)

    def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        """The stored reply; a missing one is counted and leaves the grade undecided."""
        grader = self.graders.get(model or "")
        if grader is None:
            raise UngradableAnswer(f"the bake-off has no grader model {model or ''}".rstrip())
        hit = self.db.row("peek_verdict", key=verdict_key(prompt, grader))
        if hit is None:
            self.missing += 1
            self.missing_usd += estimate_usd(grader, prompt)
            raise UngradableAnswer(UNASKED)
        self.found += 1
        return read(hit["verdict"])

    def run(self, program: Program) -> ProgramRun:
        """Code is for workers: nothing is run here."""
        del program
        raise UngradableAnswer(UNRUN)

    def answer_of(self, judge: str) -> str:
        """What another judge said to the same case."""
        if judge not in self.opponents:
            raise UngradableAnswer(f"{judge} has no answer to compare with")
        return self.opponents[judge]
