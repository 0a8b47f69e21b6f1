-- What evalq fsck looks for, and how it repairs what it finds.

-- count_bakeoffs --
-- How many bake-offs there are; with an id 1 or 0.
SELECT count(*) AS n FROM bakeoffs WHERE %(bakeoff_id)s::bigint IS NULL OR id = %(bakeoff_id)s;

-- stuck_leases --
-- Leased jobs without an end of their lease.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'leased' AND j.lease_until IS NULL ORDER BY j.id;

-- forgotten_leases --
-- Jobs whose lease expired so long ago that no reaper can be running.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, (extract(epoch FROM now() - j.lease_until) / 60)::bigint AS minutes
FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'leased' AND j.lease_until < now() - interval '1 minute' ORDER BY j.id;

-- stuck_messages --
-- Queued jobs of unknown age, which would never count as lost.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'queued' AND j.queued_at IS NULL ORDER BY j.id;

-- jobs_without_outcome --
-- Done jobs without an outcome.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state = 'done' AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id) ORDER BY j.id;

-- open_jobs_with_outcome --
-- Open jobs with an outcome, except those that a worker holds: they are about to be done.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, j.state, o.verdict
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN outcomes o ON o.job_id = j.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s)
  AND j.state <> 'done' AND NOT (j.state = 'leased' AND j.lease_until IS NOT NULL AND j.lease_until > now())
ORDER BY j.id;

-- misplaced_outcomes --
-- Outcomes stored under another run, case or sample than their job's.
SELECT j.bakeoff_id, j.id, r.judge, j.case_id, o.run_id AS kept_run, o.case_id AS kept_case, o.sample AS kept_sample
FROM outcomes o JOIN jobs j ON j.id = o.job_id JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR %(bakeoff_id)s IN (j.bakeoff_id, o.bakeoff_id))
  AND (o.run_id, o.bakeoff_id, o.case_id, o.sample) <> (j.run_id, j.bakeoff_id, j.case_id, j.sample) ORDER BY j.id;

-- repeated_outcomes --
-- More than one outcome under one key.
SELECT r.bakeoff_id, min(o.job_id) AS id, r.judge, o.case_id, o.sample, count(*) AS n
FROM outcomes o JOIN runs r ON r.id = o.run_id
WHERE %(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s
GROUP BY r.id, o.case_id, o.sample HAVING count(*) > 1 ORDER BY 2;

-- miscounted_runs --
-- Runs that have more or fewer jobs than planned.
SELECT r.bakeoff_id, r.id, r.judge, r.n_jobs, count(j.id) AS n FROM runs r LEFT JOIN jobs j ON j.run_id = r.id
WHERE %(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s
GROUP BY r.id HAVING count(j.id) <> r.n_jobs ORDER BY r.id;

-- invented_verdicts --
-- Verdicts without an answer to grade; an empty answer is one where the case expects it.
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
-- Calls in flight of jobs that no worker holds.
SELECT c.bakeoff_id, c.job_id AS id, c.id AS call, r.judge, j.case_id, j.state, c.reserved_usd
FROM call_journal c JOIN jobs j ON j.id = c.job_id JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR c.bakeoff_id = %(bakeoff_id)s)
  AND c.state = 'sent' AND j.state <> 'leased' ORDER BY c.id;

-- lost_answers --
-- Open jobs whose answer was paid for and is missing.
-- Answers from before a retry do not count, nor one that came after its job was done: it is not stored.
SELECT r.bakeoff_id, j.id, r.judge, j.case_id, sum(c.cost_usd) AS cost_usd
FROM call_journal c JOIN jobs j ON j.id = c.job_id JOIN runs r ON r.id = j.run_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND j.state IN ('ready', 'queued')
  AND c.purpose = 'answer' AND c.state = 'settled' AND c.fault_kind IS NULL AND c.reserved_at > j.retried_at
  AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
  AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id)
GROUP BY j.id, r.id ORDER BY j.id;

