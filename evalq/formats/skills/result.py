"""What a measurement of triggering comes to: rates per request, confusion per judge, collisions of skills."""

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Literal

from evalq.results import Share, plain

SCHEMA = "evalq.triggers/1"

CollisionKind = Literal["claimed twice", "goes elsewhere"]


@dataclass(frozen=True)
class QueryRate:
    """How often a request loaded a skill by one judge, and whether that is right.

    `passed` is None when no answer could be read; `errors` are those that could not.
    """

    skill: str
    query: str
    should_trigger: bool
    judge: str
    rate: Share
    errors: int
    passed: bool | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON, in the words of those who measure triggering elsewhere."""
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
    """One judge's requests by what they should do and what they do, over all skills or for one."""

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
    """A request that two skills claim, or that goes to another than it should, by one judge."""

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
        """4 stopped at the cap; 1 a request fails or skills collide; 3 something has no verdict; 0 fine."""
        if self.state == "capped":
            return 4
        if self.collisions or any(rate.passed is False for rate in self.rates):
            return 1
        return 3 if self.is_partial or any(rate.passed is None for rate in self.rates) else 0

    @property
    def next(self) -> str:
        """The command to go on with."""
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
