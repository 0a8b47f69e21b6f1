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
    "Source A: \"Product {i} was launched in {year}, as the company's annual report says on its first page.\" "
    'Source B: "The same product went live in {other}." Do they contradict each other?'
)

# One scene: an answer is right when its judge's skill beats the case's difficulty, give or take some noise.
_SCENE = """
CREATE TEMP TABLE scene AS
SELECT j.id AS job_id, j.run_id, j.bakeoff_id, j.case_id, j.sample, r.judge, s.skill,
       mod(abs(hashtext(j.case_id)), 1000) / 1000.0 * 0.7 + mod(abs(hashtext(j.case_id || r.judge || %(salt)s)), 1000) / 1000.0 * 0.3
           < s.skill AS passed,
       mod(abs(hashtext(r.judge || j.case_id || 'e')), 400) = 0 AS broke,
       400 + mod(abs(hashtext(j.case_id || r.judge || 'l')), 1800) AS latency_ms
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN unnest(%(judges)s::text[], %(skills)s::float[]) s (judge, skill)
  ON s.judge = r.judge
WHERE j.bakeoff_id = %(bakeoff_id)s;
"""
_COMPLETIONS = """
INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms, cost_usd)
SELECT job_id, CASE WHEN skill IS NULL THEN 'empty' WHEN broke THEN 'truncated' ELSE 'answered' END,
       CASE WHEN skill IS NULL THEN '' WHEN passed THEN 'A says one year while B says another: contradiction in ' || case_id
            ELSE '[] no finding: both sources describe ' || case_id || ' alike' END,
       judge, 'request-' || job_id, 812, 60, '{}', latency_ms, 0.0021
FROM scene;
"""
_CALLS = """
INSERT INTO call_journal (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state, reserved_usd, cost_usd,
                          usage, latency_ms, sent_at, settled_at)
SELECT bakeoff_id, job_id, 'answer', judge, 'simulated', judge, 'answer', 1, 'settled', 0.01, 0.0021, '{}', latency_ms,
       now(), now()
FROM scene;
"""
_GRADES = """
INSERT INTO grades (job_id, grader, passed, score, reason, kind)
SELECT job_id, 'strict_substring', passed, passed::int, CASE WHEN passed THEN '' ELSE 'the expected words are not there' END,
       'strict_substring'
FROM scene WHERE skill IS NOT NULL AND NOT broke;
"""
_OUTCOMES = """
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
SELECT job_id, run_id, bakeoff_id, case_id, sample,
       CASE WHEN skill IS NULL OR broke THEN 'errored' WHEN passed THEN 'passed' ELSE 'failed' END,
       CASE WHEN skill IS NULL THEN 'empty' WHEN broke THEN 'truncated' END,
       CASE WHEN skill IS NULL THEN 'the answer is empty' WHEN broke THEN 'cut off at max_tokens' END, 1
FROM scene;
"""
_ENDS = """
UPDATE jobs SET state = 'done' WHERE bakeoff_id = %(bakeoff_id)s;
"""
_SPENT = """
UPDATE bakeoffs SET spent_usd = (SELECT sum(cost_usd) FROM call_journal WHERE bakeoff_id = %(bakeoff_id)s)
WHERE id = %(bakeoff_id)s;
"""
_TIDY = """
DROP TABLE scene;
"""


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
        for statement in (_SCENE, _COMPLETIONS, _CALLS, _GRADES, _OUTCOMES, _ENDS, _SPENT, _TIDY):
            connection.execute(statement, given)
        connection.commit()
        connection.autocommit = True
        connection.execute("ANALYZE")


if __name__ == "__main__":
    main()
