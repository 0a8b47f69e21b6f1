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
                      eval_set_sha, grader_sha, seed, samples, cap_usd, git_sha, prices_as_of, ambiguous_repeats,
                      schema_version)
VALUES (%(uid)s, %(task_name)s, %(eval_set_name)s, %(scorer_mode)s, %(grader_model)s, %(run_type)s, %(task_sha)s,
        %(eval_set_sha)s, %(grader_sha)s, %(seed)s, %(samples)s, %(cap_usd)s, %(git_sha)s,
        %(prices_as_of)s, %(ambiguous_repeats)s, %(schema_version)s)
RETURNING id;

-- add_run --
-- Record one judge's run of a bake-off.
INSERT INTO runs (bakeoff_id, judge, vendor, provider, gate, judge_sha, n_jobs, window_size)
VALUES (%(bakeoff_id)s, %(judge)s, %(vendor)s, %(provider)s, %(gate)s, %(judge_sha)s, %(n_jobs)s, %(window_size)s)
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
       result::text AS result
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
SELECT id, judge, vendor, provider, gate, n_jobs, state, pause_reason FROM runs WHERE bakeoff_id = %(bakeoff_id)s ORDER BY id;

-- run --
-- One run, to conclude it.
SELECT id, bakeoff_id, state, n_jobs FROM runs WHERE id = %(run_id)s;

-- set_bakeoff_state --
-- Move a bake-off from one of some states to another; no row when it was in none of them.
UPDATE bakeoffs SET state = %(state)s, stop_reason = NULL
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
    WHERE r.gate = %(gate)s AND r.state = 'running' AND b.state = 'running'
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
RETURNING j.id, j.run_id, next.place, r.judge, r.provider, r.n_jobs, b.uid;

-- claim_job --
-- Lease a job that is open, whose time has come and whose bake-off is running and not newer than the worker; no row:
-- nothing to do. A lease that ran out is not taken over here: reap counts the loss first.
WITH claimed AS (
    UPDATE jobs j SET state = 'leased', fence = j.fence + 1, attempt = j.attempt + 1,
           lease_until = now() + make_interval(secs => %(lease_s)s)
    FROM runs r, bakeoffs b
    WHERE j.id = %(job_id)s AND r.id = j.run_id AND b.id = j.bakeoff_id AND b.state = 'running'
      AND r.state = 'running' AND j.state IN ('ready', 'queued') AND j.not_before <= now()
      AND b.schema_version <= %(schema_version)s
    RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.fence, j.attempt, j.losses, j.refill,
              r.judge_sha, b.task_sha, b.eval_set_sha, b.grader_sha, b.seed, b.ambiguous_repeats
)
SELECT claimed.*, c.body::text AS case_body, k.state AS kept_state, k.answer, k.model, k.request_id,
       k.input_tokens, k.output_tokens, k.usage, k.latency_ms, k.cost_usd
FROM claimed
JOIN cases c ON c.eval_set_sha = claimed.eval_set_sha AND c.case_id = claimed.case_id
LEFT JOIN completions k ON k.job_id = claimed.id;

-- held_job --
-- A job somebody leased for the asking process, as claim_job returns it.
SELECT j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.fence, j.attempt, j.losses, j.refill,
       r.judge_sha, b.task_sha, b.grader_sha, b.seed, b.ambiguous_repeats, c.body::text AS case_body,
       k.state AS kept_state, k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms,
       k.cost_usd
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
SELECT call_id, refusal FROM reserve_call(%(bakeoff_id)s, %(job_id)s, %(purpose)s, %(judge)s, %(provider)s, %(model)s,
    %(key)s, %(attempt)s, %(usd)s, %(margin)s);

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
    %(fault_message)s, %(completion_state)s, %(answer)s, %(model)s, %(input_tokens)s, %(output_tokens)s);

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
    INSERT INTO grades (job_id, grader, passed, score, reason)
    SELECT done.id, g.grader, g.passed, g.score, g.reason
    FROM done, jsonb_to_recordset(%(grades)s) AS g (grader text, passed boolean, score float8, reason text)
    ON CONFLICT DO NOTHING
)
SELECT id FROM done;

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
-- The run's row, once.
INSERT INTO eval_runs (id, task_name, eval_set_name, judge_model, scorer_mode, judge_for_scoring, n_cases, n_pass,
                       accuracy, ci_low, ci_high, p95_latency_ms, total_cost_usd, per_stratum, run_type, git_sha,
                       started_at, finished_at, bakeoff_id, n_fail, n_error, ci_method, p50_latency_ms, excluded)
