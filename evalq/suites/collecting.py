"""What the bake-offs of a suite run came to, eval by eval, for each judge."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.importers.suite_evals import SuiteEval
from evalq.reports.suite_outcomes import Attempt, EvalOutcome, JudgeOutcomes
from evalq.store import bakeoffs
from evalq.store.database import Database, Row
from evalq.suites.answering import Respondent
from evalq.suites.running import Round

Attempts = Mapping[tuple[str, str], Sequence[Attempt]]
"""By judge and case."""


def outcomes_by_judge(
    db: Database, found: Sequence[Respondent], rounds: Sequence[Round]
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


def outcome_of(one: SuiteEval, who: Respondent, first: Attempts, again: Attempts) -> EvalOutcome:
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
