-- Every statement the program runs, by name. One test prepares them all against the schema.

-- create_schema_versions --
-- Where the applied schema files are remembered.
CREATE TABLE IF NOT EXISTS schema_versions (
    version INT PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- server_version --
-- For the doctor.
SELECT current_setting('server_version') AS version;

-- lock_schema --
-- One schema change at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('schema', 0));

-- schema_version --
-- The number of the newest schema file applied; no row before the first.
SELECT max(version) AS version FROM schema_versions;

-- installation --
-- The name of this database.
SELECT uid FROM installation;

-- note_schema_version --
-- Remember that a schema file was applied.
INSERT INTO schema_versions (version, name) VALUES (%(version)s, %(name)s);

-- add_definition --
-- Keep a snapshot; the same content twice is one row.
INSERT INTO definitions (sha256, kind, name, body) VALUES (%(sha256)s, %(kind)s, %(name)s, %(body)s)
ON CONFLICT (sha256) DO NOTHING RETURNING sha256;

-- definition --
-- A snapshot's text.
SELECT body::text AS body FROM definitions WHERE sha256 = %(sha256)s;

-- add_bakeoff --
-- Record a bake-off.
INSERT INTO bakeoffs (uid, task_name, eval_set_name, scorer_mode, grader_model, run_type, task_sha,
                      eval_set_sha, grader_shas, seed, samples, cap_usd, git_sha, prices_as_of, ambiguous_repeats,
                      schema_version, rescored_from)
VALUES (%(uid)s, %(task_name)s, %(eval_set_name)s, %(scorer_mode)s, %(grader_model)s, %(run_type)s, %(task_sha)s,
        %(eval_set_sha)s, %(grader_shas)s, %(seed)s, %(samples)s, %(cap_usd)s, %(git_sha)s,
        %(prices_as_of)s, %(ambiguous_repeats)s, %(schema_version)s, %(rescored_from)s)
RETURNING id;

-- add_run --
-- Record one judge's run of a bake-off.
INSERT INTO runs (bakeoff_id, judge, vendor, provider, gate, judge_sha, n_jobs, window_size, rescored_from)
VALUES (%(bakeoff_id)s, %(judge)s, %(vendor)s, %(provider)s, %(gate)s, %(judge_sha)s, %(n_jobs)s, %(window_size)s,
        %(rescored_from)s)
RETURNING id;

-- copy_cases --
-- Bulk load of an evalset's cases.
COPY cases (eval_set_sha, case_id, ordinal, stratum, body) FROM STDIN;

-- copy_jobs --
-- Bulk load of a bake-off's jobs.
COPY jobs (run_id, bakeoff_id, case_id, sample, gate, position, priority) FROM STDIN;

-- bakeoff --
-- One bake-off.
SELECT id, uid, task_name, eval_set_name, scorer_mode, grader_model, run_type, task_sha, eval_set_sha, seed,
       samples, state, cap_usd, reserved_usd, spent_usd, prices_as_of, stop_reason, created_at, now() AS read_at,
       rescored_from, result::text AS result
FROM bakeoffs WHERE id = %(bakeoff_id)s;

-- bakeoff_ids --
-- The newest bake-offs, newest first.
SELECT id FROM bakeoffs ORDER BY id DESC LIMIT %(limit)s;

-- bakeoff_rows --
-- The list of bake-offs, newest first, with how far each is.
SELECT b.id, b.task_name, b.eval_set_name, b.state, b.spent_usd, b.cap_usd, b.created_at,
       (SELECT sum(n_jobs) FROM runs r WHERE r.bakeoff_id = b.id) AS n_jobs,
       (SELECT count(*) FROM outcomes o WHERE o.bakeoff_id = b.id) AS n_done,
       b.result::text AS result
FROM bakeoffs b ORDER BY b.id DESC LIMIT %(limit)s;

-- runs --
-- The runs of a bake-off in the order its judges were named.
SELECT r.id, r.judge, r.vendor, r.provider, r.gate, r.n_jobs, r.state, r.pause_reason, r.rescored_from,
       EXISTS (SELECT 1 FROM definitions j, jsonb_each_text(b.grader_shas) s JOIN definitions g ON g.sha256 = s.value
               WHERE j.sha256 = r.judge_sha
                 AND (g.name = j.name OR (g.body ->> 'provider' = j.body ->> 'provider'
                                          AND g.body ->> 'model' = j.body ->> 'model'))) AS grades_itself
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY r.id;

-- run_judges --
-- Which snapshot of its judge each run of a bake-off was given.
SELECT judge, judge_sha FROM runs WHERE bakeoff_id = %(bakeoff_id)s ORDER BY id;

-- run --
-- One run, to conclude it.
SELECT id, bakeoff_id, state, n_jobs FROM runs WHERE id = %(run_id)s;

-- set_bakeoff_state --
-- Move a bake-off from one of some states to another that is not its end; no row when it was in none of them.
UPDATE bakeoffs SET state = %(state)s, stop_reason = NULL, concluded_at = NULL, result = NULL
WHERE id = %(bakeoff_id)s AND state = ANY(%(from_states)s) RETURNING id;

-- gates_with_ready_jobs --
-- The gates that have jobs to publish now.
SELECT DISTINCT j.gate FROM jobs j JOIN bakeoffs b ON b.id = j.bakeoff_id JOIN runs r ON r.id = j.run_id
WHERE j.state = 'ready' AND j.not_before <= now() AND b.state = 'running' AND r.state = 'running' ORDER BY j.gate;

-- lock_gate --
-- One pump per gate at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('gate:' || %(gate)s, 0));

-- queue_window --
-- Mark the next ready jobs of a gate as queued, up to its window; the middle one will ask for more.
WITH open AS (
    SELECT r.id, r.window_size FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id
    WHERE (r.gate = %(gate)s OR %(gate)s = 'sandbox') AND r.state = 'running' AND b.state = 'running'
), room AS (
    -- Messages of a stopped run are dropped by whoever receives them: they take no room.
    SELECT greatest((SELECT max(window_size) FROM open) - count(*), 0) AS n
    FROM jobs j LEFT JOIN open ON open.id = j.run_id
    WHERE j.gate = %(gate)s AND (j.state = 'leased' OR j.state = 'queued' AND open.id IS NOT NULL)
), next AS (
    SELECT j.id, row_number() OVER (ORDER BY j.priority, j.position, j.id) AS place
    FROM jobs j JOIN open ON open.id = j.run_id
    WHERE j.gate = %(gate)s AND j.state = 'ready' AND j.not_before <= now()
    ORDER BY j.priority, j.position, j.id LIMIT (SELECT n FROM room)
)
UPDATE jobs j SET state = 'queued', queued_at = now(),
       refill = next.place = (SELECT max(place) + 1 FROM next) / 2
FROM next, runs r, bakeoffs b
WHERE j.id = next.id AND r.id = j.run_id AND b.id = j.bakeoff_id
RETURNING j.id, j.run_id, next.place, r.judge, r.provider, j.stage, r.n_jobs, b.uid;

-- claim_job --
-- Lease a job that is open, whose time has come and whose bake-off is running; no row: nothing to do. Not if bake-off
-- or database are newer than the worker: it might pay for an answer that it cannot store any more. A lease that ran
-- out is not taken over here: reap counts the loss first.
WITH claimed AS (
    UPDATE jobs j SET state = 'leased', fence = j.fence + 1, attempt = j.attempt + 1,
           lease_until = now() + make_interval(secs => %(lease_s)s)
    FROM runs r, bakeoffs b
    WHERE j.id = %(job_id)s AND r.id = j.run_id AND b.id = j.bakeoff_id AND b.state = 'running'
      AND r.state = 'running' AND j.state IN ('ready', 'queued') AND j.not_before <= now()
      AND b.schema_version <= %(schema_version)s
      AND NOT EXISTS (SELECT 1 FROM schema_versions v WHERE v.version > %(schema_version)s)
    RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.stage, j.fence, j.attempt, j.losses,
              j.refill, r.judge, r.provider, r.judge_sha, b.task_sha, b.eval_set_sha, b.grader_shas, b.seed,
              b.ambiguous_repeats
)
SELECT claimed.*, c.body::text AS case_body, k.state AS kept_state, k.answer, k.model, k.request_id,
       k.input_tokens, k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM claimed
JOIN cases c ON c.eval_set_sha = claimed.eval_set_sha AND c.case_id = claimed.case_id
LEFT JOIN completions k ON k.job_id = claimed.id;

-- held_job --
-- A job somebody leased for the asking process, as claim_job returns it.
SELECT j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.stage, j.fence, j.attempt, j.losses, j.refill,
       r.judge, r.provider, r.judge_sha, b.task_sha, b.grader_shas, b.seed, b.ambiguous_repeats,
       c.body::text AS case_body, k.state AS kept_state, k.answer, k.model, k.request_id, k.input_tokens,
       k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN bakeoffs b ON b.id = j.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
LEFT JOIN completions k ON k.job_id = j.id
WHERE j.id = %(job_id)s AND j.fence = %(fence)s AND j.state = 'leased';

-- extend_leases --
-- Heartbeat: the jobs a worker still has in hand keep their lease.
UPDATE jobs j SET lease_until = now() + make_interval(secs => %(lease_s)s)
FROM unnest(%(job_ids)s::bigint[], %(fences)s::bigint[]) AS held (id, fence)
WHERE j.id = held.id AND j.fence = held.fence AND j.state = 'leased';

-- release_job --
-- Put a job back, not to be tried before a while; only by the holder of its lease.
UPDATE jobs SET state = 'ready', lease_until = NULL, queued_at = NULL,
       not_before = now() + make_interval(secs => %(wait_s)s)
WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased' RETURNING id;

-- release_held --
-- Put back the jobs a worker has in hand: it must leave before they end.
UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL
FROM unnest(%(job_ids)s::bigint[], %(fences)s::bigint[]) AS held (id, fence)
WHERE j.id = held.id AND j.fence = held.fence AND j.state = 'leased';

-- lose_job --
-- A job whose process died: its holder lives and says so, without waiting for the lease to run out.
UPDATE jobs SET state = 'ready', lease_until = NULL, queued_at = NULL, losses = losses + 1
WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased' RETURNING id;

-- end_poisoned --
-- Jobs that killed their worker too often end as errored, so that the others go on.
WITH done AS (
    UPDATE jobs SET state = 'done', queued_at = NULL WHERE state = 'ready' AND losses >= %(limit)s
    RETURNING id, run_id, bakeoff_id, case_id, sample, attempt, losses
), ended AS (
    INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
    SELECT id, run_id, bakeoff_id, case_id, sample, 'errored', 'worker_lost',
           format('its worker died %%s times with this job in hand', losses), attempt FROM done
    ON CONFLICT DO NOTHING
)
SELECT id, run_id, case_id FROM done;

-- reserve --
-- Set a call's worst case aside under every cap and open its journal row, or say what refuses it.
-- A paused judge is not asked any more, but what it has answered is still graded.
WITH run AS (
    SELECT j.id AS job_id, r.state = 'paused' AND %(purpose)s = 'answer' AS is_stopped
    FROM jobs j JOIN runs r ON r.id = j.run_id WHERE j.id = %(job_id)s
)
SELECT call.call_id, call.refusal
FROM run CROSS JOIN LATERAL reserve_call(%(bakeoff_id)s, run.job_id, %(purpose)s, %(judge)s, %(provider)s, %(model)s,
    %(key)s, %(attempt)s, %(usd)s, %(margin)s) AS call
