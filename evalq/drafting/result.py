"""What drafting comes to: which strata got how many cases, what was dropped, and what is next."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalq.definitions.evalset import EvalSet
from evalq.definitions.writing import case_fields
from evalq.drafting.asking import Question
from evalq.drafting.reading import Drafts
from evalq.errand.values import Replies

SCHEMA = "evalq.drafts/1"


@dataclass(frozen=True)
class StratumCount:
    """A stratum with how many cases it was to get and got."""

    stratum: str
    asked: int
    drafted: int


@dataclass(frozen=True)
class Drafted:
    """Cases drafted by a model; nothing is written yet."""

    task: str
    path: str
    evalset: EvalSet
    questions: tuple[Question, ...]
    drafts: Drafts
    replies: Replies

    @property
    def n_asked(self) -> int:
        """Cases wanted."""
        return sum(question.n for question in self.questions)

    @property
    def exit_code(self) -> int:
        """4 when it stopped at its cap, 3 when there are fewer cases than wanted, else 0."""
        if self.replies.state == "capped":
            return 4
        return 3 if len(self.drafts.cases) < self.n_asked else 0

    def strata(self) -> list[StratumCount]:
        """In the order they were asked for."""
        asked = Counter[str]()
        for question in self.questions:
            asked[question.stratum.name] += question.n
        drafted = Counter(case.stratum_name for case in self.drafts.cases)
        return [StratumCount(name or "all", n, drafted[name]) for name, n in asked.items()]

    def document(self, *, written: bool, next_commands: Sequence[str]) -> dict[str, Any]:
        """The `evalq.drafts/1` document."""
        return {
            "schema": SCHEMA,
            "task": self.task,
            "eval_set": self.evalset.name,
            "path": self.path,
            "judge": self.replies.judge,
            "bakeoff_id": self.replies.bakeoff_id,
            "state": self.replies.state,
            "spent_usd": f"{self.replies.spent_usd:.4f}",
            "kept": self.replies.is_kept,
            "asked": self.n_asked,
            "drafted": len(self.drafts.cases),
            "strata": [asdict(one) for one in self.strata()],
            "dropped": [asdict(one) for one in self.drafts.dropped],
            "cases": [case_fields(case) for case in self.drafts.cases],
            "written": written,
            "next": list(next_commands),
        }
