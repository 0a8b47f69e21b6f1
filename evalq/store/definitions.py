"""Snapshots of what a bake-off was given: tasks, evalsets and judges by their content."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import TypeAdapter

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.task import TaskConfig
from evalq.records import BakeOffRow, Completion
from evalq.store.database import Connection, Database
from evalq.store.jobs import kept_completion

_JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)


def case_json(case: EvalCase) -> str:
    """A case as stored: key order and text kept."""
    return json.dumps(case.model_dump(mode="json"), ensure_ascii=False)


def evalset_sha(evalset: EvalSet) -> str:
    """The identity of an evalset: its cases in order, whatever file format they came from."""
    digest = hashlib.sha256()
    for case in evalset.cases:
        digest.update(case_json(case).encode() + b"\n")
    return digest.hexdigest()


def task_sha(task: TaskConfig) -> str:
    """The identity of a task: all it says."""
    return _sha("task", _text(task))


def judge_sha(judge: JudgeConfig) -> str:
    """The identity of a judge: all it says."""
    return _sha("judge", _text(judge))


def add_task(tx: Connection, task: TaskConfig) -> str:
    """Keep a task, return its hash."""
    return _add(tx, kind="task", name=task.name, text=_text(task))


def add_judge(tx: Connection, judge: JudgeConfig) -> str:
    """Keep a judge, return its hash. A judge names the variable of its key, never the key."""
    return _add(tx, kind="judge", name=judge.name, text=_text(judge))


def add_evalset(tx: Connection, evalset: EvalSet) -> str:
    """Keep an evalset and its cases, return its hash."""
    sha = evalset_sha(evalset)
    body = json.dumps({"name": evalset.name, "n_cases": len(evalset.cases)})
    if tx.row("add_definition", sha256=sha, kind="evalset", name=evalset.name, body=body):
        rows = ((sha, c.id, i, c.stratum_name, case_json(c)) for i, c in enumerate(evalset.cases))
        tx.copy("copy_cases", rows)
    return sha


def _add(tx: Connection, *, kind: str, name: str, text: str) -> str:
    sha = _sha(kind, text)
    tx.row("add_definition", sha256=sha, kind=kind, name=name, body=text)
    return sha


def _text(definition: TaskConfig | JudgeConfig) -> str:
    return json.dumps(definition.model_dump(mode="json"), ensure_ascii=False)


def _sha(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()


class Snapshots:
    """Definitions read back, each once per process: a snapshot never changes."""

    def __init__(self, db: Database | Connection) -> None:
        self._db = db
        self.task = lru_cache(maxsize=256)(self._task)
        self.judge = lru_cache(maxsize=1024)(self._judge)

    def _task(self, sha: str) -> TaskConfig:
        return TaskConfig.model_validate_json(self._body(sha))

    def _judge(self, sha: str) -> JudgeConfig:
        return _JUDGE.validate_json(self._body(sha))

    def _body(self, sha: str) -> str:
        row = self._db.row("definition", sha256=sha)
        assert row is not None, f"definition {sha} is missing"
        return str(row["body"])


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