-- wrong_budgets --
-- Bake-offs whose dollars differ from the sums of their journal.
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
-- Days under a cap whose dollars differ from the sums of the journal; today's row may be missing.
WITH days AS (
    SELECT s.scope, s.day FROM spending s JOIN spending_caps USING (scope)
    UNION SELECT scope, (now() AT TIME ZONE 'UTC')::date FROM spending_caps
), sums AS (
    SELECT (reserved_at AT TIME ZONE 'UTC')::date AS day, provider, sum(cost_usd) AS spent_usd,
           sum(reserved_usd) FILTER (WHERE state IN ('reserved', 'sent')) AS reserved_usd
    FROM call_journal WHERE reserved_at >= (SELECT min(day) FROM days) - interval '1 day' GROUP BY 1, 2
), journal AS (
    SELECT d.scope, d.day, coalesce(sum(c.spent_usd), 0) AS spent_usd, coalesce(sum(c.reserved_usd), 0) AS reserved_usd
    FROM days d LEFT JOIN sums c ON c.day = d.day AND d.scope = ANY(daily_scopes(c.provider)) GROUP BY d.scope, d.day
)
SELECT NULL::bigint AS bakeoff_id, 0 AS id, j.scope, j.day, kept.name, kept.usd, kept.journal_usd
FROM journal j LEFT JOIN spending s ON s.scope = j.scope AND s.day = j.day
CROSS JOIN LATERAL (VALUES
    ('spent', coalesce(s.spent_usd, 0), j.spent_usd), ('reserved', coalesce(s.reserved_usd, 0), j.reserved_usd)
) AS kept (name, usd, journal_usd)
WHERE %(bakeoff_id)s::bigint IS NULL AND kept.usd <> kept.journal_usd ORDER BY j.day, j.scope, kept.name;

-- overspent_bakeoffs --
-- Bake-offs that have spent and reserved more than their cap.
SELECT id AS bakeoff_id, id, spent_usd + reserved_usd AS usd, cap_usd FROM bakeoffs
WHERE (%(bakeoff_id)s::bigint IS NULL OR id = %(bakeoff_id)s) AND spent_usd + reserved_usd > cap_usd ORDER BY id;

-- overspent_days --
-- Daily caps that today's dollars exceed; on earlier days the cap may have been another.
SELECT NULL::bigint AS bakeoff_id, 0 AS id, s.scope, s.day, s.spent_usd + s.reserved_usd AS usd, c.cap_usd
FROM spending s JOIN spending_caps c USING (scope)
WHERE %(bakeoff_id)s::bigint IS NULL AND s.day = (now() AT TIME ZONE 'UTC')::date
  AND s.spent_usd + s.reserved_usd > c.cap_usd ORDER BY s.scope;

-- missing_eval_runs --
-- Concluded runs without a row in eval_runs.
SELECT r.bakeoff_id, r.id, r.judge FROM runs r
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND r.state = 'concluded'
  AND NOT EXISTS (SELECT 1 FROM eval_runs e WHERE e.id = r.id AND e.state = 'concluded') ORDER BY r.id;

-- early_eval_runs --
-- Runs that are concluded, or have a row in eval_runs that says so, before their last job has ended.
SELECT r.bakeoff_id, r.id, r.judge, CASE WHEN r.state = 'concluded' THEN format('concluded with %%s jobs open', count(j.id))
       ELSE format('has its row in eval_runs while it is %%s', r.state) END AS found
FROM runs r LEFT JOIN eval_runs e ON e.id = r.id AND e.state = 'concluded' LEFT JOIN jobs j ON j.run_id = r.id AND j.state <> 'done'
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND (e.id IS NOT NULL OR r.state = 'concluded')
GROUP BY r.id HAVING r.state <> 'concluded' OR count(j.id) > 0 ORDER BY r.id;

-- wrong_eval_runs --
-- Rows of eval_runs whose counts differ from those of the outcomes.
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
-- Runs that are not concluded although all their jobs have ended.
SELECT r.bakeoff_id, r.id, r.judge, r.n_jobs FROM runs r
WHERE (%(bakeoff_id)s::bigint IS NULL OR r.bakeoff_id = %(bakeoff_id)s) AND r.state <> 'concluded'
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = r.id AND j.state <> 'done') ORDER BY r.id;

-- half_concluded_bakeoffs --
-- Concluded bake-offs with a running judge.
SELECT b.id AS bakeoff_id, b.id, string_agg(r.judge, ', ' ORDER BY r.id) AS judges
FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND b.state = 'concluded' AND r.state = 'running'
GROUP BY b.id ORDER BY b.id;

-- bakeoffs_without_result --
-- Concluded bake-offs without a result.
SELECT id AS bakeoff_id, id FROM bakeoffs
WHERE (%(bakeoff_id)s::bigint IS NULL OR id = %(bakeoff_id)s) AND state = 'concluded' AND result IS NULL ORDER BY id;

-- unclosed_bakeoffs --
-- Bake-offs that are not concluded although nothing is left to run.
SELECT b.id AS bakeoff_id, b.id, b.state FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND b.state <> 'concluded'
GROUP BY b.id HAVING bool_and(r.state = 'concluded' OR b.state = 'running' AND r.state = 'paused') ORDER BY b.id;

