-- What evalq fsck looks for, and how it repairs what it finds.

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

-- ask_again --
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
