"""Running a suite on the fleet: its bake-offs one after the other, then retries of what failed."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan
from evalq.engines.session import Session
from evalq.formats.suite.collect import Round, collect_outcomes
from evalq.formats.suite.outcomes import JudgeOutcomes, SuiteRun
from evalq.formats.suite.plan import SuiteBakeOff, SuitePlan, plan_retry, retries_of
from evalq.formats.suite.render import headline
from evalq.results import BakeOffResult, plain
from evalq.store import bakeoffs
from evalq.store.alerts import raise_alert
from evalq.store.answers import judge_verdicts
from evalq.store.database import Database

RUN_TYPE = "suite"
RETRY_TYPE = "suite_retry"
_MAX_FAILURES_IN_ALERT = 20


@dataclass(frozen=True)
class Rounds:
    """Every bake-off that was started, and why no more were."""

    rounds: tuple[Round, ...]
    is_capped: bool = False
    is_stopped: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the bake-offs, in the order they were started."""
        return tuple(one.bakeoff_id for one in self.rounds)


@dataclass(frozen=True)
class SuiteRunner:
    """Where a suite runs, under which cap, and how it is followed.

    The run ends when `watch` returns None, or when `is_over` is true before the next bake-off.
    """

    session: Session
    cap_usd: Decimal
    root: Path
    watch: Callable[[int], BakeOffResult | None]
    is_over: Callable[[], bool] = lambda: False


def run_suite(runner: SuiteRunner, plan: SuitePlan, *, started: datetime) -> tuple[SuiteRun, Rounds]:
    """Run the bake-offs of a plan and their retries; evals that were not reached count as skipped."""
    begun = time.monotonic()
    rounds = run_rounds(runner, plan)
    db = runner.session.db
    done = SuiteRun(
        plan.suite.name,
        f"eval-{started:%Y%m%d-%H%M%S}",
        f"{started:%Y-%m-%dT%H:%M:%S}Z",
        time.monotonic() - begun,
        collect_outcomes(db, plan.assignments, rounds.rounds),
        version=plan.suite.version,
        samples=plan.samples,
        bakeoffs=rounds.ids,
        spent_usd=str(plain(bakeoffs.committed_usd(db, rounds.ids))),
        timed_out=rounds.is_stopped,
        include_details=plan.suite.reporting.include_details,
        environment={"evalq": version("evalq")},
        warnings=plan.suite.warnings,
    )
    return done, rounds


def run_rounds(runner: SuiteRunner, plan: SuitePlan, *, retry: bool = True) -> Rounds:
    """Run every bake-off of a plan; with `retry`, run failed evals again as often as each allows.

    Failed evals and broken answers are retried. Calls that failed are not: each was repeated already.
    """
    db = runner.session.db
    rounds: list[Round] = []
    queue = [(bakeoff, bakeoff.plan) for bakeoff in plan.bakeoffs]
    attempt = 0
    while queue:
        for bakeoff, jobs in queue:
            if runner.is_over():
                return Rounds(tuple(rounds), is_stopped=True)
            left = runner.cap_usd - bakeoffs.committed_usd(db, [one.bakeoff_id for one in rounds])
            if jobs.estimate_usd > left:
                return Rounds(tuple(rounds), is_capped=True)
            run_type = RETRY_TYPE if attempt else RUN_TYPE
            bakeoff_id = start(runner.session, jobs, cap_usd=left, root=runner.root, run_type=run_type)
            rounds.append(Round(bakeoff, bakeoff_id, attempt))
            result = runner.watch(bakeoff_id)
            if result is None:
                return Rounds(tuple(rounds), is_stopped=True)
            if result.state == "capped":
                return Rounds(tuple(rounds), is_capped=True)
        attempt += 1
        queue = list(_plan_retries(db, plan, rounds, attempt=attempt)) if retry else []
    return Rounds(tuple(rounds))


def _plan_retries(
    db: Database, plan: SuitePlan, rounds: Sequence[Round], *, attempt: int
) -> Iterator[tuple[SuiteBakeOff, Plan]]:
    """Plan the cases that the last attempt left failing; judges that fail the same cases share a plan."""
    for bakeoff in plan.bakeoffs:
        last = [one for one in rounds if one.bakeoff is bakeoff and one.attempt == attempt - 1]
        retryable = {one.id for one in bakeoff.evals if retries_of(plan.suite, one) >= attempt}
        names_by_cases: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for judge in bakeoff.plan.judges:
            failed: list[str] = []
            for one in last:
                failed += [case_id for case_id in _failed(db, one, judge.name) if case_id in retryable]
            if failed:
                names_by_cases[tuple(failed)].append(judge.name)
        for case_ids, names in names_by_cases.items():
            judges = [judge for judge in bakeoff.plan.judges if judge.name in names]
            yield bakeoff, plan_retry(bakeoff, judges, case_ids, attempt=attempt)


def _failed(db: Database, one: Round, judge: str) -> list[str]:
    """The cases of a round that a judge did not pass and that are worth another attempt."""
    verdicts: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for case in judge_verdicts(db, one.bakeoff_id, judge):
        verdicts[case.case_id].append((case.verdict, case.error_kind))
    return [case_id for case_id, found in verdicts.items() if _needs_retry(found)]


def _needs_retry(verdicts: Sequence[tuple[str, str | None]]) -> bool:
    graded = [verdict for verdict, _ in verdicts if verdict in ("passed", "failed")]
    if graded:
        return graded.count("passed") * 2 <= len(graded)
    return any(verdict == "errored" and not str(kind).startswith("call_") for verdict, kind in verdicts)


def exit_code(judges: Sequence[JudgeOutcomes], rounds: Rounds) -> int:
    """4 at the cap, 1 when an eval failed, 3 when some have no verdict, else 0."""
    statuses: set[str] = set()
    for found in judges:
        statuses |= {one.status for one in found.evals}
    if rounds.is_capped:
        return 4
    if "failed" in statuses:
        return 1
    return 3 if rounds.is_stopped or "skipped" in statuses else 0


def raise_suite_alert(db: Database, document: Mapping[str, Any], *, what: str = "failed") -> str | None:
    """Raise an alert about a run, at most once; return its text, or None if it was raised before."""
    report = document["eval_report"]
    about = report["metadata"]
    text = f"suite {what}: {headline(report)}"
    failures = report["failures"][:_MAX_FAILURES_IN_ALERT]
    facts = {
        "kind": "suite",
        "suite": about["suite_name"],
        "run_id": about["run_id"],
        "summary": report["summary"],
        "failures": [{"eval_id": one["eval_id"], "reason": one["reason"]} for one in failures],
    }
    ids = ",".join(str(one) for one in about.get("bakeoffs", ()))
    key = f"suite/{about['suite_name']}/{about['run_id']}/{ids}/{what}"
    is_new = raise_alert(db, key=key, text=text, document=facts)
    return text if is_new else None
