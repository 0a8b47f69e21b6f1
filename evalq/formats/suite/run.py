"""A suite on the fleet: its bake-offs one after the other, then what failed once more."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan
from evalq.definitions.evalset import EvalCase
from evalq.engines.session import Session
from evalq.formats.suite.answering import Assignment
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.formats.suite.plan import PlannedBakeOffs, SuiteBakeOff, retries_of, retry_plan
from evalq.formats.suite.read import Suite
from evalq.formats.suite.report import headline
from evalq.results import BakeOffResult, plain
from evalq.store import bakeoffs
from evalq.store.baselines import raise_alert
from evalq.store.database import Database, Row

RUN_TYPE = "suite"
RETRY_TYPE = "suite_retry"


@dataclass(frozen=True)
class Round:
    """One bake-off of a suite run: which part it is of, and whether it was a retry."""

    part: SuiteBakeOff
    bakeoff_id: int
    attempt: int = 0


@dataclass(frozen=True)
class Rounds:
    """Every bake-off that was run, and what kept the others from it."""

    rounds: tuple[Round, ...]
    is_capped: bool = False
    is_stopped: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """The bake-offs, in the order they were started."""
        return tuple(one.bakeoff_id for one in self.rounds)


@dataclass(frozen=True)
class SuiteRunner:
    """Where a suite is run, under which cap, and who watches.

    None from `watch` ends it; so does `is_over`, before anything more is started.
    """

    session: Session
    cap_usd: Decimal
    root: Path
    watch: Callable[[int], BakeOffResult | None]
    is_over: Callable[[], bool] = lambda: False


def run_rounds(
    fleet: SuiteRunner, parts: Sequence[SuiteBakeOff], *, retries_of: Callable[[SuiteEval], int]
) -> Rounds:
    """Run every part, then again what failed, as often as each eval says.

    An eval that failed is run again; so is one whose answer was broken. One that could not be asked is not:
    its call was repeated already.
    """
    rounds: list[Round] = []
    queue = [(part, part.plan, 0) for part in parts]
    while queue:
        for part, plan, attempt in queue:
            left = fleet.cap_usd - bakeoffs.committed_usd(
                fleet.session.db, [one.bakeoff_id for one in rounds]
            )
            if fleet.is_over() or plan.estimate_usd > left:
                return Rounds(tuple(rounds), is_capped=not fleet.is_over(), is_stopped=fleet.is_over())
            bakeoff_id = start(
                fleet.session,
                plan,
                cap_usd=left,
                root=fleet.root,
                run_type=RETRY_TYPE if attempt else RUN_TYPE,
            )
            rounds.append(Round(part, bakeoff_id, attempt))
            result = fleet.watch(bakeoff_id)
            if result is None or result.state == "capped":
                return Rounds(tuple(rounds), is_capped=result is not None, is_stopped=result is None)
        attempt = queue[0][2] + 1
        queue = list(_again(fleet.session.db, parts, rounds, attempt=attempt, retries_of=retries_of))
    return Rounds(tuple(rounds))


def _again(
    db: Database,
    parts: Sequence[SuiteBakeOff],
    rounds: Sequence[Round],
    *,
    attempt: int,
    retries_of: Callable[[SuiteEval], int],
) -> Iterator[tuple[SuiteBakeOff, Plan, int]]:
    """What the last attempt has left failing and may be tried once more, by judge."""
    for part in parts:
        last = [one for one in rounds if one.part is part and one.attempt == attempt - 1]
        may = {one.id for one in part.evals if retries_of(one) >= attempt}
        by_cases: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for judge in part.plan.judges:
            open_ids = tuple(
                case_id for one in last for case_id in _failed(db, one, judge.name) if case_id in may
            )
            if open_ids:
                by_cases[open_ids].append(judge.name)
        for case_ids, names in by_cases.items():
            judges = [judge for judge in part.plan.judges if judge.name in names]
            yield part, retry_plan(part, judges, case_ids, attempt=attempt), attempt


def _failed(db: Database, one: Round, judge: str) -> list[str]:
    """The cases of a judge that no attempt of a round has passed by most of its samples."""
    rows = db.rows("judge_verdicts", bakeoff_id=one.bakeoff_id, judge=judge)
    verdicts: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for row in rows:
        verdicts[row["case_id"]].append((row["verdict"], row["error_kind"]))
    return [case_id for case_id, found in verdicts.items() if _is_to_retry(found)]


def _is_to_retry(found: Sequence[tuple[str, str | None]]) -> bool:
    graded = [verdict for verdict, _ in found if verdict in ("passed", "failed")]
    if graded:
        return graded.count("passed") * 2 <= len(graded)
    return any(verdict == "errored" and not str(kind).startswith("call_") for verdict, kind in found)


Attempts = Mapping[tuple[str, str], Sequence[Attempt]]
"""By judge and case."""


def outcomes_by_judge(
    db: Database, found: Sequence[Assignment], rounds: Sequence[Round]
) -> tuple[JudgeOutcomes, ...]:
    """One account per judge; what the tested system answered is in each of them.

    Systems are accounted for together, unless two answered the same evals: then they are compared.
    """
    first, again = _attempts(db, rounds, retries=False), _attempts(db, rounds, retries=True)
    run = {
        (judge.name, each.id): each
        for one in rounds
        for judge in one.part.plan.judges
        for each in one.part.evals
    }
    of_judge = {
        one.judge.name: [
            outcome_of(run.get((one.judge.name, each.id), each), one, first, again) for each in one.evals
        ]
        for one in found
    }
    systems = [one for one in found if one.is_system]
    speakers = [one for one in found if not one.is_system]
    ids = [each.id for one in systems for each in one.evals]
    if not speakers and len(set(ids)) < len(ids):
        return tuple(
            JudgeOutcomes(one.judge.name, one.judge.model, tuple(of_judge[one.judge.name])) for one in systems
        )
    of_systems = [each for one in systems for each in of_judge[one.judge.name]]
    if not speakers:
        names = ", ".join(one.judge.name for one in systems)
        return (JudgeOutcomes(names, ", ".join(one.judge.model for one in systems), tuple(of_systems)),)
    return tuple(
        JudgeOutcomes(one.judge.name, one.judge.model, (*of_judge[one.judge.name], *of_systems))
        for one in speakers
    )


def outcome_of(one: SuiteEval, who: Assignment, first: Attempts, again: Attempts) -> EvalOutcome:
    """What became of one eval of one judge."""
    key = who.judge.name, one.id
    made = _outcome(one.case, first.get(key, ()), again.get(key, ()), grader_types=one.grader_types)
    lacks = one.regression is not None and key not in first and not one.case.graders
    return replace(made, lacks_baseline=lacks, answered_by=who.key)


def outcomes_of_bakeoff(db: Database, bakeoff_id: int) -> tuple[JudgeOutcomes, ...]:
    """The same of a bake-off that is already there, whatever it was made from."""
    sha = bakeoffs.get(db, bakeoff_id).eval_set_sha
    cases = [EvalCase.model_validate_json(row["body"]) for row in db.rows("evalset_cases", eval_set_sha=sha)]
    found = _read(db, bakeoff_id, [case.id for case in cases])
    rows = db.rows("run_judges", bakeoff_id=bakeoff_id)
    return tuple(
        JudgeOutcomes(
            row["judge"],
            row["judge"],
            tuple(_outcome(case, found.get((row["judge"], case.id), ()), ()) for case in cases),
        )
        for row in rows
    )


def _outcome(
    case: EvalCase,
    samples: Sequence[Attempt],
    retries: Sequence[Attempt],
    *,
    grader_types: tuple[str, ...] = (),
) -> EvalOutcome:
    about = case.metadata
    kinds = grader_types or tuple(about.get("grader_types", ("code",)))
    return EvalOutcome(
        case.id,
        str(about.get("name", case.id)),
        str(about.get("eval_type", "capability")),
        str(about.get("category", "")),
        kinds,
        float(about.get("weight", 1.0)),
        about.get("criticality"),
        _expected(case),
        tuple(samples),
        tuple(retries),
    )


def _expected(case: EvalCase) -> str:
    expected = case.expected or {}
    answer = expected.get("answer")
    return answer if isinstance(answer, str) else json.dumps(expected, ensure_ascii=False) if expected else ""


def _attempts(db: Database, rounds: Sequence[Round], *, retries: bool) -> Attempts:
    found: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for one in sorted(rounds, key=lambda each: each.attempt):
        if bool(one.attempt) == retries:
            for key, attempts in _read(db, one.bakeoff_id, [each.id for each in one.part.evals]).items():
                found[key] += attempts
    return found


def _read(db: Database, bakeoff_id: int, case_ids: Sequence[str]) -> dict[tuple[str, str], list[Attempt]]:
    rows = db.rows("inspected_answers", bakeoff_id=bakeoff_id, case_ids=list(case_ids))
    grades: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for grade in db.rows("inspected_grades", job_ids=[row["job_id"] for row in rows]):
        grades[grade["job_id"]].append(grade)
    found: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for row in rows:
        found[row["judge"], row["case_id"]].append(_attempt(row, grades[row["job_id"]]))
    return found


def _attempt(row: Row, grades: Sequence[Mapping[str, Any]]) -> Attempt:
    undecided = [str(grade["reason"]) for grade in grades if grade["passed"] is None]
    return Attempt(
        row["verdict"],
        row["message"] or "; ".join(undecided),
        row["error_kind"],
        row["answer"] or "",
        row["latency_ms"],
        tuple(grades),
    )


@dataclass(frozen=True)
class SuitePlan:
    """What is run: the suite, which of its evals, who answers them, and the bake-offs that takes."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    found: tuple[Assignment, ...]
    planned: PlannedBakeOffs
    samples: int = 1

    @property
    def parts(self) -> Sequence[SuiteBakeOff]:
        """The bake-offs."""
        return self.planned.parts


