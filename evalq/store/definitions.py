"""Snapshots of tasks, evalsets and judges in Postgres, each under the hash of its content."""

import hashlib
import json
from functools import lru_cache

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import JudgeConfig, judge_reader
from evalq.definitions.task import TaskConfig
from evalq.errors import Refused
from evalq.records import BakeOffRow
from evalq.store.database import Connection, Database


def case_json(case: EvalCase) -> str:
    """A case as stored: key order and text kept."""
    return json.dumps(case.model_dump(mode="json"), ensure_ascii=False)


def evalset_sha(evalset: EvalSet) -> str:
    """The identity of an evalset: a hash of its cases in order, whatever format their file had."""
    digest = hashlib.sha256()
    for case in evalset.cases:
        digest.update(case_json(case).encode() + b"\n")
    return digest.hexdigest()


def task_sha(task: TaskConfig) -> str:
    """The identity of a task: a hash of all its fields."""
    return _sha("task", _json(task))


def judge_sha(judge: JudgeConfig) -> str:
    """The identity of a judge: a hash of all its fields."""
    return _sha("judge", _json(judge))


def _json(definition: TaskConfig | JudgeConfig) -> str:
    return json.dumps(definition.model_dump(mode="json"), ensure_ascii=False)


def _sha(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()


def add_task(tx: Connection, task: TaskConfig) -> str:
    """Store a task, return its hash."""
    return _add(tx, kind="task", name=task.name, text=_json(task))


def add_judge(tx: Connection, judge: JudgeConfig) -> str:
    """Store a judge, return its hash. A judge names the variable of its key, never the key."""
    return _add(tx, kind="judge", name=judge.name, text=_json(judge))


def _add(tx: Connection, *, kind: str, name: str, text: str) -> str:
    sha = _sha(kind, text)
    tx.row("add_definition", sha256=sha, kind=kind, name=name, body=text)
    return sha


def add_evalset(tx: Connection, evalset: EvalSet) -> str:
    """Store an evalset and its cases, return its hash."""
    sha = evalset_sha(evalset)
    body = json.dumps({"name": evalset.name, "n_cases": len(evalset.cases)})
    if tx.row("add_definition", sha256=sha, kind="evalset", name=evalset.name, body=body):
        rows = (
            (sha, case.id, ordinal, case.stratum_name, case_json(case))
            for ordinal, case in enumerate(evalset.cases)
        )
        tx.copy("copy_cases", rows)
    return sha


class Snapshots:
    """Reads definitions back, each once per instance: a snapshot never changes.

    Refused if one did change: a judge's row can name a program, and a worker would run it.
    """

    def __init__(self, db: Database | Connection) -> None:
        self._db = db
        self.task = lru_cache(maxsize=256)(self._task)
        self.judge = lru_cache(maxsize=1024)(self._judge)

    def _task(self, sha: str) -> TaskConfig:
        return TaskConfig.model_validate_json(self._body("task", sha))

    def _judge(self, sha: str) -> JudgeConfig:
        return judge_reader().validate_json(self._body("judge", sha))

    def _body(self, kind: str, sha: str) -> str:
        row = self._db.row("definition", sha256=sha)
        assert row is not None, f"definition {sha} is missing"
        text = str(row["body"])
        if _sha(kind, text) != sha:
            raise _changed(kind, sha)
        return text


def _changed(kind: str, sha: str) -> Refused:
    return Refused(
        f"the stored {kind} {sha[:12]} was changed in the database after it was recorded; nothing of it is "
        "run: find out who can write to the table definitions, and start a new bake-off"
    )


def stored_judges(db: Database, bakeoff_id: int) -> dict[str, JudgeConfig]:
    """The judges a bake-off was given, by name."""
    snapshots = Snapshots(db)
    rows = db.rows("run_judges", bakeoff_id=bakeoff_id)
    return {row["judge"]: snapshots.judge(row["judge_sha"]) for row in rows}


def stored_graders(db: Database, bakeoff_id: int) -> dict[str, JudgeConfig]:
    """The grader models a bake-off was given, by the names its task uses."""
    row = db.row("bakeoff_graders", bakeoff_id=bakeoff_id)
    if row is None:
        return {}
    snapshots = Snapshots(db)
    return {name: snapshots.judge(sha) for name, sha in row["grader_shas"].items()}


def stored_evalset(db: Database, bakeoff: BakeOffRow) -> EvalSet:
    """The evalset a bake-off was given."""
    return EvalSet(name=bakeoff.eval_set_name, cases=evalset_cases(db, bakeoff.eval_set_sha))


def evalset_cases(db: Database | Connection, eval_set_sha: str) -> list[EvalCase]:
    """The cases of an evalset in order; Refused if one was changed after it was recorded."""
    rows = db.rows("evalset_cases", eval_set_sha=eval_set_sha)
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row["body"].encode() + b"\n")
    if rows and digest.hexdigest() != eval_set_sha:
        raise _changed("evalset", eval_set_sha)
    return [EvalCase.model_validate_json(row["body"]) for row in rows]


def case_fingerprints(db: Database, eval_set_sha: str) -> dict[str, str]:
    """A hash of each case's content, by case id."""
    rows = db.rows("case_contents", eval_set_sha=eval_set_sha)
    return {row["case_id"]: row["content"] for row in rows}


def runs_code(db: Database, bakeoff_id: int) -> bool:
    """Whether a grader of a bake-off's task or cases runs code."""
    return db.row("runs_code", bakeoff_id=bakeoff_id) is not None
