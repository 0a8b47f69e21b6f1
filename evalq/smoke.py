"""A smoke test: one call per judge through the fleet, with everything that came back."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalq.bakeoff import Request, drain, follow, prepare, start
from evalq.broker import Broker
from evalq.definitions.lookup import is_draft_set, list_evalsets
from evalq.errors import InputError, Problem
from evalq.gates import Gate, read_gates
from evalq.holdout import is_holdout
from evalq.results import Progress
from evalq.session import Session, open_session
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Row


@dataclass(frozen=True)
class Smoke:
    """What one judge's call came to."""

    judge: str
    ok: bool
    answer: str
    fault: str | None
    latency_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: str
    limits: dict[str, float]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    def line(self) -> str:
        """On one line."""
        if not self.ok:
            return self.fault or "no answer"
        limits = " ".join(f"{name}={value:g}" for name, value in self.limits.items() if value)
        tokens = f"{self.input_tokens}+{self.output_tokens} tokens"
        return f"{self.latency_ms} ms, {tokens}, ${self.cost_usd}" + (f", limits {limits}" if limits else "")


def smoke_test(
    settings: Settings,
    root: Path,
    *,
    task: str,
    eval_set: str | None,
    judges: Sequence[str],
    cap_usd: Decimal,
    allow_unpriced: bool,
) -> list[Smoke]:
    """Run the first case once per judge and look at what came back."""
    request = Request(
        task, eval_set or _first_set(task, root), judges, allow_unpriced=allow_unpriced, only_first_case=True
    )
    plan = prepare(request, settings, root)
    with open_session(settings, fleet=True) as session:
        broker = session.broker()
        bakeoff_id = start(session, broker, plan, cap_usd=cap_usd, root=root, run_type="smoke")
        follow(session, broker, bakeoff_id, show=_ignore, is_interrupted=lambda: False)
        drain(session.db, bakeoff_id, show=_ignore)
        return _findings(session, broker, bakeoff_id, settings)


def _first_set(task: str, root: Path) -> str:
    name = Path(task).stem if task.endswith((".yaml", ".yml", ".json")) else task
    sets = [found for found in list_evalsets(name, root) if not is_holdout(found)]
    if not sets:
        raise InputError(
            Problem(f"task {task!r} has no evalset to take a case from", "name one with --eval-set")
        )
    # What was drafted last week is nobody's usual set.
    return min(sets, key=is_draft_set)


def _findings(session: Session, broker: Broker, bakeoff_id: int, settings: Settings) -> list[Smoke]:
    gates = {gate.name: gate for gate in read_gates(broker, settings)}
    answers = {row["judge"]: row for row in session.db.rows("smoke_answers", bakeoff_id=bakeoff_id)}
    return [
        _smoke(run.judge, answers[run.judge], run.pause_reason, gates.get(run.gate))
        for run in bakeoffs.runs(session.db, bakeoff_id)
    ]


def _smoke(judge: str, row: Row, pause_reason: str | None, gate: Gate | None) -> Smoke:
    is_answer = row["completion_state"] == "answered"
    state = f"the answer is {row['completion_state']}" if row["completion_state"] else row["message"]
    return Smoke(
        judge=judge,
        ok=is_answer,
        answer=row["answer"] or "",
        fault=None if is_answer else pause_reason or state or "no answer yet",
        latency_ms=row["latency_ms"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost_usd=f"{row['cost_usd'] or 0:.6f}",
        limits=gate.limit if gate else {},
    )


def _ignore(progress: Progress) -> None:
    del progress