WHERE NOT run.is_stopped
UNION ALL SELECT NULL, 'stopped' FROM run WHERE run.is_stopped;

-- pause_bakeoff --
-- Stop a bake-off that cannot go on, saying why.
UPDATE bakeoffs SET state = 'paused', stop_reason = %(reason)s WHERE id = %(bakeoff_id)s AND state = 'running'
RETURNING id;

-- cap_bakeoff --
-- Stop a bake-off at a cap, saying which.
UPDATE bakeoffs SET state = 'capped', stop_reason = %(reason)s WHERE id = %(bakeoff_id)s AND state = 'running'
RETURNING id;

-- set_spending_cap --
-- A daily cap; its day so far is summed up from the journal when it is new.
WITH cap AS (
    INSERT INTO spending_caps (scope, cap_usd) VALUES (%(scope)s, %(cap_usd)s)
    ON CONFLICT (scope) DO UPDATE SET cap_usd = excluded.cap_usd RETURNING scope
)
INSERT INTO spending (scope, day, reserved_usd, spent_usd)
SELECT cap.scope, (now() AT TIME ZONE 'UTC')::date,
       coalesce(sum(c.reserved_usd) FILTER (WHERE c.state IN ('reserved', 'sent')), 0), coalesce(sum(c.cost_usd), 0)
FROM cap LEFT JOIN call_journal c ON (cap.scope = 'day' OR cap.scope = 'provider:' || c.provider)
     AND c.reserved_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
GROUP BY cap.scope ON CONFLICT DO NOTHING;

-- drop_spending_caps --
-- Daily caps that the settings no longer name; their sums too, which nobody would keep up until they are set again.
WITH dropped AS (
    DELETE FROM spending_caps WHERE scope <> ALL(%(scopes)s) RETURNING scope
), locked AS (
    SELECT s.scope, s.day FROM spending s JOIN dropped ON dropped.scope = s.scope
    ORDER BY s.scope, s.day FOR UPDATE OF s
)
DELETE FROM spending s USING locked WHERE s.scope = locked.scope AND s.day = locked.day;

-- settle --
-- Close a call: its price replaces its reservation; an answer is stored in the same statement.
SELECT settle_call(%(call_id)s, %(state)s, %(cost_usd)s::numeric, %(usage)s::jsonb, %(request_id)s, %(latency_ms)s, %(fault_kind)s,
    %(fault_message)s, %(completion_state)s, %(answer)s, %(model)s, %(input_tokens)s, %(output_tokens)s,
    %(tool_calls)s::jsonb);

-- tries --
-- The calls made so far for one question of a job, since it was last retried.
SELECT count(*) AS made, count(*) FILTER (WHERE c.state IN ('sent', 'unknown')) AS ambiguous
FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.job_id = %(job_id)s AND c.key = %(key)s AND c.reserved_at > j.retried_at;

-- paid_reply --
-- What a grader model said to a question of a job before its worker was lost.
SELECT c.reply_state, c.reply, c.cost_usd FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.job_id = %(job_id)s AND c.key = %(key)s AND c.reply_state IS NOT NULL AND c.reserved_at > j.retried_at
ORDER BY c.id LIMIT 1;

-- close_lost_calls --
-- Calls in flight of workers that lost their jobs: perhaps billed, so their reservations count as spent.
SELECT close_lost_calls(%(job_ids)s);

-- finish_job --
-- The end of a job: outcome and grades, if the lease still holds; no row: someone else has it.
WITH done AS (
    UPDATE jobs SET state = 'done', lease_until = NULL
    WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased'
    RETURNING id, run_id, bakeoff_id, case_id, sample, attempt
), ended AS (
    INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
    SELECT id, run_id, bakeoff_id, case_id, sample, %(verdict)s, %(error_kind)s, %(message)s, attempt FROM done
    ON CONFLICT DO NOTHING
), graded AS (
    INSERT INTO grades (job_id, grader, passed, score, reason, kind, required, weight, pending, details, ordinal)
    SELECT done.id, g.grader, g.passed, g.score, g.reason, g.kind, g.required, g.weight, g.pending, g.details, g.ordinal
    FROM done, jsonb_to_recordset(%(grades)s) AS g (grader text, passed boolean, score float8, reason text, kind text,
         required boolean, weight float8, pending boolean, details jsonb, ordinal smallint)
    ON CONFLICT DO NOTHING
)
SELECT id FROM done;

-- hand_over_job --
-- A job whose answer holds code to run: what is graded so far is kept, and a worker without keys goes on with it.
WITH handed AS (
    UPDATE jobs SET state = 'ready', stage = 'sandbox', gate = 'sandbox', lease_until = NULL, queued_at = NULL
    WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased' RETURNING id
), graded AS (
    INSERT INTO grades (job_id, grader, passed, score, reason, kind, required, weight, pending, details, ordinal)
    SELECT handed.id, g.grader, g.passed, g.score, g.reason, g.kind, g.required, g.weight, g.pending, g.details, g.ordinal
    FROM handed, jsonb_to_recordset(%(grades)s) AS g (grader text, passed boolean, score float8, reason text, kind text,
         required boolean, weight float8, pending boolean, details jsonb, ordinal smallint)
    ON CONFLICT DO NOTHING
)
SELECT id FROM handed;

-- job_grades --
-- The grades a job has so far, in the order of its graders.
SELECT grader, passed, score, reason, required, weight, kind, pending, details FROM grades WHERE job_id = %(job_id)s
ORDER BY ordinal, grader;

-- opponent --
-- What another judge of a bake-off said to a case, as far as it has come.
SELECT k.state, k.answer, j.state AS job_state, r.state AS run_state
FROM runs r JOIN jobs j ON j.run_id = r.id LEFT JOIN completions k ON k.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s AND r.judge = %(judge)s AND j.case_id = %(case_id)s AND j.sample = %(sample)s;

-- cached_verdict --
-- A verdict given before to exactly this question, noted as used by this job.
WITH hit AS (
    SELECT key, verdict, reason, cost_usd FROM verdict_cache WHERE key = %(key)s
), used AS (
    INSERT INTO verdict_uses (job_id, key, bakeoff_id, saved_usd)
    SELECT %(job_id)s, key, %(bakeoff_id)s, cost_usd FROM hit ON CONFLICT DO NOTHING
)
SELECT verdict, reason FROM hit;

-- keep_verdict --
-- Remember a verdict; the first one stays.
INSERT INTO verdict_cache (key, verdict, reason, grader_model, cost_usd)
VALUES (%(key)s, %(verdict)s, %(reason)s, %(grader_model)s, %(cost_usd)s) ON CONFLICT DO NOTHING;

-- lock_bakeoff --
-- One conclusion in a bake-off at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('conclude:' || %(bakeoff_id)s, 0));

-- open_jobs --
-- How many jobs of a run have not ended.
SELECT count(*) AS n FROM jobs WHERE run_id = %(run_id)s AND state <> 'done';

-- leased_jobs --
-- How many jobs of a bake-off are in workers' hands.
SELECT count(*) AS n FROM jobs WHERE bakeoff_id = %(bakeoff_id)s AND state = 'leased' AND lease_until > now();

-- calls_in_flight --
-- How many calls of a bake-off have been sent and not settled.
SELECT count(*) AS n FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.bakeoff_id = %(bakeoff_id)s AND c.state = 'sent' AND j.state = 'leased' AND j.lease_until > now();

-- verdicts --
-- Every outcome of a bake-off (or of one run) with what its numbers are made of, in case order.
SELECT o.run_id, o.case_id, o.sample, c.ordinal, c.stratum, o.verdict, o.error_kind, k.latency_ms
FROM outcomes o
JOIN bakeoffs b ON b.id = o.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = o.case_id
LEFT JOIN completions k ON k.job_id = o.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND (%(run_id)s::bigint IS NULL OR o.run_id = %(run_id)s)
ORDER BY c.ordinal, o.sample, o.run_id;

-- grade_scores --
-- The scores of graders that give more than a verdict, by run and grader.
SELECT o.run_id, g.grader, array_agg(g.score ORDER BY o.job_id) AS scores
FROM grades g JOIN outcomes o ON o.job_id = g.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND g.score IS NOT NULL
GROUP BY o.run_id, g.grader ORDER BY o.run_id, min(g.grader);

-- grade_opinions --
-- What the grader models of panels and comparisons said, by grader.
SELECT g.grader, array_agg(g.details ORDER BY o.job_id) AS details
FROM grades g JOIN outcomes o ON o.job_id = g.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND (%(run_id)s::bigint IS NULL OR o.run_id = %(run_id)s) AND g.details ? 'members'
GROUP BY g.grader ORDER BY g.grader;

-- call_costs --
-- Dollars and calls of a bake-off by run and purpose.
SELECT j.run_id, c.purpose, coalesce(sum(c.cost_usd), 0) AS cost_usd, count(*) AS sent,
       count(*) FILTER (WHERE c.state = 'settled') AS settled,
       count(*) FILTER (WHERE c.state = 'unknown') AS unknown,
       count(*) FILTER (WHERE c.purpose = 'answer' AND c.attempt > 1) AS retries
FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.bakeoff_id = %(bakeoff_id)s GROUP BY j.run_id, c.purpose;

-- cache_savings --
-- Verdicts of a bake-off that came from the cache, and what they would have cost.
SELECT count(*) AS n, coalesce(sum(saved_usd), 0) AS saved_usd FROM verdict_uses WHERE bakeoff_id = %(bakeoff_id)s;

-- progress --
-- One line per judge for the live display.
SELECT r.judge, r.n_jobs, r.pause_reason, count(o.job_id) AS done,
       count(*) FILTER (WHERE o.verdict = 'passed') AS n_pass,
       count(*) FILTER (WHERE o.verdict = 'failed') AS n_fail,
       count(*) FILTER (WHERE o.verdict = 'errored') AS n_error,
       count(*) FILTER (WHERE o.verdict = 'pending_review') AS n_pending,
       count(*) FILTER (WHERE o.finished_at > now() - interval '60 seconds') AS last_minute,
       (array_agg(DISTINCT o.error_kind) FILTER (WHERE o.error_kind IS NOT NULL))[1] AS error_kind,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY k.latency_ms) AS p95_latency_ms
FROM runs r
LEFT JOIN outcomes o ON o.run_id = r.id
LEFT JOIN completions k ON k.job_id = o.job_id
WHERE r.bakeoff_id = %(bakeoff_id)s GROUP BY r.id ORDER BY r.id;

-- progress_costs --
-- Dollars and retries per judge for the live display.
SELECT r.judge, coalesce(sum(c.cost_usd), 0) AS cost_usd,
       count(*) FILTER (WHERE c.purpose = 'answer' AND c.attempt > 1) AS retries,
       count(*) FILTER (WHERE c.purpose = 'grade') AS grade_calls
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN call_journal c ON c.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s GROUP BY r.id;

-- add_eval_run --
-- The run's row, over the one it has: people may have changed outcomes; notes stay. Not now(): the transaction may
-- have begun before the last outcome it waited for.
INSERT INTO eval_runs (id, task_name, eval_set_name, judge_model, scorer_mode, judge_for_scoring, n_cases, n_pass,
                       accuracy, ci_low, ci_high, p95_latency_ms, total_cost_usd, per_stratum, run_type, git_sha,
                       started_at, finished_at, bakeoff_id, n_fail, n_error, ci_method, p50_latency_ms, excluded,
                       n_pending, rescored_from)
