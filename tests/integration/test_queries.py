"""Every named query against the schema, and the schema against the tables people already have."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

import evalq
from evalq.store.database import Database, named_queries

Sql = Callable[..., list[tuple[Any, ...]]]

ROOT = Path(evalq.__file__).parents[1]
# These kinds of statement cannot be prepared; the tests of recording and of the schema run them.
OTHERS = re.compile(r"^(COPY|CREATE|DO|SET)", re.MULTILINE)
PREPARABLE = {name: text for name, text in named_queries().items() if not OTHERS.search(text)}

SEED = """
CREATE SCHEMA seed;
SET search_path TO seed;
CREATE TABLE eval_runs (
    id              BIGSERIAL PRIMARY KEY,
    task_name       TEXT NOT NULL,
    eval_set_name   TEXT NOT NULL,
    judge_model     TEXT NOT NULL,
    scorer_mode     TEXT NOT NULL,
    judge_for_scoring TEXT,
    n_cases         INT NOT NULL,
    n_pass          INT NOT NULL,
    accuracy        NUMERIC(5,4) NOT NULL,
    ci_low          NUMERIC(5,4),
    ci_high         NUMERIC(5,4),
    p95_latency_ms  INT,
    total_cost_usd  NUMERIC(8,4),
    per_stratum     JSONB,
    run_type        TEXT NOT NULL,
    git_sha         TEXT,
    started_at      TIMESTAMPTZ NOT NULL,
    finished_at     TIMESTAMPTZ NOT NULL,
    notes           TEXT
);
CREATE INDEX idx_eval_runs_task ON eval_runs(task_name, finished_at DESC);
CREATE INDEX idx_eval_runs_drift ON eval_runs(task_name, judge_model, run_type, finished_at DESC);
CREATE TABLE eval_kappa (
    eval_run_id_a   BIGINT REFERENCES eval_runs(id),
    eval_run_id_b   BIGINT REFERENCES eval_runs(id),
    kappa           NUMERIC(5,4) NOT NULL,
    PRIMARY KEY (eval_run_id_a, eval_run_id_b)
);
RESET search_path;
"""
"""The two tables as they were published; evalq may add to them, never take away."""

COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       replace(pg_get_expr(d.adbin, d.adrelid), 'seed.', '')
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (c.oid, a.attnum)
WHERE c.relnamespace = %s::regnamespace AND c.relname IN ('eval_runs', 'eval_kappa') AND a.attnum > 0
ORDER BY c.relname, a.attnum
"""
INDEXES = """
SELECT indexname, replace(indexdef, schemaname || '.', '') FROM pg_indexes
WHERE schemaname = %s AND tablename IN ('eval_runs', 'eval_kappa')
"""
CONSTRAINTS = """
SELECT conname, replace(pg_get_constraintdef(oid), 'seed.', '') FROM pg_constraint
WHERE connamespace = %s::regnamespace AND contype IN ('p', 'f')
  AND conrelid IN (SELECT oid FROM pg_class WHERE relname IN ('eval_runs', 'eval_kappa'))
"""


def with_numbers(text: str) -> str:
    """The statement as the server sees it: each named parameter a number."""
    numbers: dict[str, int] = {}
    numbered = re.sub(r"%\((\w+)\)s", lambda m: f"${numbers.setdefault(m[1], len(numbers) + 1)}", text)
    return numbered.replace("%%", "%").rstrip(";")


def test_every_query_prepares_against_the_schema(db: Database) -> None:
    failures = {}
    with psycopg.connect(db.url, autocommit=True) as connection:
        for name, text in PREPARABLE.items():
            try:
                connection.execute(f"PREPARE {name} AS {with_numbers(text)}".encode())
            except psycopg.Error as exc:
                failures[name] = str(exc)
    assert failures == {}


def test_every_table_of_a_bake_off_exists(sql: Sql) -> None:
    expected = {"definitions", "cases", "bakeoffs", "runs", "jobs", "completions", "outcomes", "grades"}
    expected |= {
        "call_journal",
        "verdict_cache",
        "verdict_uses",
        "eval_runs",
        "eval_kappa",
        "schema_versions",
    }
    tables = {row[0] for row in sql("SELECT tablename FROM pg_tables WHERE schemaname = 'evalq'")}
    assert expected <= tables


def test_the_published_columns_are_kept_but_for_an_accuracy_that_may_be_unknown(sql: Sql) -> None:
    sql(SEED)
    loosened = [(*row[:3], False, row[4]) if row[1] == "accuracy" else row for row in sql(COLUMNS, "seed")]
    ours = {
        table: [row for row in sql(COLUMNS, "evalq") if row[0] == table]
        for table in ("eval_runs", "eval_kappa")
    }
    for table, rows in ours.items():
        published = [row for row in loosened if row[0] == table]
        assert rows[: len(published)] == published


def test_the_published_indexes_and_keys_are_kept(sql: Sql) -> None:
    sql(SEED)
    assert set(sql(INDEXES, "seed")) <= set(sql(INDEXES, "evalq"))
    assert len(sql(INDEXES, "seed")) == 4
    assert set(sql(CONSTRAINTS, "seed")) <= set(sql(CONSTRAINTS, "evalq"))
    assert len(sql(CONSTRAINTS, "seed")) == 4
