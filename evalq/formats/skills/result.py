"""The result of measuring triggers: rates per request, confusion per judge, collisions of skills."""

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Literal

from evalq.results import Share, plain

SCHEMA = "evalq.triggers/1"

CollisionKind = Literal["claimed twice", "goes elsewhere"]


@dataclass(frozen=True)
class QueryRate:
    """How often one judge would load a skill for a request, and whether that is right.

    `passed` is None if no answer could be read; `errors` counts the unreadable answers.
    """

    skill: str
    query: str
    should_trigger: bool
    judge: str
    rate: Share
    errors: int
    passed: bool | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON, with the field names of run_eval.py."""
        return {
            "skill": self.skill,
            "query": self.query,
            "should_trigger": self.should_trigger,
            "judge": self.judge,
            "trigger_rate": self.rate.rate,
            "triggers": self.rate.k,
            "runs": self.rate.n,
            "errors": self.errors,
            "ci_low": self.rate.ci_low,
            "ci_high": self.rate.ci_high,
            "pass": self.passed,
        }


@dataclass(frozen=True)
class Confusion:
    """One judge's requests, expected against actual, over all skills or for one."""

    judge: str
    skill: str | None
    tp: int
    fp: int
    fn: int
    tn: int
    precision: Share
    recall: Share
    accuracy: Share


@dataclass(frozen=True)
class Collision:
    """A request that two skills claim, or that one judge gives to the wrong skill."""

    query: str
    judge: str
    kind: CollisionKind
    should_go_to: tuple[str, ...]
    claimed_by: tuple[str, ...]
    picked: dict[str, int]


@dataclass(frozen=True)
class TriggersResult:
    """The whole measurement."""

    bakeoff_id: int
    state: str
    is_partial: bool
    runs: int
    threshold: float
    skills: tuple[tuple[str, str], ...]
    rates: tuple[QueryRate, ...]
    confusion: tuple[Confusion, ...]
    collisions: tuple[Collision, ...]
    spent_usd: Decimal

    @property
    def exit_code(self) -> int:
        """4 stopped at the cap; 1 a request fails or skills collide; 3 no verdict for some; 0 all right."""
        if self.state == "capped":
            return 4
        if self.collisions or any(rate.passed is False for rate in self.rates):
            return 1
        return 3 if self.is_partial or any(rate.passed is None for rate in self.rates) else 0

    @property
    def next(self) -> str:
        """The next command to run."""
        return f"evalq inspect {self.bakeoff_id} --show-failures"

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.triggers/1` document."""
        passed = [rate.passed for rate in self.rates]
        return {
            "schema": SCHEMA,
            "bakeoff_id": self.bakeoff_id,
            "state": self.state,
            "partial": self.is_partial,
            "runs_per_query": self.runs,
            "threshold": self.threshold,
            "skills": [{"name": name, "description": description} for name, description in self.skills],
            "results": [rate.to_dict() for rate in self.rates],
            "summary": {
                "total": len(passed),
                "passed": passed.count(True),
                "failed": passed.count(False),
                "errored": passed.count(None),
            },
            "confusion": [plain(asdict(one)) for one in self.confusion],
            "collisions": [plain(asdict(one)) for one in self.collisions],
            "spent_usd": plain(self.spent_usd),
            "next": [self.next],
        }
