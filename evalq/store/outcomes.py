"""Outcomes in Postgres: the verdicts on answers, the numbers made of them, and people's labels."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal

from evalq.records import CallTotals, Evidence, Outcome, OutcomeRow, Verdict
from evalq.results import Agreement, RunResult
from evalq.store import cached_verdicts
from evalq.store.database import Connection, Database
from evalq.store.jobs import storable


@dataclass(frozen=True)
class JudgeTally:
    """How far one judge of a bake-off is."""

    judge: str
    n_jobs: int
    pause_reason: str | None
    done: int
    n_pass: int
    n_fail: int
    n_error: int
    n_pending: int
    last_minute: int
    error_kind: str | None
    p95_latency_ms: int | None


@dataclass(frozen=True)
class JudgeCost:
    """What one judge of a bake-off has cost so far; nothing before its first call."""

    cost_usd: Decimal = Decimal(0)
    retries: int = 0
    grade_calls: int = 0
    trouble: str | None = None
    """The last fault, if nothing has been answered since."""


@dataclass(frozen=True)
class PastTally:
    """One judge of an earlier bake-off: for each case how many samples were graded, and how many passed."""

    bakeoff_id: int
    judge: str
    cases: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class StoredLabel:
    """What one person said of one job's answer."""

    job_id: int
    labeller: str
    passed: bool


@dataclass(frozen=True)
class LabelledAnswer:
    """One job with the grader's verdict, None before there is one, and the votes of people."""

    job_id: int
    judge: str
    case_id: str
    sample: int
    stratum: str
    verdict: Verdict | None
    votes: tuple[bool, ...] = ()


def evidence(db: Database | Connection, bakeoff_id: int, *, run_id: int | None = None) -> Evidence:
    """The outcomes, calls and scores of a bake-off, or of one of its runs."""
    verdicts = db.rows("verdicts", bakeoff_id=bakeoff_id, run_id=run_id)
    scores = db.rows("grade_scores", bakeoff_id=bakeoff_id)
    opinions = db.rows("grade_opinions", bakeoff_id=bakeoff_id, run_id=run_id)
    return Evidence(
        outcomes=tuple(OutcomeRow(**row) for row in verdicts),
        calls=_call_totals(db, bakeoff_id),
        scores={(row["run_id"], row["grader"]): tuple(row["scores"]) for row in scores},
        savings=cached_verdicts.savings(db, bakeoff_id),
        opinions={row["grader"]: tuple(row["details"]) for row in opinions},
        first_faults={
            row["run_id"]: row["message"] for row in db.rows("first_faults", bakeoff_id=bakeoff_id)
        },
    )


def _call_totals(db: Database | Connection, bakeoff_id: int) -> dict[tuple[int, str], CallTotals]:
    totals = {}
    for row in db.rows("call_costs", bakeoff_id=bakeoff_id):
        key = (row.pop("run_id"), row.pop("purpose"))
        totals[key] = CallTotals(**row)
    return totals


def read_outcome(db: Database, job_id: int) -> Outcome | None:
    """How a job ended; None while it is open."""
    row = db.row("outcome", job_id=job_id)
    return Outcome(**row) if row else None


def judge_tallies(db: Database, bakeoff_id: int) -> list[JudgeTally]:
    """How far each judge of a bake-off is, in the order the judges were named."""
    return [JudgeTally(**row) for row in db.rows("progress", bakeoff_id=bakeoff_id)]


def judge_costs(db: Database, bakeoff_id: int) -> defaultdict[str, JudgeCost]:
    """What each judge of a bake-off has cost so far, by judge."""
    costs: defaultdict[str, JudgeCost] = defaultdict(JudgeCost)
    for row in db.rows("progress_costs", bakeoff_id=bakeoff_id):
        judge = row.pop("judge")
        costs[judge] = JudgeCost(**row)
    return costs


def count_alike(db: Database, run_id: int, outcome: Outcome, *, limit: int) -> tuple[int, int]:
    """How many outcomes a run has, up to `limit`, and how many of them are this same error."""
    row = db.row(
        "alike_errors",
        run_id=run_id,
        error_kind=outcome.error_kind,
        message=storable(outcome.message),
        limit=limit,
    )
    assert row is not None
    return row["n"], row["alike"]


def past_tallies(db: Database, task: str, *, limit: int) -> list[PastTally]:
    """The judges of a task's latest `limit` bake-offs of several judges, by bake-off."""
    tallies = []
    for row in db.rows("past_tallies", task=task, limit=limit):
        counts = zip(row["graded"], row["passed"], strict=True)
        cases = dict(zip(row["cases"], counts, strict=True))
        tallies.append(PastTally(row["bakeoff_id"], row["judge"], cases))
    return tallies


def write_eval_run(tx: Connection, result: RunResult, *, state: str) -> None:
    """Write a run's row of eval_runs over the one it has; its notes stay."""
    strata = {name: asdict(rate) for name, rate in result.per_stratum.items()}
    tx.run(
        "add_eval_run",
        run_id=result.run_id,
        n_cases=result.n_cases,
        n_pass=result.n_pass,
        n_fail=result.n_fail,
        n_error=result.n_error,
        n_pending=result.n_pending,
        accuracy=result.accuracy,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
        ci_method=result.ci_method,
        p50_latency_ms=result.p50_latency_ms,
        p95_latency_ms=result.p95_latency_ms,
        total_cost_usd=result.total_cost_usd,
        excluded=result.excluded,
        per_stratum=json.dumps(strata),
        state=state,
    )


def drop_kappas(tx: Connection, run_ids: Sequence[int]) -> None:
    """Remove the agreement of some runs with any other."""
    tx.run("drop_kappas", run_ids=list(run_ids))


def keep_kappas(tx: Connection, pairs: Sequence[Agreement], run_ids: Mapping[str, int]) -> None:
    """Write the agreement of every pair over the stored one, whichever of the two comes first in it."""
    for pair in pairs:
        tx.run(
            "add_kappa",
            a=run_ids[pair.a],
            b=run_ids[pair.b],
            kappa=_kappa_column(pair),
            n=pair.n,
            ac1=pair.ac1,
            degenerate=pair.degenerate,
        )


def _kappa_column(pair: Agreement) -> float:
    """Kappa, which a constant rater does not have: the column needs a number beside `degenerate`."""
    if pair.kappa is not None:
        return pair.kappa
    return 1.0 if pair.ac1 is not None and pair.ac1 >= 1.0 else 0.0


def labels(db: Database | Connection, bakeoff_id: int) -> list[StoredLabel]:
    """Every label of a bake-off's answers."""
    return [StoredLabel(**row) for row in db.rows("human_labels", bakeoff_id=bakeoff_id)]


def labelled_answers(db: Database | Connection, bakeoff_id: int) -> list[LabelledAnswer]:
    """Every job of a bake-off with the grader's verdict and the votes of people."""
    votes: defaultdict[int, list[bool]] = defaultdict(list)
    for label in labels(db, bakeoff_id):
        votes[label.job_id].append(label.passed)
    rows = db.rows("labelled_answers", bakeoff_id=bakeoff_id)
    return [LabelledAnswer(**row, votes=tuple(votes[row["job_id"]])) for row in rows]


def keep_labels(tx: Connection, labels: Sequence[StoredLabel]) -> None:
    """Store labels, each in place of an earlier one by the same person."""
    tx.run(
        "keep_human_labels",
        job_ids=[label.job_id for label in labels],
        labellers=[label.labeller for label in labels],
        passed=[label.passed for label in labels],
    )