SELECT r.id, b.task_name, b.eval_set_name, r.judge, b.scorer_mode, b.grader_model, %(n_cases)s, %(n_pass)s,
       %(accuracy)s, %(ci_low)s, %(ci_high)s, %(p95_latency_ms)s, %(total_cost_usd)s, %(per_stratum)s, b.run_type,
       b.git_sha, b.created_at, clock_timestamp(), b.id, %(n_fail)s, %(n_error)s, %(ci_method)s, %(p50_latency_ms)s,
       %(excluded)s, %(n_pending)s, r.rescored_from
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id WHERE r.id = %(run_id)s
ON CONFLICT (id) DO UPDATE
SET n_cases = excluded.n_cases, n_pass = excluded.n_pass, n_fail = excluded.n_fail, n_error = excluded.n_error,
    n_pending = excluded.n_pending, accuracy = excluded.accuracy, ci_low = excluded.ci_low, ci_high = excluded.ci_high,
    ci_method = excluded.ci_method, p50_latency_ms = excluded.p50_latency_ms, p95_latency_ms = excluded.p95_latency_ms,
    total_cost_usd = excluded.total_cost_usd, per_stratum = excluded.per_stratum, excluded = excluded.excluded,
    finished_at = excluded.finished_at;

-- add_kappa --
-- The agreement of two runs, over what was kept of it; nothing for a run without a row.
WITH turned AS (
    DELETE FROM eval_kappa WHERE eval_run_id_a = %(b)s AND eval_run_id_b = %(a)s
)
INSERT INTO eval_kappa (eval_run_id_a, eval_run_id_b, kappa, n, ac1, degenerate)
SELECT a.id, b.id, %(kappa)s, %(n)s, %(ac1)s, %(degenerate)s FROM eval_runs a, eval_runs b
WHERE a.id = %(a)s AND b.id = %(b)s FOR KEY SHARE OF a, b
ON CONFLICT (eval_run_id_a, eval_run_id_b) DO UPDATE
SET kappa = excluded.kappa, n = excluded.n, ac1 = excluded.ac1, degenerate = excluded.degenerate;

-- conclude_run --
-- Mark a run as concluded; no row when it was already.
UPDATE runs SET state = 'concluded', pause_reason = NULL WHERE id = %(run_id)s AND state <> 'concluded' RETURNING id;

-- pause_run --
-- Stop one judge, saying why; the others go on.
UPDATE runs SET state = 'paused', pause_reason = %(reason)s WHERE id = %(run_id)s AND state = 'running' RETURNING id;

-- reopen_runs --
-- Judges that were stopped, or that have jobs to run again, go on.
UPDATE runs SET state = 'running', pause_reason = NULL WHERE id = ANY(%(run_ids)s) AND state <> 'running';

-- supersede_errors --
-- Errored jobs of some runs are to be run again: their outcomes are set aside with the broken answers, their grades go.
-- An answer that could only not be graded is paid for and stays. The clock, not the transaction's start, tells earlier
-- calls from later ones: the lock may have been waited for.
WITH errored AS (
    -- Who grades stored answers anew asks for no others: what has no answer to grade stays as it ended.
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

-- drop_eval_runs --
-- A run that goes on has no row, nor any agreement: both are written when its last job has ended.
WITH agreements AS (
    DELETE FROM eval_kappa WHERE eval_run_id_a = ANY(%(run_ids)s) OR eval_run_id_b = ANY(%(run_ids)s)
)
DELETE FROM eval_runs WHERE id = ANY(%(run_ids)s);

-- running_runs --
-- How many runs of a bake-off are still on their way; a paused one is not.
SELECT count(*) AS n FROM runs WHERE bakeoff_id = %(bakeoff_id)s AND state = 'running';

-- conclude_bakeoff --
-- Close a bake-off with its result.
UPDATE bakeoffs SET state = 'concluded', concluded_at = clock_timestamp(), result = %(result)s WHERE id = %(bakeoff_id)s;

-- try_lock_reap --
-- One reaper at a time, until the transaction ends; false: another is at it.
SELECT pg_try_advisory_xact_lock(hashtextextended('reap', 0)) AS got;

-- reap_leases --
-- Jobs whose worker is gone become ready again, and the loss is counted: the job may have been its cause. Not when
-- it waited for a server (such calls have their own limit of repeats; one may have come home by way of the spool),
-- nor when it was a suspect already: those run in a process of their own, and only its death tells (Job.is_suspect).
UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL, losses = j.losses + CASE
    WHEN EXISTS (SELECT 1 FROM call_journal c WHERE c.job_id = j.id AND c.provider <> 'python'
                 AND (c.state = 'sent' OR c.settled_at > j.lease_until)) THEN 0
    WHEN j.losses >= 2 OR j.losses = 1 AND (r.provider = 'python'
         OR EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)) THEN 0
    ELSE 1 END
FROM runs r WHERE r.id = j.run_id AND j.state = 'leased' AND j.lease_until < now() RETURNING j.id;

-- stale_queues --
-- Where messages have been out for a while: these queues must be looked at.
SELECT DISTINCT j.stage, CASE WHEN j.stage = 'call' THEN r.provider ELSE '' END AS provider
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN bakeoffs b ON b.id = j.bakeoff_id
WHERE j.state = 'queued' AND b.state = 'running' AND j.queued_at < now() - make_interval(secs => %(older_s)s);

-- requeue_lost --
-- Messages out for a while while their queue is empty are lost: their jobs become ready again.
WITH lost AS (
    -- Whoever reopens the bake-off holds its rows, and must not be waited for with some of them in hand.
    SELECT j.id FROM jobs j JOIN runs r ON r.id = j.run_id
    WHERE j.stage = %(stage)s AND (j.stage <> 'call' OR r.provider = %(provider)s) AND j.state = 'queued'
      AND j.queued_at < now() - make_interval(secs => %(older_s)s) FOR NO KEY UPDATE OF j SKIP LOCKED
)
UPDATE jobs j SET state = 'ready', queued_at = NULL FROM lost WHERE j.id = lost.id RETURNING j.id;

-- reopen_queued --
-- When a bake-off goes on, jobs whose messages may be gone are published again.
-- Those of runs that were stopped may have been dropped; those of the others may have been lost with their fleet,
-- unless they were sent just now.
UPDATE jobs SET state = 'ready', queued_at = NULL, not_before = '-infinity'
WHERE bakeoff_id = %(bakeoff_id)s AND state IN ('queued', 'ready')
  AND (run_id = ANY(%(stopped)s) OR queued_at < now() - make_interval(secs => %(older_s)s));

-- concludable_runs --
-- Runs whose jobs have all ended and that nobody has concluded.
SELECT r.id FROM runs r WHERE r.state <> 'concluded'
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = r.id AND j.state <> 'done') ORDER BY r.id;

-- set_cap --
-- Give a bake-off another cap, not below what is spent and reserved.
UPDATE bakeoffs SET cap_usd = greatest(%(cap_usd)s, spent_usd + reserved_usd)
WHERE id = %(bakeoff_id)s RETURNING cap_usd;

-- inspected_answers --
-- Answers of a bake-off with verdict, error and price, for some cases, in judge order.
SELECT r.judge, o.case_id, o.sample, o.job_id, o.verdict, o.error_kind, o.message, k.answer,
       k.state AS completion_state, k.latency_ms, k.cost_usd, k.input_tokens, k.output_tokens, k.tool_calls
FROM outcomes o JOIN runs r ON r.id = o.run_id LEFT JOIN completions k ON k.job_id = o.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND o.case_id = ANY(%(case_ids)s)
ORDER BY o.case_id, r.id, o.sample;

-- judge_verdicts --
-- The verdicts of one judge of a bake-off, by case.
SELECT o.case_id, o.verdict, o.error_kind FROM outcomes o JOIN runs r ON r.id = o.run_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND r.judge = %(judge)s ORDER BY o.case_id, o.sample;

-- inspected_grades --
-- The grades behind some jobs' outcomes.
SELECT job_id, grader, passed, score, reason, kind, pending, details FROM grades WHERE job_id = ANY(%(job_ids)s)
ORDER BY job_id, ordinal, grader;

-- inspected_cases --
-- The cases of a bake-off with each judge's verdict, in evalset order.
SELECT c.case_id, c.ordinal, c.stratum, c.body::text AS body,
       array_agg(r.judge ORDER BY r.id, o.sample) AS judges, array_agg(o.verdict ORDER BY r.id, o.sample) AS verdicts
FROM bakeoffs b
JOIN cases c ON c.eval_set_sha = b.eval_set_sha
JOIN outcomes o ON o.bakeoff_id = b.id AND o.case_id = c.case_id
JOIN runs r ON r.id = o.run_id
WHERE b.id = %(bakeoff_id)s
GROUP BY c.eval_set_sha, c.case_id ORDER BY c.ordinal;

-- asked_before --
-- The newest bake-off that put the same questions to the same judge and was answered to the end.
SELECT b.id FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE b.run_type = %(run_type)s AND b.state = 'concluded' AND b.task_sha = %(task_sha)s
  AND b.eval_set_sha = %(eval_set_sha)s AND b.seed = %(seed)s
  AND r.judge_sha = %(judge_sha)s AND r.state = 'concluded'
ORDER BY b.id DESC LIMIT 1;

-- unconcluded_bakeoffs --
-- Bake-offs that have nothing left to run but are not concluded: their last run was paused.
SELECT b.id FROM bakeoffs b WHERE b.state = 'running'
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.bakeoff_id = b.id AND r.state = 'running') ORDER BY b.id;

-- calls --
-- The calls of a bake-off, one row per attempt, in order.
SELECT c.id, r.judge AS run, j.case_id, j.sample, c.purpose, c.judge, c.provider, c.model, c.key, c.attempt, c.state,
       c.reserved_usd, c.cost_usd, c.usage, c.request_id, c.fault_kind, c.fault_message, c.latency_ms, c.reserved_at,
       c.sent_at, c.settled_at
FROM call_journal c JOIN jobs j ON j.id = c.job_id JOIN runs r ON r.id = j.run_id
WHERE c.bakeoff_id = %(bakeoff_id)s AND (%(case_id)s::text IS NULL OR j.case_id = %(case_id)s)
  AND (%(judge)s::text IS NULL OR r.judge = %(judge)s)
ORDER BY c.id LIMIT %(limit)s;

-- costs --
-- Dollars since an instant, by judge, provider, purpose and day.
SELECT (c.reserved_at AT TIME ZONE 'UTC')::date AS day, c.provider, c.judge, c.purpose, count(*) AS calls,
       count(*) FILTER (WHERE c.state = 'unknown') AS unknown, coalesce(sum(c.cost_usd), 0) AS cost_usd,
       coalesce(sum(c.reserved_usd) FILTER (WHERE c.state IN ('reserved', 'sent')), 0) AS in_flight_usd
FROM call_journal c WHERE c.reserved_at >= %(since)s
GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, cost_usd DESC, 2, 3, 4;

-- smoke_answers --
-- What each judge of a bake-off said to its first case, answered or not.
SELECT DISTINCT ON (r.id) r.judge, k.state AS completion_state, k.answer, k.latency_ms, k.input_tokens,
       k.output_tokens, k.cost_usd, o.message
FROM runs r JOIN jobs j ON j.run_id = r.id
LEFT JOIN completions k ON k.job_id = j.id LEFT JOIN outcomes o ON o.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY r.id, j.position;

-- count_bakeoffs --
-- How many bake-offs there are, or whether there is this one.
SELECT count(*) AS n FROM bakeoffs WHERE %(bakeoff_id)s::bigint IS NULL OR id = %(bakeoff_id)s;

