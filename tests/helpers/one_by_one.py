"""One job at a time: the statements of schema 8 that batches replaced, to compare them with."""

import json
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from evalq.records import Grade, Outcome
from evalq.store import calls, jobs
from evalq.store.database import Database, known_version, schema_files

BATCHES_VERSION = 9

CLAIM = """
WITH claimed AS (
    UPDATE jobs j SET state = 'leased', fence = j.fence + 1, attempt = j.attempt + 1,
           lease_until = now() + interval '60 seconds'
    FROM runs r, bakeoffs b
    WHERE j.id = %(job_id)s AND r.id = j.run_id AND b.id = j.bakeoff_id AND b.state = 'running'
      AND r.state = 'running' AND j.state IN ('ready', 'queued') AND j.not_before <= now()
      AND b.schema_version <= %(schema_version)s
      AND NOT EXISTS (SELECT 1 FROM schema_versions v WHERE v.version > %(schema_version)s)
    RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.stage, j.fence, j.attempt,
              j.losses, j.refill, r.judge, r.provider, r.judge_sha, b.task_sha, b.eval_set_sha, b.grader_shas,
              b.seed, b.ambiguous_repeats
)
SELECT claimed.*, c.body::text AS case_body, k.state AS kept_state, k.answer, k.model, k.request_id,
       k.input_tokens, k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM claimed
JOIN cases c ON c.eval_set_sha = claimed.eval_set_sha AND c.case_id = claimed.case_id
LEFT JOIN completions k ON k.job_id = claimed.id
"""
RELEASE = """
UPDATE jobs SET state = 'ready', lease_until = NULL, queued_at = NULL,
       not_before = now() + make_interval(secs => %(wait_s)s)
WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased' RETURNING id
"""
FINISH = """
WITH done AS (
    UPDATE jobs SET state = 'done', lease_until = NULL
    WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased'
    RETURNING id, run_id, bakeoff_id, case_id, sample, attempt
), ended AS (
    INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
    SELECT id, run_id, bakeoff_id, case_id, sample, %(verdict)s, %(error_kind)s, %(message)s, attempt
    FROM done
    ON CONFLICT DO NOTHING
), graded AS (
    INSERT INTO grades (job_id, grader, passed, score, reason, kind, required, weight, pending, details,
                        ordinal)
    SELECT done.id, g.grader, g.passed, g.score, g.reason, g.kind, g.required, g.weight, g.pending, g.details,
           g.ordinal
    FROM done, jsonb_to_recordset(%(grades)s) AS g (grader text, passed boolean, score float8, reason text,
         kind text, required boolean, weight float8, pending boolean, details jsonb, ordinal smallint)
    ON CONFLICT DO NOTHING
)
SELECT id FROM done
"""
RESERVE = """
WITH run AS (
    SELECT j.id AS job_id, r.state = 'paused' AND %(purpose)s = 'answer' AS is_stopped
    FROM jobs j JOIN runs r ON r.id = j.run_id WHERE j.id = %(job_id)s
)
SELECT call.call_id, call.refusal
FROM run CROSS JOIN LATERAL reserve_call(%(bakeoff_id)s, run.job_id, %(purpose)s, %(judge)s, %(provider)s,
    %(model)s, %(key)s, %(attempt)s, %(usd)s::numeric, %(margin)s::numeric) AS call
WHERE NOT run.is_stopped
UNION ALL SELECT NULL, 'stopped' FROM run WHERE run.is_stopped
"""
SETTLE = """
SELECT settle_call(%(call_id)s, %(state)s, %(cost_usd)s::numeric, %(usage)s::jsonb, %(request_id)s,
    %(latency_ms)s, %(fault_kind)s, %(fault_message)s, %(completion_state)s, %(answer)s, %(model)s,
    %(input_tokens)s, %(output_tokens)s, %(tool_calls)s::jsonb)
"""


def apply_old_schema(db: Database) -> None:
    """Make a database of the whole schema but batches."""
    with db.transaction() as tx:
        tx.run("create_schema_versions")
        for file in schema_files():
            if file.version == BATCHES_VERSION:
                continue
            tx.script(file.sql)
            tx.run("note_schema_version", version=file.version, name=file.name)


class OneByOne:
    """A job's life in a database of the old schema, a statement and a commit a step."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def _row(self, statement: str, params: dict[str, Any]) -> dict[str, Any] | None:
        cursor = self._connection.cursor(row_factory=dict_row)
        return cursor.execute(statement.encode(), params).fetchone()

    def claim(self, job_id: int) -> jobs.Job | None:
        row = self._row(CLAIM, {"job_id": job_id, "schema_version": known_version()})
        return jobs.read_job(row) if row else None

    def reserve(self, job: jobs.Job, call: calls.Call) -> int | None:
        row = self._row(RESERVE, json.loads(calls.encode_reservation(job, call)))
        return calls.read_reservation(job, call, row)

    def settle(self, call_id: int, settlement: calls.Settlement) -> None:
        self._row(SETTLE, {**settlement, "call_id": call_id})

    def finish(self, job: jobs.Job, outcome: Outcome, grades: Sequence[Grade]) -> bool:
        end = json.loads(jobs.encode_end(job, outcome, grades))
        return self._row(FINISH, {**end, "grades": json.dumps(end["grades"])}) is not None

    def release(self, job: jobs.Job, *, wait_s: float) -> None:
        self._row(RELEASE, json.loads(jobs.encode_release(job, wait_s)))
