"""Stored answers: looked at anew, and taken over by a bake-off that grades them again."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import JudgeConfig
from evalq.evidence import BakeOffRow
from evalq.records import Completion
from evalq.store.database import Connection, Database
from evalq.store.definitions import Snapshots
from evalq.store.jobs import kept_completion


@dataclass(frozen=True)
class StoredAnswer:
    """What a judge said to a case, as it is stored."""

    run_id: int
    judge: str
    job_id: int
    sample: int
    case: EvalCase
    completion: Completion


def stored_answers(db: Database, run_ids: Sequence[int], *, case_id: str | None = None) -> list[StoredAnswer]:
    """The answers of some runs, in case order."""
    return [
        StoredAnswer(
            row["run_id"],
            row["judge"],
            row["job_id"],
            row["sample"],
            EvalCase.model_validate_json(row["case_body"]),
            kept_completion(row),
        )
        for row in db.rows("stored_answers", run_ids=list(run_ids), case_id=case_id)
    ]


def take_over(tx: Connection, bakeoff_id: int) -> None:
    """Give a bake-off that grades anew the answers of the runs it is about; what has none ends at once."""
    tx.run("take_over_answers", bakeoff_id=bakeoff_id)
    tx.run("end_unanswered", bakeoff_id=bakeoff_id)


def stored_evalset(db: Database, bakeoff: BakeOffRow) -> EvalSet:
    """The evalset a bake-off was given."""
    rows = db.rows("evalset_cases", eval_set_sha=bakeoff.eval_set_sha)
    cases = [EvalCase.model_validate_json(row["body"]) for row in rows]
    return EvalSet(name=bakeoff.eval_set_name, cases=cases)


def stored_graders(db: Database, bakeoff_id: int) -> dict[str, JudgeConfig]:
    """The grader models a bake-off was given, by the names they are called."""
    row = db.row("bakeoff_graders", bakeoff_id=bakeoff_id)
    snapshots = Snapshots(db)
    return {name: snapshots.judge(sha) for name, sha in (row["grader_shas"] if row else {}).items()}


def stored_judges(db: Database, bakeoff_id: int) -> dict[str, JudgeConfig]:
    """The judges of a bake-off as they were, by name."""
    snapshots, rows = Snapshots(db), db.rows("run_judges", bakeoff_id=bakeoff_id)
    return {row["judge"]: snapshots.judge(row["judge_sha"]) for row in rows}
