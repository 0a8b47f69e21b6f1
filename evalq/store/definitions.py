"""Snapshots of what a bake-off was given: tasks, evalsets and judges by their content."""

import hashlib
import json
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.task import TaskConfig
from evalq.store.database import Connection, Database

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


def add_task(tx: Connection, task: TaskConfig) -> str:
    """Keep a task, return its hash."""
    return _add(tx, kind="task", name=task.name, body=task.model_dump(mode="json"))


def add_judge(tx: Connection, judge: JudgeConfig) -> str:
    """Keep a judge, return its hash. A judge names the variable of its key, never the key."""
    return _add(tx, kind="judge", name=judge.name, body=judge.model_dump(mode="json"))


def add_evalset(tx: Connection, evalset: EvalSet) -> str:
    """Keep an evalset and its cases, return its hash."""
    sha = evalset_sha(evalset)
    body = json.dumps({"name": evalset.name, "n_cases": len(evalset.cases)})
    if tx.row("add_definition", sha256=sha, kind="evalset", name=evalset.name, body=body):
        rows = ((sha, c.id, i, c.stratum_name, case_json(c)) for i, c in enumerate(evalset.cases))
        tx.copy("copy_cases", rows)
    return sha


def _add(tx: Connection, *, kind: str, name: str, body: dict[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False)
    sha = hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()
    tx.row("add_definition", sha256=sha, kind=kind, name=name, body=text)
    return sha


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