-- stray_kappas --
-- Agreement of runs that never answered the same cases of the same task.
SELECT a.bakeoff_id, a.id, a.judge_model AS judge, b.judge_model AS other, b.bakeoff_id AS other_id
FROM eval_kappa k JOIN eval_runs a ON a.id = k.eval_run_id_a JOIN eval_runs b ON b.id = k.eval_run_id_b
JOIN bakeoffs ours ON ours.id = a.bakeoff_id JOIN bakeoffs theirs ON theirs.id = b.bakeoff_id
WHERE (%(bakeoff_id)s::bigint IS NULL OR %(bakeoff_id)s IN (a.bakeoff_id, b.bakeoff_id))
  AND (ours.task_name, ours.eval_set_sha) <> (theirs.task_name, theirs.eval_set_sha) ORDER BY a.id, b.id;

-- compared_bakeoffs --
-- Concluded bake-offs of more than one judge.
SELECT b.id FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
WHERE (%(bakeoff_id)s::bigint IS NULL OR b.id = %(bakeoff_id)s) AND b.state = 'concluded'
GROUP BY b.id HAVING count(*) > 1 ORDER BY b.id;

-- votes --
-- The majority verdict of each ranked judge on each case of a bake-off; null when no sample was graded.
SELECT v.judge, v.vendor, array_agg(v.case_id) AS cases, array_agg(v.vote) AS votes
FROM (
    SELECT r.id, r.judge, r.vendor, o.case_id, CASE WHEN bool_or(o.verdict IN ('passed', 'failed'))
           THEN count(*) FILTER (WHERE o.verdict = 'passed') > count(*) FILTER (WHERE o.verdict = 'failed') END AS vote
    FROM runs r JOIN outcomes o ON o.run_id = r.id
    WHERE r.bakeoff_id = %(bakeoff_id)s AND r.pause_reason IS NULL GROUP BY r.id, o.case_id
) v GROUP BY v.id, v.judge, v.vendor HAVING bool_or(v.vote IS NOT NULL) ORDER BY v.id;

-- kappas --
-- The stored agreement of a bake-off's runs.
SELECT a.judge_model AS a, b.judge_model AS b, k.kappa, k.n, k.degenerate
FROM eval_kappa k JOIN eval_runs a ON a.id = k.eval_run_id_a JOIN eval_runs b ON b.id = k.eval_run_id_b
WHERE a.bakeoff_id = %(bakeoff_id)s AND b.bakeoff_id = %(bakeoff_id)s ORDER BY a.id, b.id;

-- lock_idle_jobs --
-- Lock those of some jobs that no worker holds, until the transaction ends; skip jobs that are being changed.
SELECT id FROM jobs
WHERE id = ANY(%(job_ids)s) AND (state <> 'leased' OR lease_until IS NULL OR lease_until < now())
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;

-- put_back_stuck --
-- Make jobs ready whose lease has no end or whose message has no age.
UPDATE jobs SET state = 'ready', lease_until = NULL, queued_at = NULL
WHERE id = ANY(%(job_ids)s) AND (state = 'leased' AND lease_until IS NULL OR state = 'queued' AND queued_at IS NULL);

-- put_back_endless --
-- Make done jobs without an outcome ready: a stored answer is graded again, a missing one asked for again.
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
-- Set verdicts aside that have no answer to grade.
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
-- Mark jobs done that have an outcome, except those that a worker holds.
UPDATE jobs j SET state = 'done', lease_until = NULL
WHERE j.id = ANY(%(job_ids)s) AND EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id)
  AND (j.state IN ('ready', 'queued') OR j.state = 'leased' AND (j.lease_until IS NULL OR j.lease_until < now()));

-- park_outcomes --
-- Give outcomes keys that cannot clash before place_outcomes gives them their own.
UPDATE outcomes SET case_id = 'job ' || job_id WHERE job_id = ANY(%(job_ids)s);

-- place_outcomes --
-- Give outcomes the keys of their jobs.
UPDATE outcomes o SET run_id = j.run_id, bakeoff_id = j.bakeoff_id, case_id = j.case_id, sample = j.sample
FROM jobs j WHERE j.id = o.job_id AND o.job_id = ANY(%(job_ids)s);

