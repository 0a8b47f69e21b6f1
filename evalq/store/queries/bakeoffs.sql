-- Bake-offs and their runs: recorded, listed, stopped, reopened, concluded.

-- add_bakeoff --
-- Record a bake-off.
INSERT INTO bakeoffs (uid, task_name, eval_set_name, scorer_mode, grader_model, run_type, task_sha,
                      eval_set_sha, grader_shas, seed, samples, cap_usd, git_sha, prices_as_of, ambiguous_repeats,
                      schema_version, rescored_from, notes, name)
VALUES (%(uid)s, %(task_name)s, %(eval_set_name)s, %(scorer_mode)s, %(grader_model)s, %(run_type)s, %(task_sha)s,
        %(eval_set_sha)s, %(grader_shas)s, %(seed)s, %(samples)s, %(cap_usd)s, %(git_sha)s,
        %(prices_as_of)s, %(ambiguous_repeats)s, %(schema_version)s, %(rescored_from)s, %(notes)s, %(name)s)
RETURNING id;

-- add_run --
-- Record one judge's run of a bake-off.
INSERT INTO runs (bakeoff_id, judge, vendor, provider, gate, judge_sha, n_jobs, window_size, rescored_from)
VALUES (%(bakeoff_id)s, %(judge)s, %(vendor)s, %(provider)s, %(gate)s, %(judge_sha)s, %(n_jobs)s, %(window_size)s,
        %(rescored_from)s)
RETURNING id;

-- copy_jobs --
-- Bulk load of a bake-off's jobs.
COPY jobs (run_id, bakeoff_id, case_id, sample, gate, position, priority) FROM STDIN;

-- bakeoff --
-- One bake-off.
SELECT id, uid, task_name, eval_set_name, scorer_mode, grader_model, run_type, task_sha, eval_set_sha, seed,
       samples, state, cap_usd, reserved_usd, spent_usd, prices_as_of, stop_reason, created_at, now() AS read_at,
       rescored_from, result::text AS result,
       CASE WHEN state = 'concluded' THEN concluded_at WHEN state <> 'running' THEN greatest(created_at,
           (SELECT max(o.finished_at) FROM outcomes o WHERE o.bakeoff_id = bakeoffs.id)) END AS ended_at
FROM bakeoffs WHERE id = %(bakeoff_id)s;

-- bakeoff_provenance --
-- What a bake-off was made from: the commit, when it concluded, and the hashes of its graders and judges.
SELECT git_sha, notes, name, created_at, concluded_at, grader_shas,
       (SELECT json_object_agg(r.judge, r.judge_sha ORDER BY r.id) FROM runs r WHERE r.bakeoff_id = bakeoffs.id) AS judge_shas
FROM bakeoffs WHERE id = %(bakeoff_id)s;

-- bakeoff_ids --
-- The newest bake-offs of other run types than some, newest first.
SELECT id FROM bakeoffs WHERE run_type <> ALL(%(aside)s) ORDER BY id DESC LIMIT %(limit)s;

-- bakeoff_rows --
-- The newest bake-offs, newest first, with how many of their jobs have ended.
SELECT b.id, b.task_name, b.eval_set_name, b.state, b.spent_usd, b.cap_usd, b.created_at,
       (SELECT coalesce(sum(n_jobs), 0) FROM runs r WHERE r.bakeoff_id = b.id) AS n_jobs,
       (SELECT count(*) FROM outcomes o WHERE o.bakeoff_id = b.id) AS n_done,
       b.result::text AS result, b.run_type, b.name, b.notes,
       ARRAY(SELECT r.id FROM runs r WHERE r.bakeoff_id = b.id ORDER BY r.id) AS run_ids,
       ARRAY(SELECT r.judge FROM runs r WHERE r.bakeoff_id = b.id ORDER BY r.id) AS judges
FROM bakeoffs b ORDER BY b.id DESC LIMIT %(limit)s;

-- asked_before --
-- The newest concluded bake-off that put the same questions to the same judge.
SELECT b.id FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE b.run_type = %(run_type)s AND b.state = 'concluded' AND b.task_sha = %(task_sha)s
  AND b.eval_set_sha = %(eval_set_sha)s AND b.seed = %(seed)s
  AND r.judge_sha = %(judge_sha)s AND r.state = 'concluded'
ORDER BY b.id DESC LIMIT 1;

-- runs --
-- The runs of a bake-off in the order its judges were named.
SELECT r.id, r.judge, r.vendor, r.provider, r.gate, r.n_jobs, r.state, r.pause_reason, r.rescored_from,
       EXISTS (SELECT 1 FROM definitions j, jsonb_each_text(b.grader_shas) s JOIN definitions g ON g.sha256 = s.value
               WHERE j.sha256 = r.judge_sha
                 AND (g.name = j.name OR (g.body ->> 'provider' = j.body ->> 'provider'
                                          AND g.body ->> 'model' = j.body ->> 'model'))) AS grades_itself
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY r.id;

-- run_place --
-- The bake-off and the judge of a run.
SELECT bakeoff_id, judge FROM runs WHERE id = %(run_id)s;

-- set_bakeoff_state --
-- Move a bake-off from one of some states to another, not to concluded; no row when it is in none of them.
UPDATE bakeoffs SET state = %(state)s, stop_reason = NULL, concluded_at = NULL, result = NULL
WHERE id = %(bakeoff_id)s AND state = ANY(%(from_states)s) RETURNING id;

-- pause_bakeoff --
-- Pause a running bake-off, with the reason.
UPDATE bakeoffs SET state = 'paused', stop_reason = %(reason)s WHERE id = %(bakeoff_id)s AND state = 'running'
RETURNING id;