-- stuck_leases --
-- fsck: jobs said to be in somebody's hands, without a lease that could run out.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'leased' AND j.lease_until IS NULL ORDER BY j.id;

-- forgotten_leases --
-- fsck: jobs whose lease ran out so long ago that no reaper can be at work.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, (extract(epoch FROM now() - j.lease_until) / 60)::bigint AS minutes
FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'leased' AND j.lease_until < now() - interval '1 minute' ORDER BY j.id;

-- stuck_messages --
-- fsck: queued jobs of unknown age, which would never count as lost.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'queued' AND j.queued_at IS NULL ORDER BY j.id;

-- jobs_without_outcome --
-- fsck: jobs that are done and have no outcome.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'done' AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id) ORDER BY j.id;

-- open_jobs_with_outcome --
-- fsck: jobs that have an outcome and are not done; one in a worker's hands is about to be.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, j.state, o.verdict
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN outcomes o ON o.job_id = j.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state <> 'done' AND NOT (j.state = 'leased' AND j.lease_until IS NOT NULL AND j.lease_until > now())
ORDER BY j.id;

-- misplaced_outcomes --
-- fsck: outcomes kept under another run, case or sample than their job's.
SELECT j.bakeoff_id, j.id, r.judge, j.case_id, o.run_id AS kept_run, o.case_id AS kept_case, o.sample AS kept_sample
FROM outcomes o JOIN jobs j ON j.id = o.job_id JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR %(bakeoff_id)s IN (j.bakeoff_id, o.bakeoff_id))
  AND (o.run_id, o.bakeoff_id, o.case_id, o.sample) <> (j.run_id, j.bakeoff_id, j.case_id, j.sample) ORDER BY j.id;

-- repeated_outcomes --
-- fsck: more than one outcome under one key.
SELECT r.bakeoff_id, min(o.job_id) AS id, r.judge, o.case_id, o.sample, count(*) AS n
FROM outcomes o JOIN runs r ON r.id = o.run_id
WHERE %(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s
GROUP BY r.id, o.case_id, o.sample HAVING count(*) > 1 ORDER BY 2;

-- miscounted_runs --
-- fsck: runs that have more or fewer jobs than were planned.
SELECT r.bakeoff_id, r.id, r.judge, r.n_jobs, count(j.id) AS n FROM runs r LEFT JOIN jobs j ON j.run_id = r.id
WHERE %(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s
GROUP BY r.id HAVING count(j.id) <> r.n_jobs ORDER BY r.id;

-- invented_verdicts --
-- fsck: passed or failed, and there is no answer that could have been graded; silence is one where it was expected.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, o.verdict, coalesce('is ' || k.state, 'is missing') AS answer
FROM outcomes o JOIN jobs j ON j.id = o.job_id JOIN runs r ON r.id = j.run_id
LEFT JOIN completions k ON k.job_id = o.job_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'done' AND o.verdict <> 'errored' AND k.state IS DISTINCT FROM 'answered'
  AND NOT (coalesce(k.state, '') = 'empty' AND EXISTS (
      SELECT 1 FROM bakeoffs b JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
      WHERE b.id = r.bakeoff_id AND c.body #>> '{expected,answer}' = ''))
ORDER BY j.id;

-- orphaned_calls --
-- fsck: calls in flight for jobs that nobody holds.
SELECT c.bakeoff_id, c.job_id AS id, c.id AS call, r.judge, j.case_id, j.state, c.reserved_usd
FROM call_journal c JOIN jobs j ON j.id = c.job_id JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR c.bakeoff_id = %(bakeoff_id)s)
  AND c.state = 'sent' AND j.state <> 'leased' ORDER BY c.id;

-- lost_answers --
-- fsck: open jobs whose answer was paid for and is not there.
-- Answers from before a retry do not count; one that came when its job was done already was rightly not kept.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, sum(c.cost_usd) AS cost_usd
FROM call_journal c JOIN jobs j ON j.id = c.job_id JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND j.state IN ('ready', 'queued')
  AND c.purpose = 'answer' AND c.state = 'settled' AND c.fault_kind IS NULL AND c.reserved_at > j.retried_at
  AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
  AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id)
GROUP BY j.id, r.id ORDER BY j.id;

-- wrong_budgets --
-- fsck: bake-offs whose dollars are not the sums of their journal.
SELECT b.id AS bakeoff_id, b.id, kept.name, kept.usd, kept.journal_usd
FROM bakeoffs b
LEFT JOIN (
    SELECT bakeoff_id, sum(cost_usd) AS spent_usd,
           sum(reserved_usd) FILTER (WHERE state IN ('reserved', 'sent')) AS reserved_usd
    FROM call_journal WHERE %(bakeoff_id)s::bigint IS NULL OR bakeoff_id = %(bakeoff_id)s GROUP BY bakeoff_id
) c ON c.bakeoff_id = b.id
CROSS JOIN LATERAL (VALUES
    ('spent', b.spent_usd, coalesce(c.spent_usd, 0)), ('reserved', b.reserved_usd, coalesce(c.reserved_usd, 0))
) AS kept (name, usd, journal_usd)
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND kept.usd <> kept.journal_usd ORDER BY b.id, kept.name;

-- wrong_spending --
-- fsck: days under a cap whose dollars are not the sums of the journal; today's may be missing altogether.
WITH days AS (
    SELECT s.scope, s.day FROM spending s JOIN spending_caps USING (scope)
    UNION SELECT scope, (now() AT TIME ZONE 'UTC')::date FROM spending_caps
), sums AS (
    SELECT (reserved_at AT TIME ZONE 'UTC')::date AS day, provider, sum(cost_usd) AS spent_usd,
           sum(reserved_usd) FILTER (WHERE state IN ('reserved', 'sent')) AS reserved_usd
    FROM call_journal WHERE reserved_at >= (SELECT min(day) FROM days) - interval '1 day' GROUP BY 1, 2
), journal AS (
    SELECT d.scope, d.day, coalesce(sum(c.spent_usd), 0) AS spent_usd, coalesce(sum(c.reserved_usd), 0) AS reserved_usd
    FROM days d LEFT JOIN sums c ON c.day = d.day AND d.scope IN ('day', 'provider:' || c.provider) GROUP BY d.scope, d.day
)
SELECT NULL::bigint AS bakeoff_id, 0 AS id, j.scope, j.day, kept.name, kept.usd, kept.journal_usd
FROM journal j LEFT JOIN spending s ON s.scope = j.scope AND s.day = j.day
CROSS JOIN LATERAL (VALUES
    ('spent', coalesce(s.spent_usd, 0), j.spent_usd), ('reserved', coalesce(s.reserved_usd, 0), j.reserved_usd)
) AS kept (name, usd, journal_usd)
WHERE %(bakeoff_id)s::bigint IS NULL AND kept.usd <> kept.journal_usd ORDER BY j.day, j.scope, kept.name;

-- overspent_bakeoffs --
-- fsck: bake-offs that have spent and reserved more than their cap.
SELECT id AS bakeoff_id, id, spent_usd + reserved_usd AS usd, cap_usd FROM bakeoffs
WHERE (%(bakeoff_id)s::bigint IS NULL OR id = %(bakeoff_id)s) AND spent_usd + reserved_usd > cap_usd ORDER BY id;

-- overspent_days --
-- fsck: caps of the day that today's dollars exceed; those of earlier days may have been others.
SELECT NULL::bigint AS bakeoff_id, 0 AS id, s.scope, s.day, s.spent_usd + s.reserved_usd AS usd, c.cap_usd
FROM spending s JOIN spending_caps c USING (scope)
WHERE %(bakeoff_id)s::bigint IS NULL AND s.day = (now() AT TIME ZONE 'UTC')::date
  AND s.spent_usd + s.reserved_usd > c.cap_usd ORDER BY s.scope;

-- missing_eval_runs --
-- fsck: concluded runs without a row.
SELECT r.bakeoff_id, r.id, r.judge FROM runs r
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND r.state = 'concluded'
  AND NOT EXISTS (SELECT 1 FROM eval_runs e WHERE e.id = r.id) ORDER BY r.id;

-- early_eval_runs --
-- fsck: runs that have a row or are concluded before their last job has ended.
SELECT r.bakeoff_id, r.id, r.judge, CASE WHEN r.state = 'concluded' THEN format('concluded with %%s jobs open', count(j.id))
       ELSE format('has its row in eval_runs while it is %%s', r.state) END AS found
FROM runs r LEFT JOIN eval_runs e ON e.id = r.id LEFT JOIN jobs j ON j.run_id = r.id AND j.state <> 'done'
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND (e.id IS NOT NULL OR r.state = 'concluded')
GROUP BY r.id HAVING r.state <> 'concluded' OR count(j.id) > 0 ORDER BY r.id;

-- wrong_eval_runs --
-- fsck: rows whose counts are not those of the outcomes.
SELECT r.bakeoff_id, r.id, r.judge, array[e.n_cases, e.n_pass, e.n_fail, e.n_error, e.n_pending] AS kept, told.counts
FROM runs r JOIN eval_runs e ON e.id = r.id JOIN bakeoffs b ON b.id = r.bakeoff_id
LEFT JOIN (
    SELECT run_id, count(*) FILTER (WHERE verdict = 'passed') AS n_pass,
           count(*) FILTER (WHERE verdict = 'failed') AS n_fail, count(*) FILTER (WHERE verdict = 'errored') AS n_error,
           count(*) FILTER (WHERE verdict = 'pending_review') AS n_pending
    FROM outcomes WHERE %(bakeoff_id)s::bigint IS NULL OR bakeoff_id = %(bakeoff_id)s GROUP BY run_id
) o ON o.run_id = r.id
CROSS JOIN LATERAL (SELECT array[r.n_jobs / b.samples, coalesce(o.n_pass, 0)::int, coalesce(o.n_fail, 0)::int,
                                 coalesce(o.n_error, 0)::int, coalesce(o.n_pending, 0)::int] AS counts) told
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND r.state = 'concluded'
  AND array[e.n_cases, e.n_pass, e.n_fail, e.n_error, e.n_pending] <> told.counts ORDER BY r.id;

-- unconcluded_runs --
-- fsck: runs whose jobs have all ended and that nobody has concluded.
SELECT r.bakeoff_id, r.id, r.judge, r.n_jobs FROM runs r
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND r.state <> 'concluded'
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = r.id AND j.state <> 'done') ORDER BY r.id;

-- half_concluded_bakeoffs --
-- fsck: concluded bake-offs with a judge still on its way.
SELECT b.id AS bakeoff_id, b.id, string_agg(r.judge, ', ' ORDER BY r.id) AS judges
FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND b.state = 'concluded' AND r.state = 'running'
GROUP BY b.id ORDER BY b.id;

-- bakeoffs_without_result --
-- fsck: concluded bake-offs without a result.
SELECT id AS bakeoff_id, id FROM bakeoffs
WHERE (%(bakeoff_id)s::bigint IS NULL OR id = %(bakeoff_id)s) AND state = 'concluded' AND result IS NULL ORDER BY id;

-- unclosed_bakeoffs --
-- fsck: bake-offs that are not concluded though there is nothing left to run.
SELECT b.id AS bakeoff_id, b.id, b.state FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND b.state <> 'concluded'
GROUP BY b.id HAVING bool_and(r.state = 'concluded' OR b.state = 'running' AND r.state = 'paused') ORDER BY b.id;

-- stray_kappas --
-- fsck: agreement of runs that never answered the same cases of the same task.
SELECT a.bakeoff_id, a.id, a.judge_model AS judge, b.judge_model AS other, b.bakeoff_id AS other_id
FROM eval_kappa k JOIN eval_runs a ON a.id = k.eval_run_id_a JOIN eval_runs b ON b.id = k.eval_run_id_b
JOIN bakeoffs ours ON ours.id = a.bakeoff_id JOIN bakeoffs theirs ON theirs.id = b.bakeoff_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR %(bakeoff_id)s IN (a.bakeoff_id, b.bakeoff_id))
  AND (ours.task_name, ours.eval_set_sha) <> (theirs.task_name, theirs.eval_set_sha) ORDER BY a.id, b.id;

