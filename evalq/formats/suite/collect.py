"""Outcomes of a suite's evals, collected from the bake-offs that ran them."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from evalq.formats.suite.lineup import LineupEntry, describe_case, read_lineup
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.records import Grade
from evalq.results import plain
from evalq.store import answers, bakeoffs, suite_runs
from evalq.store.answers import JudgeAnswer
from evalq.store.database import Database
from evalq.store.definitions import evalset_cases
from evalq.store.suite_runs import SuitePart, SuiteRunRow

Attempts = Mapping[tuple[str, str], Sequence[Attempt]]
"""By judge and case."""


def run_of_record(db: Database, row: SuiteRunRow, ks: Sequence[int] = ()) -> SuiteRun:
    """A recorded suite run with its verdicts as they are now: all its bake-offs, retries included."""
    parts = suite_runs.parts(db, row.id)
    bakeoff_ids = tuple(part.bakeoff_id for part in parts)
    facts = row.facts
    return SuiteRun(
        row.suite,
        *_name_moment(row.started_at),
        max(0.0, ((row.ended_at or row.read_at) - row.started_at).total_seconds()),
        group_by_judge(collect_outcomes(db, read_lineup(row.lineup), parts)),
        id=suite_runs.name_of(row.id),
        version=facts["version"],
        samples=row.samples,
        bakeoffs=bakeoff_ids,
        spent_usd=str(plain(bakeoffs.committed_usd(db, bakeoff_ids))),
        timed_out=row.is_timed_out,
        include_details=facts["include_details"],
        environment=facts["environment"],
        warnings=tuple(facts["warnings"]),
        ks=tuple(ks),
    )


def _name_moment(started_at: datetime) -> tuple[str, str]:
    """The run_id and the timestamp of a report."""
    utc = started_at.astimezone(UTC)
    return f"eval-{utc:%Y%m%d-%H%M%S}", f"{utc:%Y-%m-%dT%H:%M:%S}Z"


def collect_outcomes(
    db: Database, lineup: Sequence[LineupEntry], parts: Sequence[SuitePart]
) -> list[LineupEntry]:
    """The judges with the attempts of their evals: the first ones, and the retries."""
    case_ids: set[str] = set()
    for entry in lineup:
        case_ids |= {one.id for one in entry.evals}
    first = _attempts_of(db, [part for part in parts if part.attempt == 0], case_ids)
    again = _attempts_of(db, [part for part in parts if part.attempt > 0], case_ids)
    found = []
    for entry in lineup:
        evals = []
        for one in entry.evals:
            key = entry.judge, one.id
            evals.append(replace(one, samples=tuple(first.get(key, ())), retries=tuple(again.get(key, ()))))
        found.append(replace(entry, evals=tuple(evals)))
    return found


def group_by_judge(entries: Sequence[LineupEntry]) -> tuple[JudgeOutcomes, ...]:
    """The outcomes of each judge; those of the tested system are added to every judge.

    Several systems count as one, unless two of them answered the same evals: then each is listed.
    """
    systems = [one for one in entries if one.is_system]
    speakers = [one for one in entries if not one.is_system]
    of_systems: list[EvalOutcome] = []
    for one in systems:
        of_systems += one.evals
    if speakers:
        return tuple(JudgeOutcomes(one.judge, one.model, (*one.evals, *of_systems)) for one in speakers)
    if len({one.id for one in of_systems}) < len(of_systems):
        return tuple(JudgeOutcomes(one.judge, one.model, one.evals) for one in systems)
    names = ", ".join(one.judge for one in systems)
    models = ", ".join(one.model for one in systems)
    return (JudgeOutcomes(names, models, tuple(of_systems)),)


def run_of_bakeoff(db: Database, bakeoff_id: int, ks: Sequence[int]) -> SuiteRun:
    """A stored bake-off as if it were the run of a suite, whatever it was made from."""
    row = bakeoffs.get(db, bakeoff_id)
    return SuiteRun(
        row.task_name,
        *_name_moment(row.created_at),
        max(0.0, (row.read_at - row.created_at).total_seconds()),
        _outcomes_of_bakeoff(db, bakeoff_id, row.eval_set_sha),
        samples=row.samples,
        bakeoffs=(bakeoff_id,),
        spent_usd=str(plain(row.spent_usd)),
        ks=tuple(ks),
    )


def _outcomes_of_bakeoff(db: Database, bakeoff_id: int, eval_set_sha: str) -> tuple[JudgeOutcomes, ...]:
    cases = evalset_cases(db, eval_set_sha)
    attempts = _read_attempts(db, bakeoff_id, [case.id for case in cases])
    found = []
    for run in bakeoffs.runs(db, bakeoff_id):
        evals = []
        for case in cases:
            samples = tuple(attempts.get((run.judge, case.id), ()))
            evals.append(replace(describe_case(case), samples=samples))
        found.append(JudgeOutcomes(run.judge, run.judge, tuple(evals)))
    return tuple(found)


def _attempts_of(db: Database, parts: Sequence[SuitePart], case_ids: Collection[str]) -> Attempts:
    found: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for part in parts:
        for key, attempts in _read_attempts(db, part.bakeoff_id, list(case_ids)).items():
            found[key] += attempts
    return found


def _read_attempts(
    db: Database, bakeoff_id: int, case_ids: Sequence[str]
) -> dict[tuple[str, str], list[Attempt]]:
    stored = answers.judge_answers(db, bakeoff_id, case_ids)
    grades = answers.grades(db, [answer.job_id for answer in stored])
    found: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for answer in stored:
        found[answer.judge, answer.case_id].append(_build_attempt(answer, grades[answer.job_id]))
    return found


def _build_attempt(answer: JudgeAnswer, grades: Sequence[Grade]) -> Attempt:
    undecided = [grade.reason for grade in grades if grade.passed is None]
    return Attempt(
        answer.verdict,
        answer.message or "; ".join(undecided),
        answer.error_kind,
        answer.answer or "",
        answer.latency_ms,
        tuple(asdict(grade) for grade in grades),
    )