-- ask_again --
-- Let jobs whose paid answer is lost start again at the first try.
UPDATE jobs j SET retried_at = clock_timestamp()
WHERE j.id = ANY(%(job_ids)s) AND j.state IN ('ready', 'queued')
  AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
  AND EXISTS (SELECT 1 FROM call_journal c WHERE c.job_id = j.id AND c.purpose = 'answer' AND c.state = 'settled'
              AND c.fault_kind IS NULL AND c.reserved_at > j.retried_at);

-- lock_budget --
-- Block reservations and settlements in a bake-off until the transaction ends.
SELECT id FROM bakeoffs WHERE id = %(bakeoff_id)s FOR NO KEY UPDATE;

-- recompute_budget --
-- Sum a bake-off's dollars up from its journal; lock_budget goes first, in a statement of its own.
UPDATE bakeoffs b SET spent_usd = c.spent_usd, reserved_usd = c.reserved_usd
FROM (
    SELECT coalesce(sum(cost_usd), 0) AS spent_usd,
           coalesce(sum(reserved_usd) FILTER (WHERE state IN ('reserved', 'sent')), 0) AS reserved_usd
    FROM call_journal WHERE bakeoff_id = %(bakeoff_id)s
) c WHERE b.id = %(bakeoff_id)s;

-- open_spending --
-- Open today's sums under every daily cap.
INSERT INTO spending (scope, day) SELECT scope, (now() AT TIME ZONE 'UTC')::date FROM spending_caps ORDER BY scope
ON CONFLICT DO NOTHING;

-- lock_spending --
-- Block reservations and settlements under daily caps until the transaction ends; in the order of reserve_calls.
SELECT scope FROM spending ORDER BY scope, day FOR NO KEY UPDATE;

-- recompute_spending --
-- Sum the dollars of every day under a cap up from the journal; lock_spending goes first, in a statement of its own.
UPDATE spending s SET spent_usd = j.spent_usd, reserved_usd = j.reserved_usd
FROM (
    SELECT d.scope, d.day, coalesce(sum(c.cost_usd), 0) AS spent_usd,
           coalesce(sum(c.reserved_usd) FILTER (WHERE c.state IN ('reserved', 'sent')), 0) AS reserved_usd
    FROM spending d JOIN spending_caps USING (scope)
    LEFT JOIN call_journal c ON (c.reserved_at AT TIME ZONE 'UTC')::date = d.day
         AND d.scope = ANY(daily_scopes(c.provider))
    GROUP BY d.scope, d.day
) j WHERE s.scope = j.scope AND s.day = j.day AND (s.spent_usd, s.reserved_usd) <> (j.spent_usd, j.reserved_usd);

-- drop_stray_kappas --
-- Delete the agreement of runs that never answered the same cases of the same task.
DELETE FROM eval_kappa k USING eval_runs a, eval_runs b, bakeoffs ours, bakeoffs theirs
WHERE a.id = k.eval_run_id_a AND b.id = k.eval_run_id_b AND ours.id = a.bakeoff_id AND theirs.id = b.bakeoff_id
  AND (ours.task_name, ours.eval_set_sha) <> (theirs.task_name, theirs.eval_set_sha) AND ours.id = %(bakeoff_id)s;

-- forget_eval_runs --
-- Delete the rows of some runs; return what cannot be computed from outcomes.
DELETE FROM eval_runs WHERE id = ANY(%(run_ids)s) RETURNING id, finished_at, notes;

-- restore_eval_run --
-- Restore the notes of a rewritten row, and its date unless a job has ended later.
UPDATE eval_runs e SET notes = %(notes)s,
       finished_at = greatest(%(finished_at)s, (SELECT max(o.finished_at) FROM outcomes o WHERE o.run_id = e.id))
WHERE e.id = %(id)s;

-- reopen_concluded --
-- Set concluded runs to running.
UPDATE runs SET state = 'running' WHERE id = ANY(%(run_ids)s) AND state = 'concluded';

-- reopen_bakeoff --
-- Pause a concluded bake-off that has jobs to run: the user decides whether to pay for them.
UPDATE bakeoffs b SET state = 'paused', stop_reason = %(reason)s, result = NULL, concluded_at = NULL
WHERE b.id = %(bakeoff_id)s AND b.state = 'concluded' AND EXISTS (
    SELECT 1 FROM runs r JOIN jobs j ON j.run_id = r.id
    WHERE r.bakeoff_id = b.id AND r.state = 'running' AND j.state <> 'done');

-- rerun_bakeoff --
-- Set a bake-off without running runs to running, so that it is concluded again; no row when it has some.
UPDATE bakeoffs b SET state = 'running'
WHERE b.id = %(bakeoff_id)s AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.bakeoff_id = b.id AND r.state = 'running')
RETURNING id;