-- compared_bakeoffs --
-- fsck: concluded bake-offs in which judges can agree.
SELECT b.id FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND b.state = 'concluded'
GROUP BY b.id HAVING count(*) > 1 ORDER BY b.id;

-- votes --
-- What each ranked judge of a bake-off says of each case: the majority of its samples; NULL when none was graded.
SELECT v.judge, v.vendor, array_agg(v.case_id) AS cases, array_agg(v.vote) AS votes
FROM (
    SELECT r.id, r.judge, r.vendor, o.case_id, CASE WHEN bool_or(o.verdict IN ('passed', 'failed'))
           THEN count(*) FILTER (WHERE o.verdict = 'passed') > count(*) FILTER (WHERE o.verdict = 'failed') END AS vote
    FROM runs r JOIN outcomes o ON o.run_id = r.id
    WHERE r.bakeoff_id = %(bakeoff_id)s AND r.pause_reason IS NULL GROUP BY r.id, o.case_id
) v GROUP BY v.id, v.judge, v.vendor HAVING bool_or(v.vote IS NOT NULL) ORDER BY v.id;

-- kappas --
-- The agreement of a bake-off's runs as stored.
SELECT a.judge_model AS a, b.judge_model AS b, k.kappa, k.n, k.degenerate
FROM eval_kappa k JOIN eval_runs a ON a.id = k.eval_run_id_a JOIN eval_runs b ON b.id = k.eval_run_id_b
WHERE a.bakeoff_id = %(bakeoff_id)s AND b.bakeoff_id = %(bakeoff_id)s ORDER BY a.id, b.id;

-- case_contents --
-- The cases of an evalset snapshot with a mark of what is in each, in order.
SELECT case_id, md5(body::text) AS content FROM cases WHERE eval_set_sha = %(eval_set_sha)s ORDER BY ordinal;

-- past_tallies --
-- The verdict counts of a task's latest bake-offs of several judges, case by case.
WITH latest AS (
    SELECT b.id FROM bakeoffs b WHERE b.task_name = %(task)s AND b.state = 'concluded'
      AND (SELECT count(*) FROM eval_runs e WHERE e.bakeoff_id = b.id AND e.excluded IS NULL) > 1
    ORDER BY b.id DESC LIMIT %(limit)s
), tallies AS (
    SELECT o.run_id, o.case_id, count(*) AS graded, count(*) FILTER (WHERE o.verdict = 'passed') AS passed
    FROM outcomes o JOIN latest ON latest.id = o.bakeoff_id WHERE o.verdict IN ('passed', 'failed') GROUP BY o.run_id, o.case_id
)
SELECT r.bakeoff_id, r.judge, array_agg(t.case_id) AS cases, array_agg(t.graded) AS graded,
       array_agg(t.passed) AS passed
FROM runs r JOIN tallies t ON t.run_id = r.id GROUP BY r.id ORDER BY r.bakeoff_id, r.id;

-- lock_idle_jobs --
-- Of some jobs those in nobody's hands, kept so until the transaction ends; what is being changed now is passed over.
SELECT id FROM jobs
WHERE id = ANY(%(job_ids)s) AND (state <> 'leased' OR lease_until IS NULL OR lease_until < now())
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;

-- put_back_stuck --
-- Stuck jobs become ready: what has neither lease nor age nobody can wait for.
UPDATE jobs SET state = 'ready', lease_until = NULL, queued_at = NULL
WHERE id = ANY(%(job_ids)s) AND (state = 'leased' AND lease_until IS NULL OR state = 'queued' AND queued_at IS NULL);

-- put_back_endless --
-- Done jobs without outcome become ready: a kept answer is graded again, a missing one asked for anew.
WITH opened AS (
    UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL, stage = 'call', gate = r.gate,
        retried_at = CASE WHEN EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id) THEN j.retried_at
                          ELSE clock_timestamp() END
    FROM runs r
    WHERE r.id = j.run_id AND j.id = ANY(%(job_ids)s) AND j.state = 'done' AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id)
    RETURNING j.id, j.run_id
), ungraded AS (
    DELETE FROM grades g USING opened WHERE g.job_id = opened.id
)
SELECT id, run_id FROM opened;

-- supersede_invented --
-- Take back verdicts that no answer stands behind; what was there is kept aside.
WITH gone AS (
    DELETE FROM outcomes o USING jobs j
    WHERE j.id = o.job_id AND j.id = ANY(%(job_ids)s) AND j.state = 'done' AND o.verdict <> 'errored'
      AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = o.job_id AND k.state = 'answered')
    RETURNING o.job_id, o.verdict, o.error_kind, o.message, o.attempts, o.finished_at
), unsaid AS (
    DELETE FROM completions k USING gone WHERE k.job_id = gone.job_id
)
INSERT INTO superseded_outcomes (job_id, verdict, error_kind, message, attempts, completion_state, answer, finished_at)
SELECT gone.job_id, gone.verdict, gone.error_kind, gone.message, gone.attempts, k.state, k.answer, gone.finished_at
FROM gone LEFT JOIN completions k ON k.job_id = gone.job_id;

-- end_open --
-- Jobs that have an outcome are done; one in a worker's hands is left to it.
UPDATE jobs j SET state = 'done', lease_until = NULL
WHERE j.id = ANY(%(job_ids)s) AND EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id)
  AND (j.state IN ('ready', 'queued') OR j.state = 'leased' AND (j.lease_until IS NULL OR j.lease_until < now()));

-- park_outcomes --
-- Take outcomes out of each other's way before they get their keys.
UPDATE outcomes SET case_id = 'job ' || job_id WHERE job_id = ANY(%(job_ids)s);

-- place_outcomes --
-- Give outcomes the keys of their jobs.
UPDATE outcomes o SET run_id = j.run_id, bakeoff_id = j.bakeoff_id, case_id = j.case_id, sample = j.sample
FROM jobs j WHERE j.id = o.job_id AND o.job_id = ANY(%(job_ids)s);

-- ask_anew --
-- Jobs whose paid answer is lost are asked from the first try.
UPDATE jobs j SET retried_at = clock_timestamp()
WHERE j.id = ANY(%(job_ids)s) AND j.state IN ('ready', 'queued')
  AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
  AND EXISTS (SELECT 1 FROM call_journal c WHERE c.job_id = j.id AND c.purpose = 'answer' AND c.state = 'settled'
              AND c.fault_kind IS NULL AND c.reserved_at > j.retried_at);

-- lock_budget --
-- No call is reserved or settled in a bake-off until the transaction ends.
SELECT id FROM bakeoffs WHERE id = %(bakeoff_id)s FOR NO KEY UPDATE;

-- recompute_budget --
-- A bake-off's dollars from its journal; lock_budget goes first, in a statement of its own.
UPDATE bakeoffs b SET spent_usd = c.spent_usd, reserved_usd = c.reserved_usd
FROM (
    SELECT coalesce(sum(cost_usd), 0) AS spent_usd,
           coalesce(sum(reserved_usd) FILTER (WHERE state IN ('reserved', 'sent')), 0) AS reserved_usd
    FROM call_journal WHERE bakeoff_id = %(bakeoff_id)s
) c WHERE b.id = %(bakeoff_id)s;

-- open_spending --
-- Today under every daily cap.
INSERT INTO spending (scope, day) SELECT scope, (now() AT TIME ZONE 'UTC')::date FROM spending_caps ORDER BY scope
ON CONFLICT DO NOTHING;

-- lock_spending --
-- No call is reserved or settled under a daily cap until the transaction ends; in the order of reserve_call.
SELECT scope FROM spending ORDER BY scope, day FOR NO KEY UPDATE;

-- recompute_spending --
-- The dollars of every day under a cap from the journal; lock_spending goes first, in a statement of its own.
UPDATE spending s SET spent_usd = j.spent_usd, reserved_usd = j.reserved_usd
FROM (
    SELECT d.scope, d.day, coalesce(sum(c.cost_usd), 0) AS spent_usd,
           coalesce(sum(c.reserved_usd) FILTER (WHERE c.state IN ('reserved', 'sent')), 0) AS reserved_usd
    FROM spending d JOIN spending_caps USING (scope)
    LEFT JOIN call_journal c ON (c.reserved_at AT TIME ZONE 'UTC')::date = d.day
         AND d.scope IN ('day', 'provider:' || c.provider)
    GROUP BY d.scope, d.day
) j WHERE s.scope = j.scope AND s.day = j.day AND (s.spent_usd, s.reserved_usd) <> (j.spent_usd, j.reserved_usd);

-- drop_kappas --
-- Forget the agreement of some runs with any other.
DELETE FROM eval_kappa WHERE eval_run_id_a = ANY(%(run_ids)s) OR eval_run_id_b = ANY(%(run_ids)s);

-- drop_stray_kappas --
-- Forget the agreement of runs that never answered the same cases of the same task.
DELETE FROM eval_kappa k USING eval_runs a, eval_runs b, bakeoffs ours, bakeoffs theirs
WHERE a.id = k.eval_run_id_a AND b.id = k.eval_run_id_b AND ours.id = a.bakeoff_id AND theirs.id = b.bakeoff_id
  AND (ours.task_name, ours.eval_set_sha) <> (theirs.task_name, theirs.eval_set_sha) AND ours.id = %(bakeoff_id)s;

-- forget_eval_runs --
-- Forget the rows of some runs; what no outcome can tell again is returned.
DELETE FROM eval_runs WHERE id = ANY(%(run_ids)s) RETURNING id, finished_at, notes;

-- restore_eval_run --
-- A row written again keeps its notes, and its date unless a job has ended later.
UPDATE eval_runs e SET notes = %(notes)s,
       finished_at = greatest(%(finished_at)s, (SELECT max(o.finished_at) FROM outcomes o WHERE o.run_id = e.id))
WHERE e.id = %(id)s;

-- reopen_concluded --
-- Concluded runs are on their way again.
UPDATE runs SET state = 'running' WHERE id = ANY(%(run_ids)s) AND state = 'concluded';

-- reopen_bakeoff --
-- A concluded bake-off with jobs to run is paused: whether they are paid for is the user's decision.
UPDATE bakeoffs b SET state = 'paused', stop_reason = %(reason)s, result = NULL, concluded_at = NULL
WHERE b.id = %(bakeoff_id)s AND b.state = 'concluded' AND EXISTS (
    SELECT 1 FROM runs r JOIN jobs j ON j.run_id = r.id
    WHERE r.bakeoff_id = b.id AND r.state = 'running' AND j.state <> 'done');

-- rerun_bakeoff --
-- A bake-off with nothing left to run may be concluded again; no row: it has something left.
UPDATE bakeoffs b SET state = 'running'
WHERE b.id = %(bakeoff_id)s AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.bakeoff_id = b.id AND r.state = 'running')
RETURNING id;

-- lock_holdout_log --
-- One line at a time in the holdout log of a task, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('holdout:' || %(task_name)s, 0));