def run(fleet: SuiteRunner, asked: SuitePlan, *, started: datetime) -> tuple[SuiteRun, Rounds]:
    """Run the parts and their retries; what was not reached is there as skipped."""
    begun = time.monotonic()
    rounds = run_rounds(fleet, asked.parts, retries_of=lambda one: retries_of(asked.suite, one))
    db = fleet.session.db
    judges = outcomes_by_judge(db, asked.found, rounds.rounds)
    spent = bakeoffs.committed_usd(db, rounds.ids)
    return (
        SuiteRun(
            asked.suite.name,
            f"eval-{started:%Y%m%d-%H%M%S}",
            f"{started:%Y-%m-%dT%H:%M:%S}Z",
            time.monotonic() - begun,
            judges,
            asked.suite.version,
            asked.samples,
            rounds.ids,
            str(plain(spent)),
            rounds.is_stopped,
            asked.suite.reporting.include_details,
            {"evalq": version("evalq")},
            asked.suite.warnings,
        ),
        rounds,
    )


def exit_code(judges: Sequence[JudgeOutcomes], rounds: Rounds) -> int:
    """1 when an eval failed, 4 at the cap, 3 when some have no verdict, else 0."""
    evals = [one for found in judges for one in found.evals]
    if rounds.is_capped:
        return 4
    if any(one.status == "failed" for one in evals):
        return 1
    return 3 if rounds.is_stopped or any(one.status == "skipped" for one in evals) else 0


def notify(db: Database, document: Mapping[str, Any], *, what: str = "failed") -> str | None:
    """Raise an alert about a run, once however often; its text, None when it was raised before."""
    report = document["eval_report"]
    about = report["metadata"]
    text = f"suite {what}: {headline(report)}"
    facts = {
        "kind": "suite",
        "suite": about["suite_name"],
        "run_id": about["run_id"],
        "summary": report["summary"],
        "failures": [{"eval_id": one["eval_id"], "reason": one["reason"]} for one in report["failures"][:20]],
    }
    bakeoffs = ",".join(str(one) for one in about.get("bakeoffs", ()))
    key = f"suite/{about['suite_name']}/{about['run_id']}/{bakeoffs}/{what}"
    with db.transaction() as tx:
        return text if raise_alert(tx, key=key, text=text, document=facts) else None
