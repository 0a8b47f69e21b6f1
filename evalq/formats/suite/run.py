"""Running a suite on the fleet: its bake-offs one after the other, then retries of what failed."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalq.bakeoff.estimate import refine_estimate
from evalq.bakeoff.launch import launch
from evalq.bakeoff.plan import Plan
from evalq.engines.session import Session
from evalq.formats.suite.collect import run_of_record
from evalq.formats.suite.lineup import lineup_of, write_lineup
from evalq.formats.suite.outcomes import JudgeOutcomes, SuiteRun
from evalq.formats.suite.plan import SuiteBakeOff, SuitePlan, plan_retry, retries_of
from evalq.formats.suite.render import headline
from evalq.results import BakeOffResult
from evalq.store import bakeoffs, suite_runs
from evalq.store.alerts import raise_alert
from evalq.store.answers import judge_verdicts
from evalq.store.database import Connection, Database
from evalq.store.suite_runs import NewSuiteRun, RunKind

RUN_TYPE = "suite"
RETRY_TYPE = "suite_retry"
_MAX_FAILURES_IN_ALERT = 20


@dataclass(frozen=True)
class Round:
    """One bake-off that was started: a planned one, or a retry of some of its cases."""

    bakeoff: SuiteBakeOff
    bakeoff_id: int
    attempt: int = 0


@dataclass(frozen=True)
class Rounds:
    """The bake-offs that a suite run has started, and why no more were."""

    suite_run_id: int
    rounds: tuple[Round, ...] = ()
    is_capped: bool = False
    is_stopped: bool = False

    @property
    def is_over(self) -> bool:
        """Whether no more bake-offs may be started."""
        return self.is_capped or self.is_stopped

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the bake-offs, in the order they were started."""
        return tuple(one.bakeoff_id for one in self.rounds)


@dataclass(frozen=True)
class SuiteRunner:
    """Where a suite runs, under which cap, and how it is followed.

    The run ends when `watch` returns None, or when `is_over` is true before the next bake-off. Its id goes to
    `announce` before anything is asked.
    """

    session: Session
    cap_usd: Decimal
    root: Path
    watch: Callable[[int], BakeOffResult | None]
    is_over: Callable[[], bool] = lambda: False
    announce: Callable[[str], None] = lambda _name: None


def run_suite(runner: SuiteRunner, plan: SuitePlan) -> tuple[SuiteRun, Rounds]:
    """Run the bake-offs of a plan and their retries; evals that were not reached count as skipped."""
    rounds = run_rounds(runner, plan)
    db = runner.session.db
    return run_of_record(db, suite_runs.get(db, rounds.suite_run_id)), rounds


def run_rounds(runner: SuiteRunner, plan: SuitePlan, *, kind: RunKind = "run") -> Rounds:
    """Record a suite run and run every bake-off of its plan, then failed evals as often as each allows.

    Failed evals and broken answers are retried. Calls that failed are not: each was repeated already. A
    capture retries nothing.
    """
    db = runner.session.db
    rounds = Rounds(_record(db, plan, kind))
    runner.announce(suite_runs.name_of(rounds.suite_run_id))
    queue = [(bakeoff, bakeoff.plan) for bakeoff in plan.bakeoffs]
    attempt = 0
    while queue and not rounds.is_over:
        rounds = _run_attempt(runner, rounds, queue, attempt=attempt)
        attempt += 1
        queue = []
        if kind == "run" and not rounds.is_over:
            queue = list(_plan_retries(db, plan, rounds.rounds, attempt=attempt))
    suite_runs.end(db, rounds.suite_run_id, is_timed_out=rounds.is_stopped)
    return rounds


def _record(db: Database, plan: SuitePlan, kind: RunKind) -> int:
    suite = plan.suite
    facts = {
        "version": suite.version,
        "environment": {"evalq": version("evalq")},
        "warnings": list(suite.warnings),
        "include_details": suite.reporting.include_details,
        "thresholds": suite.thresholds.model_dump(mode="json"),
    }
    lineup = write_lineup(lineup_of(plan))
    return suite_runs.add(db, NewSuiteRun(suite.name, kind, plan.samples, lineup, facts))


def _run_attempt(
    runner: SuiteRunner, rounds: Rounds, queue: Sequence[tuple[SuiteBakeOff, Plan]], *, attempt: int
) -> Rounds:
    """Run the bake-offs of one attempt until one is stopped or the cap is reached."""
    for bakeoff, jobs in queue:
        if runner.is_over():
            return replace(rounds, is_stopped=True)
        left = runner.cap_usd - bakeoffs.committed_usd(runner.session.db, rounds.ids)
        if refine_estimate(runner.session.db, jobs).estimate_usd > left:
            return replace(rounds, is_capped=True)
        bakeoff_id = _start_part(runner, rounds.suite_run_id, jobs, cap_usd=left, attempt=attempt)
        rounds = replace(rounds, rounds=(*rounds.rounds, Round(bakeoff, bakeoff_id, attempt)))
        result = runner.watch(bakeoff_id)
        if result is None:
            return replace(rounds, is_stopped=True)
        if result.state == "capped":
            return replace(rounds, is_capped=True)
    return rounds


def _start_part(runner: SuiteRunner, suite_run_id: int, jobs: Plan, *, cap_usd: Decimal, attempt: int) -> int:
    """Start a bake-off; the transaction that records it makes it part of the suite run."""

    def link(tx: Connection, bakeoff_id: int) -> None:
        suite_runs.link(tx, suite_run_id, bakeoff_id, attempt=attempt)

    run_type = RETRY_TYPE if attempt else RUN_TYPE
    terms = bakeoffs.Terms(cap_usd, jobs.look or run_type)
    return launch(runner.session, jobs, terms=terms, root=runner.root, beside=link)


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
    if rounds.is_capped:
        return 4
    return verdict_code(judges) or (3 if rounds.is_stopped else 0)


def verdict_code(judges: Sequence[JudgeOutcomes]) -> int:
    """1 when an eval failed, 3 when some have no verdict, else 0."""
    statuses: set[str] = set()
    for found in judges:
        statuses |= {one.status for one in found.evals}
    if "failed" in statuses:
        return 1
    return 3 if "skipped" in statuses else 0


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
