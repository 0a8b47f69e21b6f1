"""Makes a concluded bake-off of 100,000 verdicts in an embedded database, for measuring the pages."""

import argparse
import time
from decimal import Decimal
from pathlib import Path

import psycopg

from evalq.bakeoff.conclude import conclude
from evalq.bakeoff.plan import make_plan
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.engines.embedded import attach
from evalq.store import bakeoffs
from evalq.store.database import Database, apply_schema, connection_options

SQL = Path(__file__).with_suffix(".sql")
N_CASES = 12_500
SKILLS = {
    "grok-4.3": 0.83,
    "grok-4.3-short": 0.82,
    "opus-4.7": 0.74,
    "sonnet-4.6": 0.66,
    "gpt-5.4-mini": 0.53,
    "haiku-4.5": 0.50,
    "local-qwen": 0.31,
    "gemini-2.5-flash": None,
}
"""How often each judge passes; the one with None answers nothing and is left out of the ranking."""

KINDS = ("positive_explicit", "positive_subtle", "negative", "negative_near", "mixed")
LANGUAGES = ("EN", "VN", "DE")
INPUT = (
    'Source A: "Product {i} was launched in {year}, as the company\'s annual report says on its first page." '
    'Source B: "The same product went live in {other}." Do they contradict each other?'
)


def main() -> None:
    """Make one in a data folder: `EVALQ_DATA_DIR=FOLDER evalq web` shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the data folder to make it in")
    parser.add_argument("--cases", type=int, default=N_CASES)
    asked = parser.parse_args()
    with attach(asked.folder, want=("postgres",)) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        started = time.perf_counter()
        bakeoff_id = make_big_run(db, n_cases=asked.cases)
        seconds = time.perf_counter() - started
        print(f"bake-off {bakeoff_id}: {asked.cases * len(SKILLS):,} verdicts in {seconds:.0f} s")
        db.close()


def make_big_run(db: Database, *, n_cases: int = N_CASES, salt: str = "") -> int:
    """Record a bake-off, end its jobs as workers would have, and conclude it; return its number.

    The answers are the same every time; another `salt` makes the judges err on some other cases.
    """
    task = TaskConfig(
        name="knowledge_audit",
        system_prompt="",
        user_template="{sources}",
        scoring=ScoringConfig(mode="strict_substring"),
        max_tokens=64,
    )
    evalset = EvalSet(name=f"dev-{n_cases}", cases=[_make_case(number) for number in range(n_cases)])
    plan = make_plan(task, evalset, [_make_judge(name) for name in SKILLS])
    bakeoff_id = db.in_transaction(lambda tx: bakeoffs.add(tx, plan, bakeoffs.Terms(Decimal(500))))
    _end_jobs(db, bakeoff_id, salt)
    for run in bakeoffs.runs(db, bakeoff_id):
        conclude(db, run.id)
    return bakeoff_id


def _make_case(number: int) -> EvalCase:
    year = 1990 + number % 30
    return EvalCase(
        id=f"case-{number:05}",
        inputs={"sources": INPUT.format(i=number, year=year, other=year + number % 3)},
        expected={"answer": f"contradiction in case-{number:05}"},
        stratum={"kind": KINDS[number % len(KINDS)], "language": LANGUAGES[number % len(LANGUAGES)]},
    )


def _make_judge(name: str) -> SimulatedJudge:
    return SimulatedJudge.model_validate(
        {"name": name, "provider": "simulated", "model": name, "price": {"input": 1, "output": 5}}
    )


def _end_jobs(db: Database, bakeoff_id: int, salt: str) -> None:
    given = {"bakeoff_id": bakeoff_id, "judges": list(SKILLS), "skills": list(SKILLS.values()), "salt": salt}
    with psycopg.connect(db.url, **connection_options(db.url)) as connection:
        for statement in SQL.read_text("utf-8").split(";\n")[:-1]:
            connection.execute(statement.encode(), given)
        connection.commit()
        connection.autocommit = True
        connection.execute("ANALYZE")


if __name__ == "__main__":
    main()
