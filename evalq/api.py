"""The Python API: `evalq.bake_off(...)` runs a bake-off and returns its result."""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalq.bakeoff import holdout
from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.follow import follow_to_end, show_nothing
from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan, own_graders
from evalq.bakeoff.request import Request
from evalq.definitions.money import read_usd
from evalq.definitions.task import ScorerMode
from evalq.engines.session import open_session
from evalq.errors import InputError, Problem
from evalq.formats import prepare
from evalq.results import BakeOffResult, Progress, RunResult
from evalq.settings import load_settings, project_root


@dataclass(frozen=True)
class BakeOff:
    """A bake-off that has ended."""

    result: BakeOffResult

    @property
    def id(self) -> int:
        """Its number, for `evalq inspect`."""
        return self.result.id

    @property
    def state(self) -> str:
        """How it ended: concluded, or capped."""
        return self.result.state

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """One per judge, best first, excluded judges last."""
        return self.result.runs

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.bakeoff/1` document."""
        return self.result.to_dict()

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dictionary per judge, ready for a data frame."""
        return [self._to_row(run) for run in self.runs]

    def _to_row(self, run: RunResult) -> dict[str, Any]:
        nested = {"errors", "per_stratum", "metrics", "macro", "pass_k"}
        return {
            "bakeoff_id": self.id,
            "task": self.result.task,
            "eval_set": self.result.eval_set,
            **{name: value for name, value in asdict(run).items() if name not in nested},
            **{name: rate.accuracy for name, rate in run.metrics.items()},
        }


def bake_off(
    *,
    task: str = "",
    eval_set: str,
    judges: Sequence[str] = (),
    scorer: ScorerMode | None = None,
    grader_model: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    max_cost_usd: Decimal | float | str | None = None,
    final_decision: bool = False,
    notes: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> BakeOff:
    """Run judges on a task and compare them; returns when the last answer is graded.

    An `eval_set` in another format, such as a path to an EVAL.yaml, needs no task. Without `samples` each
    case is answered once, or as often as such a file says.

    Plain and synchronous: usable in a notebook, with or without a running event loop. Settings come from the
    environment and evalq.yaml as for the command line; what that prints as a warning is a Python warning
    here. KeyboardInterrupt pauses the bake-off. A holdout is refused except for a final decision, which is
    recorded for good.
    """
    cwd = Path.cwd()
    settings, root = load_settings(cwd, os.environ), project_root(cwd)
    look: holdout.Purpose | None = "final-decision" if final_decision else None
    request = Request(task, eval_set, judges, scorer, grader_model, samples, seed, look=look, notes=notes)
    plan = prepare(request, settings, root)
    for warning in _collect_warnings(plan):
        warnings.warn(warning, stacklevel=2)
    cap_usd = settings.max_cost_usd if max_cost_usd is None else _read_cap(max_cost_usd)
    with open_session(settings, fleet=True, providers=plan.providers) as session:
        bakeoff_id = start(session, plan, cap_usd=cap_usd, root=root)
        follow_to_end(session, bakeoff_id, show=on_progress or show_nothing)
        result = result_of(session.db, bakeoff_id)
        if plan.look:
            holdout.complete_files(session.db, root)
        return BakeOff(result)


def _read_cap(given: Decimal | float | str) -> Decimal:
    try:
        return read_usd(given)
    except ValueError as exc:
        raise InputError(Problem(f"max_cost_usd: {exc}")) from None


def _collect_warnings(plan: Plan) -> list[str]:
    """What the user should know before anything is paid for."""
    found = list(plan.warnings)
    if plan.draft_warning:
        found.append(plan.draft_warning)
    for name in own_graders(plan.judges, plan.graders):
        found.append(f"{name} is on trial and grades its own answers; name another grader_model")
    return found
