"""What the evaluation of an eva prompt comes to: every case and request, and the row that is kept of it."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from evalq.results import plain

SCHEMA = "evalq.eva/1"

Kind = Literal["case", "trigger"]
Verdict = Literal["passed", "failed", "errored", "not_run"]


@dataclass(frozen=True)
class Mark:
    """One grader's word on an answer; `passed` is None when it could not decide."""

    grader: str
    passed: bool | None
    reason: str
    score: float | None = None


@dataclass(frozen=True)
class Line:
    """One case or request: how it ended and why, and the bake-off that has its answer."""

    name: str
    kind: Kind
    verdict: Verdict
    reason: str
    line: int
    judge: str | None = None
    bakeoff_id: int | None = None
    marks: tuple[Mark, ...] = ()
    answer: str = ""
    latency_ms: int | None = None
    cost_usd: Decimal = Decimal(0)

    @property
    def passed(self) -> bool:
        """An error fails the exam, too, though it says nothing against the prompt."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class EvaResult:
    """A whole evaluation: one line that is not passed fails it."""

    prompt: str
    file: str
    lines: tuple[Line, ...]
    bakeoffs: tuple[int, ...]
    spent_usd: Decimal
    ended_at: datetime
    is_capped: bool = False

    @property
    def total(self) -> int:
        """Cases and requests asked for."""
        return len(self.lines)

    @property
    def passed(self) -> int:
        """Those that passed."""
        return sum(line.passed for line in self.lines)

    @property
    def all_passed(self) -> bool:
        """True when nothing failed, erred or was left out."""
        return self.passed == self.total

    @property
    def failed_cases(self) -> list[str]:
        """The names of the rest, whatever kept them from passing."""
        return [line.name for line in self.lines if not line.passed]

    @property
    def exit_code(self) -> int:
        """0 all passed, 4 stopped at the cap, 1 otherwise."""
        return 4 if self.is_capped else 0 if self.all_passed else 1

    @property
    def row(self) -> dict[str, Any]:
        """What `.eval.jsonl` keeps of it: these five keys and no other."""
        return {
            "ts": self.ended_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "all_passed": self.all_passed,
            "total": self.total,
            "passed": self.passed,
            "failed_cases": self.failed_cases,
        }

    @property
    def next(self) -> str:
        """The command to go on with."""
        wrong = next((line for line in self.lines if not line.passed and line.bakeoff_id), None)
        if wrong is not None:
            return f"evalq inspect {wrong.bakeoff_id} --show-failures"
        return f"evalq eva promote {self.file}"

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.eva/1` document."""
        by_kind: dict[Kind, list[Any]] = {"case": [], "trigger": []}
        for line in self.lines:
            by_kind[line.kind].append(plain(asdict(line)))
        errored = [line.name for line in self.lines if line.verdict in ("errored", "not_run")]
        return {
            "schema": SCHEMA,
            "prompt": self.prompt,
            "path": self.file,
            **self.row,
            "errored_cases": errored,
            "cases": by_kind["case"],
            "triggers": by_kind["trigger"],
            "bakeoffs": list(self.bakeoffs),
            "spent_usd": plain(self.spent_usd),
            "next": [self.next],
        }
