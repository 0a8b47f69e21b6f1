"""A bake-off whose answers wait for people, made as workers make it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from evalq.bakeoff.conclude import conclude
from evalq.bakeoff.plan import make_plan
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import Price, SimulatedJudge
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import ask_people, decide_outcome
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade, Usage
from evalq.review import Given, Rated, next_item, rate
from evalq.store import bakeoffs, calls, jobs
from evalq.store.database import Database

LIKERT = {"type": "likert"}
RANKING = {"type": "ranking"}


def human(**fields: Any) -> dict[str, Any]:
    return {"type": "human", **fields}


def task_of(*graders: dict[str, Any]) -> TaskConfig:
    return TaskConfig.model_validate(
        {
            "name": "essays",
            "description": "short essays",
            "system_prompt": "Be brief.",
            "user_template": "Write about {topic}.",
            "graders": list(graders),
        }
    )


def cases(n: int, **fields: Any) -> list[EvalCase]:
    return [
        EvalCase(id=f"case-{i}", inputs={"topic": f"topic {i}"}, expected={"answer": f"like {i}"}, **fields)
        for i in range(n)
    ]


def judge(name: str) -> SimulatedJudge:
    price = Price(input=Decimal(1), output=Decimal(1))
    return SimulatedJudge(name=name, provider="simulated", model=name, time_scale=0.0, price=price)


def start(
    db: Database, task: TaskConfig, n_cases: int = 2, judges: Sequence[str] = ("sim-a",), **fields: Any
) -> int:
    """Record a bake-off, publish nothing."""
    evalset = EvalSet(name=f"dev-{n_cases}", cases=cases(n_cases, **fields))
    plan = make_plan(task, evalset, [judge(name) for name in judges])
    return db.in_transaction(lambda tx: bakeoffs.add(tx, plan, bakeoffs.Terms(Decimal(5))))


def end(
    db: Database, task: TaskConfig, job_id: int, *others: Grade, state: Any = "answered", says: str = ""
) -> None:
    """Bring a job to its end as a worker would; `others` are the grades that no person gives."""
    job = jobs.claim(db, job_id, lease_s=60)
    assert job
    text = says or f"{job.judge} says {job.case.id}" if state == "answered" else ""
    answer = Completion(state, text, Usage(3, 4, raw={}), 120, Decimal("0.00001"), job.judge, "request")
    call = calls.Call(judge(job.judge), "answer", "key", 1, Decimal("0.001"))
    calls.settle(db, calls.reserve(db, job, call) or 0, calls.answered(answer))
    subject = AnswerToGrade(task, job.case, answer, job.judge)
    grades = [*others, *ask_people(subject)] if state == "answered" else []
    assert jobs.finish(db, job, decide_outcome(subject, grades), grades)


def job_ids(db: Database, bakeoff_id: int) -> list[int]:
    return sorted(row["job_id"] for row in db.rows("labelled_answers", bakeoff_id=bakeoff_id))


def conclude_all(db: Database, bakeoff_id: int) -> None:
    for run in bakeoffs.runs(db, bakeoff_id):
        conclude(db, run.id)


def ended(
    db: Database, task: TaskConfig, n_cases: int = 2, judges: Sequence[str] = ("sim-a",), says: str = ""
) -> int:
    """A concluded bake-off all of whose answers wait for people."""
    bakeoff_id = start(db, task, n_cases, judges)
    for job_id in job_ids(db, bakeoff_id):
        end(db, task, job_id, says=says)
    conclude_all(db, bakeoff_id)
    return bakeoff_id


def take(db: Database, bakeoff_id: int, reviewer: str = "ann") -> str:
    """The name of the next item."""
    item = next_item(db, bakeoff_id, reviewer).item
    assert item is not None
    return item.item


def rate_next(db: Database, bakeoff_id: int, said: Any, reviewer: str = "ann") -> Rated:
    return rate(db, Given(take(db, bakeoff_id, reviewer), reviewer, said))