SELECT r.id, b.task_name, b.eval_set_name, r.judge, b.scorer_mode, b.grader_model, %(n_cases)s, %(n_pass)s,
       %(accuracy)s, %(ci_low)s, %(ci_high)s, %(p95_latency_ms)s, %(total_cost_usd)s, %(per_stratum)s, b.run_type,
       b.git_sha, b.created_at, now(), b.id, %(n_fail)s, %(n_error)s, %(ci_method)s, %(p50_latency_ms)s, %(excluded)s
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id WHERE r.id = %(run_id)s
ON CONFLICT (id) DO NOTHING;

-- add_kappa --
-- The agreement of two runs of a bake-off.
INSERT INTO eval_kappa (eval_run_id_a, eval_run_id_b, kappa, n, ac1, degenerate)
VALUES (%(a)s, %(b)s, %(kappa)s, %(n)s, %(ac1)s, %(degenerate)s)
ON CONFLICT (eval_run_id_a, eval_run_id_b) DO UPDATE
SET kappa = excluded.kappa, n = excluded.n, ac1 = excluded.ac1, degenerate = excluded.degenerate;

-- conclude_run --
-- Mark a run as concluded; no row when it was already.
UPDATE runs SET state = 'concluded', pause_reason = NULL WHERE id = %(run_id)s AND state <> 'concluded' RETURNING id;

-- pause_run --
-- Stop one judge, saying why; the others go on.
UPDATE runs SET state = 'paused', pause_reason = %(reason)s WHERE id = %(run_id)s AND state = 'running' RETURNING id;

-- reopen_runs --
-- On resume: judges that were stopped go on.
UPDATE runs SET state = 'running', pause_reason = NULL WHERE bakeoff_id = %(bakeoff_id)s AND state = 'paused';

-- running_runs --
-- How many runs of a bake-off are still on their way; a paused one is not.
SELECT count(*) AS n FROM runs WHERE bakeoff_id = %(bakeoff_id)s AND state = 'running';

-- conclude_bakeoff --
-- Close a bake-off with its result.
UPDATE bakeoffs SET state = 'concluded', concluded_at = now(), result = %(result)s WHERE id = %(bakeoff_id)s;

-- try_lock_reap --
-- One reaper at a time, until the transaction ends; false: another is at it.
SELECT pg_try_advisory_xact_lock(hashtextextended('reap', 0)) AS got;

-- reap_leases --
-- Jobs whose worker is gone become ready again. A call in flight has its own limit of repeats, and says that the
-- job was waiting for a server, not what killed its worker; only code that runs inside the worker may have.
UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL, losses = j.losses + CASE WHEN EXISTS (
    SELECT 1 FROM call_journal c WHERE c.job_id = j.id AND c.state = 'sent' AND c.provider <> 'python') THEN 0 ELSE 1 END
WHERE j.state = 'leased' AND j.lease_until < now() RETURNING j.id;

-- stale_queued_providers --
-- Providers with messages that have been out for a while: their queue must be looked at.
SELECT DISTINCT r.provider FROM jobs j JOIN runs r ON r.id = j.run_id JOIN bakeoffs b ON b.id = j.bakeoff_id
WHERE j.state = 'queued' AND b.state = 'running' AND j.queued_at < now() - make_interval(secs => %(older_s)s);

-- requeue_lost --
-- Messages out for a while while their queue is empty are lost: their jobs become ready again.
UPDATE jobs j SET state = 'ready', queued_at = NULL FROM runs r
WHERE r.id = j.run_id AND r.provider = %(provider)s AND j.state = 'queued'
  AND j.queued_at < now() - make_interval(secs => %(older_s)s) RETURNING j.id;

-- reopen_queued --
-- On resume: messages of a stopped bake-off may have been dropped, publish them again.
UPDATE jobs SET state = 'ready', queued_at = NULL, not_before = '-infinity'
WHERE bakeoff_id = %(bakeoff_id)s AND state IN ('queued', 'ready') RETURNING id;

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
       k.state AS completion_state, k.latency_ms, k.cost_usd, k.input_tokens, k.output_tokens
FROM outcomes o JOIN runs r ON r.id = o.run_id LEFT JOIN completions k ON k.job_id = o.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND o.case_id = ANY(%(case_ids)s)
ORDER BY o.case_id, r.id, o.sample;

-- inspected_grades --
-- The grades behind some jobs' outcomes.
SELECT job_id, grader, passed, score, reason FROM grades WHERE job_id = ANY(%(job_ids)s) ORDER BY job_id, grader;

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
