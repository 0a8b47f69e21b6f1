-- Jobs: published, claimed, kept alive, put back, finished.

-- gates_with_ready_jobs --
-- The gates that have jobs to publish now.
SELECT DISTINCT j.gate FROM jobs j JOIN bakeoffs b ON b.id = j.bakeoff_id JOIN runs r ON r.id = j.run_id
WHERE j.state = 'ready' AND j.not_before <= now() AND b.state = 'running' AND r.state = 'running' ORDER BY j.gate;

-- lock_gate --
-- One pump per gate at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('gate:' || %(gate)s, 0));

-- queue_window --
-- Mark the next ready jobs of a gate as queued, up to its window; the middle one will ask for the next window.
WITH open AS (
    SELECT r.id, r.window_size FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id
    WHERE (r.gate = %(gate)s OR %(gate)s = 'sandbox') AND r.state = 'running' AND b.state = 'running'
), room AS (
    -- Workers drop the messages of a stopped run, so these take no room.
    SELECT greatest(least((SELECT max(window_size) FROM open), %(most)s::int) - count(*), 0) AS n
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
-- Still ready: a message thought lost may have claimed the job since `next` was read.
WHERE j.id = next.id AND j.state = 'ready' AND r.id = j.run_id AND b.id = j.bakeoff_id
RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, next.place, r.judge, r.provider, j.stage, r.n_jobs, b.uid;

-- claim_jobs --
-- Lease those of some jobs that are open, due and running; a row each. None when the bake-off or the database is newer
-- than the worker, which might pay for an answer that it cannot store.
SELECT * FROM claim_jobs(%(job_ids)s::bigint[], %(lease_s)s, %(schema_version)s);

-- held_job --
-- A job that another process leased for this one, as claim_jobs returns it.
SELECT j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.stage, j.fence, j.attempt, j.losses, j.refill,
       r.judge, r.provider, r.judge_sha, b.task_sha, b.grader_shas, b.seed, b.ambiguous_repeats,
       c.body::text AS case_body, k.state AS kept_state, k.answer, k.model, k.request_id, k.input_tokens,
       k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN bakeoffs b ON b.id = j.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
LEFT JOIN completions k ON k.job_id = j.id
WHERE j.id = %(job_id)s AND j.fence = %(fence)s AND j.state = 'leased';

-- extend_leases --
-- Heartbeat: extend the leases of the jobs that a worker holds. A job that is just being finished or put back is left
-- out: waiting for it while holding others that its batch wants would deadlock.
WITH held AS (
    SELECT j.id FROM jobs j JOIN unnest(%(job_ids)s::bigint[], %(fences)s::bigint[]) AS held (id, fence)
         ON j.id = held.id AND j.fence = held.fence
    WHERE j.id = ANY(%(job_ids)s) AND j.state = 'leased' FOR NO KEY UPDATE OF j SKIP LOCKED
)
UPDATE jobs j SET lease_until = now() + make_interval(secs => %(lease_s)s) FROM held WHERE j.id = held.id;

-- release_jobs --
-- Put leased jobs back, each due after its wait.
SELECT release_jobs(%(jobs)s::jsonb);

-- release_held --
-- Put back the jobs that a worker holds when it shuts down.
UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL
FROM unnest(%(job_ids)s::bigint[], %(fences)s::bigint[]) AS held (id, fence)
WHERE j.id = held.id AND j.fence = held.fence AND j.state = 'leased';

-- lose_job --
-- Put back a job whose process died, and count the loss; its worker lives and need not wait for the lease to expire.
UPDATE jobs SET state = 'ready', lease_until = NULL, queued_at = NULL, losses = losses + 1
WHERE id = %(job_id)s AND fence = %(fence)s AND state = 'leased' RETURNING id;

-- end_poisoned --
-- End jobs as errored that killed their worker too often.
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

-- finish_jobs --
-- End jobs with their outcomes and grades; return the places of those whose lease still held.
SELECT place FROM finish_jobs(%(jobs)s::jsonb);

-- hand_over_job --
-- Hand a job whose answer has code to run over to a worker without keys, with its grades so far.
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

-- open_jobs --
-- How many jobs of a run have not ended.
SELECT count(*) AS n FROM jobs WHERE run_id = %(run_id)s AND state <> 'done';

-- leased_jobs --
-- How many jobs of a bake-off workers hold.
SELECT count(*) AS n FROM jobs WHERE bakeoff_id = %(bakeoff_id)s AND state = 'leased' AND lease_until > now();

-- try_lock_reap --
-- One reaper at a time, until the transaction ends; false when another holds the lock.
SELECT pg_try_advisory_xact_lock(hashtextextended('reap', 0)) AS got;

-- reap_leases --
-- Put back jobs whose lease expired, and count the loss: the job may have killed its worker. Do not count it when the
-- job waited for a server (those calls have their own limit of repeats, and one may have been settled by the spool), nor
-- when it was a suspect: suspects run in their own process, and only its death counts (Job.is_suspect).
UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL, losses = j.losses + CASE
    WHEN EXISTS (SELECT 1 FROM call_journal c WHERE c.job_id = j.id AND c.provider <> 'python'
                 AND (c.state = 'sent' OR c.settled_at > j.lease_until)) THEN 0
    WHEN j.losses >= 2 OR j.losses = 1 AND (r.provider = 'python'
         OR EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)) THEN 0
    ELSE 1 END
FROM runs r WHERE r.id = j.run_id AND j.state = 'leased' AND j.lease_until < now() RETURNING j.id;

-- stale_queues --
-- The queues of jobs that have been queued for a while.
SELECT DISTINCT j.stage, CASE WHEN j.stage = 'call' THEN r.provider ELSE '' END AS provider
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN bakeoffs b ON b.id = j.bakeoff_id
WHERE j.state = 'queued' AND b.state = 'running' AND j.queued_at < now() - make_interval(secs => %(older_s)s);

-- requeue_lost --
-- Make jobs ready that have been queued for a while although their queue is empty: their messages are lost.
WITH lost AS (
    -- Skip locked rows: waiting for a reopening transaction while holding some of its rows would deadlock.
    SELECT j.id FROM jobs j JOIN runs r ON r.id = j.run_id
    WHERE j.stage = %(stage)s AND (j.stage <> 'call' OR r.provider = %(provider)s) AND j.state = 'queued'
      AND j.queued_at < now() - make_interval(secs => %(older_s)s) FOR NO KEY UPDATE OF j SKIP LOCKED
)
UPDATE jobs j SET state = 'ready', queued_at = NULL FROM lost WHERE j.id = lost.id RETURNING j.id;