-- holdout_lines --
-- The holdout log of a task.
SELECT seq, line, prev_hash, hash FROM holdout_log WHERE task_name = %(task_name)s ORDER BY seq;

-- add_holdout_line --
-- One more line; lock_holdout_log goes first, in a statement of its own.
INSERT INTO holdout_log (task_name, seq, line, prev_hash, hash)
VALUES (%(task_name)s, %(seq)s, %(line)s, %(prev_hash)s, %(hash)s);

-- holdout_head --
-- The last line of a task's holdout log, by number and hash.
SELECT seq, hash FROM holdout_log WHERE task_name = %(task_name)s ORDER BY seq DESC LIMIT 1;

-- holdout_tasks --
-- The tasks that have a holdout log.
SELECT DISTINCT task_name FROM holdout_log ORDER BY task_name;

-- looked_bakeoffs --
-- The bake-offs of some looks, with how they stand.
SELECT id, uid::text AS uid, state FROM bakeoffs WHERE uid = ANY(%(uids)s::uuid[]);

-- labelled_answers --
-- Every job of a bake-off with the grader's verdict on its answer, in case order.
SELECT j.id AS job_id, r.judge, j.case_id, j.sample, c.stratum, o.verdict
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN bakeoffs b ON b.id = r.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
LEFT JOIN outcomes o ON o.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY c.ordinal, r.id, j.sample;

-- human_labels --
-- What people said of a bake-off's answers.
SELECT l.job_id, l.labeller, l.passed
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN human_labels l ON l.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY l.job_id, l.labeller;

-- keep_human_labels --
-- Labels of people, each in place of what its labeller said before.
INSERT INTO human_labels (job_id, labeller, passed)
SELECT * FROM unnest(%(job_ids)s::bigint[], %(labellers)s::text[], %(passed)s::boolean[])
ON CONFLICT (job_id, labeller) DO UPDATE SET passed = excluded.passed, labelled_at = now(), from_review = FALSE;

-- answer_texts --
-- What was asked, expected and answered in some jobs.
SELECT j.id AS job_id, c.body::text AS body, k.answer
FROM jobs j JOIN bakeoffs b ON b.id = j.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
LEFT JOIN completions k ON k.job_id = j.id WHERE j.id = ANY(%(job_ids)s);

-- run_place --
-- The bake-off and the judge of a run.
SELECT bakeoff_id, judge FROM runs WHERE id = %(run_id)s;

-- add_drift_checks --
-- One check per run of a bake-off.
INSERT INTO drift_checks (run_id, rule) SELECT id, %(rule)s FROM runs WHERE bakeoff_id = %(bakeoff_id)s
ON CONFLICT DO NOTHING;

-- ripe_drift_checks --
-- Undecided checks whose run, or whose confirmation, has come to its end.
SELECT run_id FROM drift_checks
WHERE decided_at IS NULL AND run_is_over(coalesce(confirm_run_id, run_id)) ORDER BY run_id;

-- lock_drift_series --
-- One decision on a judge and set at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'drift', b.task_name, b.eval_set_name, r.judge), 0))
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id WHERE r.id = %(run_id)s;

-- drift_check --
-- A check that is not decided, with what its run was given.
SELECT c.run_id, c.rule, c.confirm_run_id, c.numbers, r.judge, r.judge_sha, b.id AS bakeoff_id, b.uid, b.task_name,
       b.eval_set_name, b.scorer_mode, b.grader_model, b.task_sha, b.eval_set_sha, b.grader_shas, b.cap_usd, b.spent_usd,
       b.git_sha, b.ambiguous_repeats, (SELECT count(*) FROM runs o WHERE o.bakeoff_id = b.id) AS n_judges
FROM drift_checks c JOIN runs r ON r.id = c.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE c.run_id = %(run_id)s AND c.decided_at IS NULL AND run_is_over(coalesce(c.confirm_run_id, c.run_id));

-- run_end --
-- How a run ended: with its row, without a rank, or not at all.
SELECT r.state, r.pause_reason, b.state AS bakeoff_state, b.stop_reason, e.excluded
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id LEFT JOIN eval_runs e ON e.id = r.id WHERE r.id = %(run_id)s;

-- baseline_runs --
-- Earlier runs a check may be held against, newest first: the same judge, cases and scorer, mostly without errors.
SELECT e.id, b.task_sha FROM eval_runs e JOIN bakeoffs b ON b.id = e.bakeoff_id
WHERE e.task_name = %(task_name)s AND e.judge_model = %(judge)s AND e.run_type IN ('drift_check', 'final-decision')
  AND e.eval_set_name = %(eval_set_name)s AND b.eval_set_sha = %(eval_set_sha)s AND e.scorer_mode = %(scorer_mode)s
  AND e.judge_for_scoring IS NOT DISTINCT FROM %(grader_model)s AND e.excluded IS NULL AND e.id < %(run_id)s
  AND 2 * e.n_error <= e.n_pass + e.n_fail + e.n_error AND e.started_at >= %(since)s
ORDER BY e.id DESC LIMIT %(limit)s;

-- accepted_baseline --
-- The run somebody accepted last for a judge and set.
SELECT a.id, a.run_id, a.accepted_at, b.eval_set_sha, b.task_sha
FROM drift_baselines a JOIN runs r ON r.id = a.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE a.task_name = %(task_name)s AND a.eval_set_name = %(eval_set_name)s AND a.judge = %(judge)s
ORDER BY a.id DESC LIMIT 1;

-- case_passes --
-- How often each case passed in some runs, and how many of its first samples were graded.
SELECT run_id, case_id, count(*) FILTER (WHERE verdict = 'passed') AS passes,
       count(*) FILTER (WHERE verdict IN ('passed', 'failed')) AS graded
FROM outcomes WHERE run_id = ANY(%(run_ids)s) AND sample <= %(samples)s GROUP BY run_id, case_id ORDER BY run_id, case_id;

-- provider_facts --
-- What the provider shows of itself in some runs: the version that answers, how fast, for how much.
SELECT j.run_id, array_agg(DISTINCT k.model) FILTER (WHERE k.model IS NOT NULL) AS models,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY k.latency_ms) AS p50_latency_ms, avg(k.cost_usd) AS cost_per_case_usd
FROM jobs j JOIN completions k ON k.job_id = j.id
WHERE j.run_id = ANY(%(run_ids)s) AND j.sample = 1 GROUP BY j.run_id;

-- detector_state --
-- The evidence the detector has gathered since a baseline was accepted.
SELECT c.numbers FROM drift_checks c
WHERE c.rule = 'sequential' AND c.decided_at IS NOT NULL AND c.numbers ? 'level'
  AND (c.numbers ->> 'baseline_id')::bigint = %(baseline_id)s
ORDER BY c.decided_at DESC, c.run_id DESC LIMIT 1;

-- start_confirmation --
-- A watch whose fresh repeats are under way.
UPDATE drift_checks SET verdict = 'watch', numbers = %(numbers)s::jsonb,
       confirm_run_id = (SELECT id FROM runs WHERE bakeoff_id = %(bakeoff_id)s)
WHERE run_id = %(run_id)s AND decided_at IS NULL;

-- decide_drift_check --
-- The end of a check; the clock, not the transaction's start, puts decisions in order.
UPDATE drift_checks SET verdict = %(verdict)s, numbers = %(numbers)s::jsonb, decided_at = clock_timestamp()
WHERE run_id = %(run_id)s AND decided_at IS NULL;

-- drift_episode --
-- The first of the unbroken line of checks that came to the same verdict, and how many days it has lasted.
WITH line AS (
    SELECT c.run_id, c.verdict, c.decided_at FROM drift_checks c JOIN runs r ON r.id = c.run_id
    JOIN bakeoffs b ON b.id = r.bakeoff_id
    WHERE b.task_name = %(task_name)s AND b.eval_set_name = %(eval_set_name)s AND r.judge = %(judge)s
      AND c.rule = %(rule)s AND c.decided_at IS NOT NULL
)
SELECT run_id, floor(extract(epoch FROM clock_timestamp() - decided_at) / 86400)::int AS days FROM line
WHERE verdict = %(verdict)s
  AND decided_at > coalesce((SELECT max(decided_at) FROM line WHERE verdict <> %(verdict)s), '-infinity')
ORDER BY decided_at, run_id LIMIT 1;

-- evalset_cases --
-- The cases of an evalset snapshot in order.
SELECT body::text AS body FROM cases WHERE eval_set_sha = %(eval_set_sha)s ORDER BY ordinal;

-- acceptable_run --
-- A concluded run, to be accepted as a baseline.
SELECT e.id, e.task_name, e.eval_set_name, e.judge_model AS judge, e.n_pass, e.n_fail, e.n_error, e.accuracy, e.excluded
FROM eval_runs e WHERE e.id = %(run_id)s;

-- add_baseline --
-- A run somebody accepts as how its judge should be.
INSERT INTO drift_baselines (run_id, task_name, eval_set_name, judge)
SELECT id, task_name, eval_set_name, judge_model FROM eval_runs WHERE id = %(run_id)s RETURNING id;

-- try_lock_schedules --
-- One opener of scheduled checks at a time, until the transaction ends; false: another is at it.
SELECT pg_try_advisory_xact_lock(hashtextextended('schedules', 0)) AS got;

-- add_tick --
-- The instant a schedule was due; no row when it is known already.
INSERT INTO drift_ticks (schedule, tick, bakeoff_id, problem)
VALUES (%(schedule)s, %(tick)s, %(bakeoff_id)s, %(problem)s) ON CONFLICT DO NOTHING RETURNING tick;

-- tick --
-- Whether a schedule's instant is known.
SELECT bakeoff_id, problem FROM drift_ticks WHERE schedule = %(schedule)s AND tick = %(tick)s;

-- checks_under_way --
-- How many checks that a schedule opened are still moving towards their verdict.
SELECT count(*) AS n FROM drift_ticks t JOIN runs r ON r.bakeoff_id = t.bakeoff_id
JOIN drift_checks c ON c.run_id = r.id JOIN runs k ON k.id = coalesce(c.confirm_run_id, c.run_id)
JOIN bakeoffs b ON b.id = k.bakeoff_id
WHERE t.schedule = %(schedule)s AND c.decided_at IS NULL AND b.state IN ('running', 'concluded');

-- checks_of --
-- The checks of a bake-off, in the order its judges were named.
SELECT c.run_id, c.rule, c.verdict, c.confirm_run_id, c.numbers, c.decided_at, r.judge, k.bakeoff_id AS confirm_bakeoff_id
FROM drift_checks c JOIN runs r ON r.id = c.run_id LEFT JOIN runs k ON k.id = c.confirm_run_id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY c.run_id;

-- recent_checks --
-- The newest checks of every judge and set, newest first.
SELECT * FROM (
    SELECT b.task_name, b.eval_set_name, r.judge, c.run_id, c.rule, c.verdict, c.confirm_run_id, c.numbers, c.opened_at,
           c.decided_at,
           row_number() OVER (PARTITION BY b.task_name, b.eval_set_name, r.judge ORDER BY c.run_id DESC) AS place
    FROM drift_checks c JOIN runs r ON r.id = c.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
    WHERE %(task_name)s::text IS NULL OR b.task_name = %(task_name)s
) recent WHERE place <= %(limit)s ORDER BY task_name, eval_set_name, judge, run_id DESC;