-- cap_bakeoff --
-- Stop a running bake-off at a cap, with the reason.
UPDATE bakeoffs SET state = 'capped', stop_reason = %(reason)s WHERE id = %(bakeoff_id)s AND state = 'running'
RETURNING id;

-- pause_run --
-- Pause one running judge, with the reason; the others go on.
UPDATE runs SET state = 'paused', pause_reason = %(reason)s WHERE id = %(run_id)s AND state = 'running' RETURNING id;

-- set_cap --
-- Give a bake-off another cap, not below what is spent and reserved.
UPDATE bakeoffs SET cap_usd = greatest(%(cap_usd)s, spent_usd + reserved_usd)
WHERE id = %(bakeoff_id)s RETURNING cap_usd;

-- lock_bakeoff --
-- One conclusion in a bake-off at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('conclude:' || %(bakeoff_id)s, 0));

-- reopen_queued --
-- Make jobs of a reopened bake-off ready whose messages may be lost.
-- Messages of stopped runs may have been dropped; older messages of the others may have been lost with their fleet.
UPDATE jobs SET state = 'ready', queued_at = NULL, not_before = '-infinity'
WHERE bakeoff_id = %(bakeoff_id)s AND state IN ('queued', 'ready')
  AND (run_id = ANY(%(stopped)s) OR queued_at < now() - make_interval(secs => %(older_s)s));

-- reopen_runs --
-- Set some runs to running.
UPDATE runs SET state = 'running', pause_reason = NULL WHERE id = ANY(%(run_ids)s) AND state <> 'running';

-- supersede_errors --
-- Make the errored jobs of some runs ready: set their outcomes and broken answers aside, delete their grades.
-- An answer that is only ungraded is paid for and stays. retried_at is the clock's time, not the transaction's start:
-- the transaction may have waited for its lock while calls were made.
WITH errored AS (
    -- A rescoring bake-off asks no judge, so a job without an answer stays errored.
    DELETE FROM outcomes o USING runs r
    WHERE o.run_id = ANY(%(run_ids)s) AND r.id = o.run_id AND o.verdict = 'errored' AND (r.rescored_from IS NULL
          OR EXISTS (SELECT 1 FROM completions k WHERE k.job_id = o.job_id AND k.state = 'answered'))
    RETURNING o.job_id, o.verdict, o.error_kind, o.message, o.attempts, o.finished_at
), set_aside AS (
    INSERT INTO superseded_outcomes (job_id, verdict, error_kind, message, attempts, completion_state, answer, finished_at)
    SELECT e.job_id, e.verdict, e.error_kind, e.message, e.attempts, k.state, k.answer, e.finished_at
    FROM errored e LEFT JOIN completions k ON k.job_id = e.job_id AND k.state <> 'answered'
), unmarked AS (
    DELETE FROM grades g USING errored e WHERE g.job_id = e.job_id
), unanswered AS (
    DELETE FROM completions k USING errored e WHERE k.job_id = e.job_id AND k.state <> 'answered'
)
UPDATE jobs j SET state = 'ready', losses = 0, not_before = '-infinity', queued_at = NULL, retried_at = clock_timestamp(),
       stage = 'call', gate = r.gate
FROM errored e, runs r WHERE j.id = e.job_id AND r.id = j.run_id RETURNING j.run_id;

-- unanswered_runs --
-- Those of some runs whose judge has answered nothing so far: every outcome is a failed call that nobody billed.
SELECT run_id FROM outcomes WHERE run_id = ANY(%(run_ids)s)
GROUP BY run_id HAVING bool_and(verdict = 'errored' AND error_kind IN ('call_permanent', 'call_transient'));

-- reopen_eval_runs --
-- Mark the rows of runs that go on, and delete their agreements: both are written again when the runs end or stop.
WITH agreements AS (
    DELETE FROM eval_kappa WHERE eval_run_id_a = ANY(%(run_ids)s) OR eval_run_id_b = ANY(%(run_ids)s)
)
UPDATE eval_runs SET state = 'running' WHERE id = ANY(%(run_ids)s);

-- running_runs --
-- How many runs of a bake-off are running; a paused one is not.
SELECT count(*) AS n FROM runs WHERE bakeoff_id = %(bakeoff_id)s AND state = 'running';

-- conclude_run --
-- Mark a run as concluded; no row when it was.
UPDATE runs SET state = 'concluded', pause_reason = NULL WHERE id = %(run_id)s AND state <> 'concluded' RETURNING id;

-- conclude_bakeoff --
-- Close a bake-off with its result.
UPDATE bakeoffs SET state = 'concluded', concluded_at = clock_timestamp(), result = %(result)s WHERE id = %(bakeoff_id)s;

-- concludable_runs --
-- Runs that are not concluded although all their jobs have ended.
SELECT r.id FROM runs r WHERE r.state <> 'concluded'
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = r.id AND j.state <> 'done') ORDER BY r.id;

-- unrecorded_runs --
-- Runs that were stopped, have no job in hand, and have no row in eval_runs that says so.
SELECT b.id AS bakeoff_id, r.id
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id LEFT JOIN eval_runs e ON e.id = r.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND r.state <> 'concluded'
  AND (b.state IN ('paused', 'capped', 'cancelled') OR r.state = 'paused')
  AND e.state IS DISTINCT FROM CASE WHEN b.state IN ('running', 'concluded') THEN 'paused' ELSE b.state END
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = r.id AND j.state = 'leased') ORDER BY b.id, r.id;

-- unconcluded_bakeoffs --
-- Running bake-offs without a running run: the last one was paused.
SELECT b.id FROM bakeoffs b WHERE b.state = 'running'
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.bakeoff_id = b.id AND r.state = 'running') ORDER BY b.id;