-- current_baselines --
-- The accepted run of every judge and set.
SELECT DISTINCT ON (task_name, eval_set_name, judge) id, run_id, task_name, eval_set_name, judge, accepted_at
FROM drift_baselines WHERE %(task_name)s::text IS NULL OR task_name = %(task_name)s
ORDER BY task_name, eval_set_name, judge, id DESC;

-- add_alert --
-- Raise an alert; no row when its event was raised before.
INSERT INTO alerts (key, text, document) VALUES (%(key)s, %(text)s, %(document)s::jsonb)
ON CONFLICT (key) DO NOTHING RETURNING id;

-- open_deliveries --
-- Alerts of the last day are to go to every channel there is.
INSERT INTO alert_deliveries (alert_id, channel)
SELECT a.id, channel FROM alerts a CROSS JOIN unnest(%(channels)s::text[]) AS channel
WHERE a.raised_at > now() - interval '1 day' ON CONFLICT DO NOTHING;

-- due_deliveries --
-- How many deliveries to some channels could be tried now.
SELECT count(*) AS n FROM alert_deliveries
WHERE state = 'pending' AND not_before <= now() AND channel = ANY(%(channels)s);

-- claim_delivery --
-- Take one delivery in hand: nobody else tries it before its next turn, whose wait doubles from a quarter of a minute.
UPDATE alert_deliveries d SET attempts = d.attempts + 1,
       not_before = now() + least(interval '1 hour', interval '15 seconds' * 2 ^ least(d.attempts, 20))
FROM (
    SELECT alert_id, channel FROM alert_deliveries
    WHERE state = 'pending' AND not_before <= now() AND channel = ANY(%(channels)s)
    ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED
) next, alerts a
WHERE d.alert_id = next.alert_id AND d.channel = next.channel AND a.id = d.alert_id
RETURNING d.alert_id, d.channel, d.attempts, a.key, a.text, a.document, a.raised_at;

-- end_delivery --
-- A delivery that arrived, or what went wrong; after a day nobody needs it any more.
UPDATE alert_deliveries d
SET state = CASE WHEN %(error)s::text IS NULL THEN 'sent' WHEN a.raised_at < now() - interval '1 day' THEN 'failed'
            ELSE 'pending' END,
    sent_at = CASE WHEN %(error)s::text IS NULL THEN now() END, last_error = %(error)s
FROM alerts a WHERE a.id = d.alert_id AND d.alert_id = %(alert_id)s AND d.channel = %(channel)s AND d.state = 'pending';

-- alert_rows --
-- The newest alerts with where they went.
SELECT a.id, a.key, a.text, a.document, a.raised_at,
       coalesce(jsonb_agg(jsonb_build_object('channel', d.channel, 'state', d.state, 'attempts', d.attempts,
                'sent_at', d.sent_at, 'last_error', d.last_error) ORDER BY d.channel)
                FILTER (WHERE d.channel IS NOT NULL), '[]') AS deliveries
FROM alerts a LEFT JOIN alert_deliveries d ON d.alert_id = a.id GROUP BY a.id ORDER BY a.id DESC LIMIT %(limit)s;

-- take_over_answers --
-- The stored answers of the runs a bake-off grades anew become its own jobs' answers.
INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms,
                         cost_usd, tool_calls, stored_at)
SELECT new.id, k.state, k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms,
       k.cost_usd, k.tool_calls, k.stored_at
FROM runs r JOIN jobs new ON new.run_id = r.id
JOIN jobs old ON old.run_id = r.rescored_from AND old.case_id = new.case_id AND old.sample = new.sample
JOIN completions k ON k.job_id = old.id
WHERE r.bakeoff_id = %(bakeoff_id)s;

-- end_unanswered --
-- Jobs that grade anew and find no answer end as theirs did: nobody is asked again.
WITH done AS (
    UPDATE jobs j SET state = 'done' FROM runs r
    WHERE r.bakeoff_id = %(bakeoff_id)s AND j.run_id = r.id
      AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
    RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, r.rescored_from
)
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
SELECT done.id, done.run_id, done.bakeoff_id, done.case_id, done.sample, 'errored', coalesce(o.error_kind, 'no_answer'),
       coalesce(o.message, 'the run it grades anew has no answer here'), 0
FROM done LEFT JOIN outcomes o
     ON o.run_id = done.rescored_from AND o.case_id = done.case_id AND o.sample = done.sample;

-- stored_answers --
-- The stored answers of some runs, with the cases they are for, to be looked at anew.
SELECT r.id AS run_id, r.judge, j.id AS job_id, j.case_id, j.sample, c.body::text AS case_body, k.state AS kept_state,
       k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id JOIN jobs j ON j.run_id = r.id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
JOIN completions k ON k.job_id = j.id
WHERE r.id = ANY(%(run_ids)s) AND (%(case_id)s::text IS NULL OR j.case_id = %(case_id)s)
ORDER BY r.id, c.ordinal, j.sample;

-- bakeoff_graders --
-- The grader models of a bake-off by the names they are called.
SELECT grader_shas FROM bakeoffs WHERE id = %(bakeoff_id)s;

-- peek_verdict --
-- A verdict given before, for those who only want to know.
SELECT verdict, cost_usd FROM verdict_cache WHERE key = %(key)s;

-- cache_rows --
-- The cached verdicts by grader model: how many, what they cost, how often they were used, what that saved.
SELECT c.grader_model, count(*) AS verdicts, coalesce(sum(c.cost_usd), 0) AS cost_usd, min(c.stored_at) AS oldest,
       max(c.stored_at) AS newest, coalesce(sum(u.uses), 0)::bigint AS uses, coalesce(sum(u.saved_usd), 0) AS saved_usd
FROM verdict_cache c
LEFT JOIN (SELECT key, count(*) AS uses, sum(saved_usd) AS saved_usd FROM verdict_uses GROUP BY key) u USING (key)
GROUP BY c.grader_model ORDER BY count(*) DESC, c.grader_model;

-- count_prunable --
-- How many cached verdicts would go, and what asking for them again would cost.
SELECT count(*) AS n, coalesce(sum(cost_usd), 0) AS cost_usd FROM verdict_cache
WHERE (%(before)s::timestamptz IS NULL OR stored_at < %(before)s)
  AND (%(grader_model)s::text IS NULL OR grader_model = %(grader_model)s);

-- prune_verdicts --
-- Forget cached verdicts; what they were used for stays.
DELETE FROM verdict_cache
WHERE (%(before)s::timestamptz IS NULL OR stored_at < %(before)s)
  AND (%(grader_model)s::text IS NULL OR grader_model = %(grader_model)s);

-- sent_keys --
-- Which questions were put to whom for a job, in order: their keys are made of the prompts' bytes.
SELECT purpose, judge, key, state, reply FROM call_journal WHERE job_id = %(job_id)s ORDER BY id;

-- job_outcome --
-- How a job ended.
SELECT verdict, error_kind, message FROM outcomes WHERE job_id = %(job_id)s;

-- runs_code --
-- Whether a grader of a bake-off's task or cases runs code; no row: none does.
SELECT b.id FROM bakeoffs b JOIN definitions d ON d.sha256 = b.task_sha
WHERE b.id = %(bakeoff_id)s AND (d.body::text LIKE '%%"function_output"%%' OR EXISTS (
    SELECT 1 FROM cases c WHERE c.eval_set_sha = b.eval_set_sha AND c.body::text LIKE '%%"function_output"%%'));

-- unlisted_reviews --
-- Grades that wait for people and are in no item yet, where an outcome depends on one or it is a measure of its own.
-- A ranking needs the answers of all judges: those on their way are waited for, not those that were stopped.
WITH unlisted AS (
    SELECT g.job_id, g.grader, j.bakeoff_id, j.case_id, j.sample,
           o.verdict = 'pending_review' OR NOT g.required AS is_wanted
    FROM grades g JOIN jobs j ON j.id = g.job_id JOIN outcomes o ON o.job_id = g.job_id
    WHERE g.kind = 'human' AND g.pending AND j.state = 'done'
      AND (%(bakeoff_id)s::bigint IS NULL OR j.bakeoff_id = %(bakeoff_id)s)
      AND NOT EXISTS (SELECT 1 FROM review_answers a WHERE a.job_id = g.job_id AND a.grader = g.grader)
), grouped AS (
    SELECT u.*, bool_or(u.is_wanted) OVER (PARTITION BY u.bakeoff_id, u.case_id, u.sample, u.grader) AS is_any_wanted
    FROM unlisted u
)
SELECT u.job_id, u.grader, u.bakeoff_id, u.case_id, u.sample, u.is_wanted, b.uid::text AS uid, b.task_sha,
       c.body::text AS case_body, NOT EXISTS (
           SELECT 1 FROM runs r JOIN jobs other ON other.run_id = r.id
           WHERE r.bakeoff_id = u.bakeoff_id AND other.case_id = u.case_id AND other.sample = u.sample
             AND other.state <> 'done' AND b.state <> 'cancelled' AND NOT (b.state = 'concluded' AND r.state = 'paused')
       ) AS is_complete
FROM grouped u JOIN bakeoffs b ON b.id = u.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = u.case_id
WHERE u.is_any_wanted ORDER BY u.bakeoff_id, u.job_id;

-- add_review_items --
-- What is to be rated, with its answers in the order people see them; an item that is there gets those it lacks.
WITH given AS (
    SELECT * FROM jsonb_to_recordset(%(items)s) AS g (token text, grader text, case_id text, sample int,
           min_required int, max_allowed int, lease_s float8, job_ids bigint[])
), added AS (
    INSERT INTO review_items (token, bakeoff_id, grader, case_id, sample, min_required, max_allowed, lease_s)
    SELECT token, %(bakeoff_id)s, grader, case_id, sample, min_required, max_allowed, lease_s FROM given
    ON CONFLICT (token) DO UPDATE SET is_open = TRUE RETURNING id, token
), answered AS (
    INSERT INTO review_answers (item_id, job_id, grader, place)
    SELECT added.id, one.job_id, given.grader,
           one.place - 1 + (SELECT count(*) FROM review_answers a WHERE a.item_id = added.id)
    FROM given JOIN added USING (token) CROSS JOIN LATERAL unnest(given.job_ids) WITH ORDINALITY AS one (job_id, place)
)
SELECT id, token FROM added;

-- drop_reviews --
-- What was said of an item counts no more: it has another answer now.
DELETE FROM human_reviews WHERE item_id = %(item_id)s RETURNING reviewer;

-- stale_review_items --
-- Items of which a grade waits though people have rated them or no more reviews are wanted.
SELECT DISTINCT i.id FROM review_items i JOIN review_answers a ON a.item_id = i.id
JOIN grades g ON g.job_id = a.job_id AND g.grader = a.grader
WHERE i.bakeoff_id = %(bakeoff_id)s AND g.pending AND (NOT i.is_open OR EXISTS (
    SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.state = 'rated')) ORDER BY i.id;

-- rated_review_items --
-- fsck: items that somebody has rated.
SELECT i.id FROM review_items i
WHERE (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND EXISTS (SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.state = 'rated') ORDER BY i.id;

-- review_item --
-- One item with the case it is about and how far it is.
SELECT i.id, i.token, i.bakeoff_id, i.grader, i.case_id, i.sample, i.min_required, i.max_allowed, i.is_open,
       b.task_name, b.task_sha, c.body::text AS case_body, q.rated, q.taken
FROM review_items i JOIN bakeoffs b ON b.id = i.bakeoff_id JOIN review_quotas q ON q.item_id = i.id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = i.case_id
WHERE i.id = %(item_id)s;

-- find_review_item --
-- The items whose name begins so; two rows when it names more than one.
SELECT id, token, bakeoff_id FROM review_items WHERE starts_with(token, %(prefix)s) ORDER BY token LIMIT 2;

-- review_answers --
-- The answers of an item in the order people see them, with what a blind review hides.
SELECT a.job_id, a.place, r.judge, k.answer, k.latency_ms, k.cost_usd
FROM review_answers a JOIN jobs j ON j.id = a.job_id JOIN runs r ON r.id = j.run_id
LEFT JOIN completions k ON k.job_id = a.job_id WHERE a.item_id = %(item_id)s ORDER BY a.place;

-- item_reviews --
-- What people said of an item.
SELECT reviewer, adjudicates, rating, comment, rated_at FROM human_reviews
WHERE item_id = %(item_id)s AND state = 'rated' ORDER BY adjudicates, rated_at, reviewer;

-- lease_review --
-- Put an item into a person's hands, within its quotas; is_lost: somebody was faster, ask again.
SELECT item_id, is_lost FROM lease_review(%(bakeoff_id)s::bigint, %(grader)s::text, %(reviewer)s);

-- review_lease --
-- Until when a person has an item in hand.
SELECT lease_until FROM human_reviews
WHERE item_id = %(item_id)s AND reviewer = %(reviewer)s AND lease_until > clock_timestamp() AND NOT adjudicates;

-- disputed_item --
-- An item on which people disagree: an adjudicator is to decide it.
SELECT i.id FROM review_items i
WHERE NOT i.is_open AND (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND (%(grader)s::text IS NULL OR i.grader = %(grader)s)
  AND EXISTS (SELECT 1 FROM review_answers a JOIN grades g ON g.job_id = a.job_id AND g.grader = a.grader
              WHERE a.item_id = i.id AND g.passed IS NULL)
ORDER BY i.token LIMIT 1;

-- lock_review_items --
-- Nobody takes or rates these items until the transaction ends.
SELECT id FROM review_items WHERE id = ANY(%(item_ids)s) ORDER BY id FOR UPDATE;

-- rate_review --
-- What a person says of an item, in place of what they said before; no row when it has all the reviews it may have.
-- lock_review_items goes first, in a statement of its own.
INSERT INTO human_reviews (item_id, reviewer, adjudicates, state, rating, votes, comment, rated_at)
SELECT i.id, %(reviewer)s, %(adjudicates)s, 'rated', %(rating)s::jsonb, %(votes)s::jsonb, %(comment)s, clock_timestamp()
FROM review_items i
WHERE i.id = %(item_id)s AND (%(adjudicates)s OR i.max_allowed > (
    SELECT count(*) FROM human_reviews h WHERE h.item_id = i.id AND NOT h.adjudicates AND h.reviewer <> %(reviewer)s
      AND (h.state = 'rated' OR h.lease_until > clock_timestamp())))
ON CONFLICT (item_id, reviewer, adjudicates) DO UPDATE
SET state = 'rated', rating = excluded.rating, votes = excluded.votes, comment = excluded.comment, lease_until = NULL,
    rated_at = excluded.rated_at
RETURNING item_id;

-- adjudicator --
-- Who has decided an item over the ratings of the others.
SELECT reviewer FROM human_reviews WHERE item_id = %(item_id)s AND adjudicates AND state = 'rated';

-- last_review --
-- What a person did last: of an item, or of all.
SELECT h.item_id, i.token, i.bakeoff_id FROM human_reviews h JOIN review_items i ON i.id = h.item_id
WHERE h.reviewer = %(reviewer)s AND (%(item_id)s::bigint IS NULL OR h.item_id = %(item_id)s)
  AND (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND (h.state = 'rated' OR %(item_id)s IS NOT NULL AND h.state = 'leased')
ORDER BY h.rated_at DESC NULLS LAST, h.adjudicates DESC LIMIT 1;

-- undo_review --
-- Take a rating back: the item is in that person's hands again. What was only in hand is given back.
UPDATE human_reviews h
SET state = CASE WHEN before.state = 'rated' AND NOT h.adjudicates THEN 'leased' ELSE 'withdrawn' END,
    lease_until = CASE WHEN before.state = 'rated' AND NOT h.adjudicates
                       THEN clock_timestamp() + make_interval(secs => i.lease_s) END,
    rating = NULL, votes = NULL, rated_at = NULL
FROM review_items i, (
    SELECT item_id, reviewer, adjudicates, state FROM human_reviews
    WHERE item_id = %(item_id)s AND reviewer = %(reviewer)s AND state IN ('rated', 'leased')
    ORDER BY state = 'rated' DESC, adjudicates DESC LIMIT 1
) before
WHERE i.id = h.item_id AND h.item_id = before.item_id AND h.reviewer = before.reviewer
  AND h.adjudicates = before.adjudicates
RETURNING before.state;

-- set_item_open --
-- Whether more reviews of an item are wanted.
UPDATE review_items SET is_open = %(is_open)s WHERE id = %(item_id)s AND is_open <> %(is_open)s;

-- regrade --
-- What people decided, or what is still missing, in place of the grade that waited for them.
UPDATE grades SET passed = %(passed)s, score = %(score)s, reason = %(reason)s, pending = %(pending)s,
       details = %(details)s::jsonb
WHERE job_id = %(job_id)s AND grader = %(grader)s AND kind = 'human'
  AND (passed, score, reason, pending, details) IS DISTINCT FROM
      (%(passed)s::boolean, %(score)s::float8, %(reason)s::text, %(pending)s::boolean, %(details)s::jsonb)
RETURNING job_id;

-- change_outcome --
-- The outcome that follows from changed grades; no row when it is the same.
UPDATE outcomes SET verdict = %(verdict)s, error_kind = %(error_kind)s, message = %(message)s
WHERE job_id = %(job_id)s AND (verdict, error_kind, message) IS DISTINCT FROM
      (%(verdict)s::text, %(error_kind)s::text, %(message)s::text)
RETURNING run_id;

-- outcome --
-- How a job has ended.
SELECT verdict, error_kind, message FROM outcomes WHERE job_id = %(job_id)s;

-- label_from_reviews --
-- What a person's reviews of some answers say together is their label of each; without a review it is taken back.
WITH said AS (
    SELECT vote.key::bigint AS job_id, bool_and(vote.value::boolean) AS passed
    FROM review_answers a JOIN human_reviews h ON h.item_id = a.item_id
    CROSS JOIN LATERAL jsonb_each_text(h.votes) AS vote
    WHERE a.job_id = ANY(%(job_ids)s) AND h.reviewer = %(reviewer)s AND h.state = 'rated'
      AND vote.key::bigint = a.job_id
    GROUP BY 1
), taken_back AS (
    DELETE FROM human_labels l WHERE l.job_id = ANY(%(job_ids)s) AND l.labeller = %(reviewer)s AND l.from_review
      AND NOT EXISTS (SELECT 1 FROM said WHERE said.job_id = l.job_id)
)
INSERT INTO human_labels (job_id, labeller, passed, from_review)
SELECT job_id, %(reviewer)s, passed, TRUE FROM said
ON CONFLICT (job_id, labeller) DO UPDATE SET passed = excluded.passed, labelled_at = now(), from_review = TRUE;

-- review_progress --
-- How many items a person has rated, and how many are left for them: open, with room or in their own hands.
SELECT count(*) FILTER (WHERE h.state = 'rated') AS done,
       count(*) FILTER (WHERE i.is_open AND (h.lease_until > clock_timestamp()
                              OR q.has_room AND coalesce(h.state, '') NOT IN ('rated', 'withdrawn'))) AS left
FROM review_items i JOIN review_quotas q ON q.item_id = i.id
LEFT JOIN human_reviews h ON h.item_id = i.id AND h.reviewer = %(reviewer)s AND NOT h.adjudicates
WHERE (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND (%(grader)s::text IS NULL OR i.grader = %(grader)s);

-- review_items --
-- The items of a bake-off with how far each is, in the order they are offered.
SELECT i.id, i.token, i.grader, i.case_id, i.sample, i.is_open, q.rated, q.taken,
       (SELECT count(*) FROM review_answers a WHERE a.item_id = i.id) AS n_answers,
       (SELECT g.reason FROM review_answers a JOIN grades g ON g.job_id = a.job_id AND g.grader = a.grader
        WHERE a.item_id = i.id AND g.passed IS NULL ORDER BY a.place LIMIT 1) AS reason
FROM review_items i JOIN review_quotas q ON q.item_id = i.id
WHERE i.bakeoff_id = %(bakeoff_id)s AND (%(grader)s::text IS NULL OR i.grader = %(grader)s) ORDER BY i.token;

-- bakeoff_reviews --
-- What people said of a bake-off's items.
SELECT h.item_id, h.reviewer, h.adjudicates, h.rating, h.comment FROM human_reviews h
JOIN review_items i ON i.id = h.item_id
WHERE i.bakeoff_id = %(bakeoff_id)s AND h.state = 'rated' ORDER BY h.item_id, h.adjudicates, h.reviewer;

-- review_waits --
-- Grades of a bake-off that wait for people and are in no item: rankings whose answers are not all there.
SELECT g.grader, count(*) AS n FROM grades g JOIN jobs j ON j.id = g.job_id JOIN outcomes o ON o.job_id = g.job_id
WHERE j.bakeoff_id = %(bakeoff_id)s AND g.kind = 'human' AND g.pending AND o.verdict = 'pending_review'
  AND NOT EXISTS (SELECT 1 FROM review_answers a WHERE a.job_id = g.job_id AND a.grader = g.grader)
GROUP BY g.grader ORDER BY g.grader;

-- pending_outcomes --
-- How many answers of a bake-off wait for people.
SELECT count(*) AS n FROM outcomes WHERE bakeoff_id = %(bakeoff_id)s AND verdict = 'pending_review';

-- baselines --
-- The baselines of a suite with how their evals have done since.
SELECT eval_id, judge, version, output::text AS output, captured_at, environment, bakeoff_id, criticality,
       last_passed, failure_count, checked_at
FROM baselines WHERE suite = %(suite)s ORDER BY eval_id, judge;

-- keep_baseline --
-- Keep the output an eval is compared with from now on, in place of an older one.
INSERT INTO baselines (suite, eval_id, judge, version, output, captured_at, environment, bakeoff_id, criticality)
VALUES (%(suite)s, %(eval_id)s, %(judge)s, %(version)s, %(output)s, %(captured_at)s, %(environment)s,
        %(bakeoff_id)s, %(criticality)s)
ON CONFLICT (suite, eval_id, judge) DO UPDATE
SET version = excluded.version, output = excluded.output, captured_at = excluded.captured_at,
    environment = excluded.environment, bakeoff_id = excluded.bakeoff_id, criticality = excluded.criticality;

-- note_comparison --
-- Note that an eval held or failed against its baseline; what its file knows of earlier runs is where it begins.
INSERT INTO baselines (suite, eval_id, judge, criticality, last_passed, failure_count, checked_at)
VALUES (%(suite)s, %(eval_id)s, %(judge)s, %(criticality)s,
        CASE WHEN %(passed)s THEN now() ELSE %(last_passed)s::timestamptz END,
        %(failure_count)s + (NOT %(passed)s)::int, now())
ON CONFLICT (suite, eval_id, judge) DO UPDATE
SET last_passed = CASE WHEN %(passed)s THEN now() ELSE baselines.last_passed END,
    failure_count = baselines.failure_count + (NOT %(passed)s)::int,
    criticality = excluded.criticality, checked_at = now();
