-- Drift checks: scheduled, opened, confirmed, decided.

-- try_lock_schedules --
-- One opener of scheduled checks at a time, until the transaction ends; false when another holds the lock.
SELECT pg_try_advisory_xact_lock(hashtextextended('schedules', 0)) AS got;

-- add_tick --
-- Record an instant at which a schedule was due; no row when it is recorded.
INSERT INTO drift_ticks (schedule, tick, bakeoff_id, problem)
VALUES (%(schedule)s, %(tick)s, %(bakeoff_id)s, %(problem)s) ON CONFLICT DO NOTHING RETURNING tick;

-- tick --
-- A row if an instant of a schedule is recorded.
SELECT bakeoff_id, problem FROM drift_ticks WHERE schedule = %(schedule)s AND tick = %(tick)s;

-- checks_under_way --
-- How many undecided checks of a schedule can still get a verdict without a user.
SELECT count(*) AS n FROM drift_ticks t JOIN runs r ON r.bakeoff_id = t.bakeoff_id
JOIN drift_checks c ON c.run_id = r.id JOIN runs k ON k.id = coalesce(c.confirm_run_id, c.run_id)
JOIN bakeoffs b ON b.id = k.bakeoff_id
WHERE t.schedule = %(schedule)s AND c.decided_at IS NULL AND b.state IN ('running', 'concluded');

-- add_drift_checks --
-- Open a check for each run of a bake-off.
INSERT INTO drift_checks (run_id, rule) SELECT id, %(rule)s FROM runs WHERE bakeoff_id = %(bakeoff_id)s
ON CONFLICT DO NOTHING;

-- ripe_drift_checks --
-- Undecided checks whose run, or whose confirmation, has ended.
SELECT run_id FROM drift_checks
WHERE decided_at IS NULL AND run_is_over(coalesce(confirm_run_id, run_id)) ORDER BY run_id;

-- lock_drift_series --
-- One decision on a judge and set at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'drift', b.task_name, b.eval_set_name, r.judge), 0))
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id WHERE r.id = %(run_id)s;

-- drift_check --
-- An undecided check whose run has ended, with what that run was given.
SELECT c.run_id, c.rule, c.confirm_run_id, c.numbers, r.judge, r.judge_sha, b.id AS bakeoff_id, b.uid, b.task_name,
       b.eval_set_name, b.scorer_mode, b.grader_model, b.task_sha, b.eval_set_sha, b.grader_shas, b.cap_usd, b.spent_usd,
       b.git_sha, b.ambiguous_repeats, (SELECT count(*) FROM runs o WHERE o.bakeoff_id = b.id) AS n_judges
FROM drift_checks c JOIN runs r ON r.id = c.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE c.run_id = %(run_id)s AND c.decided_at IS NULL AND run_is_over(coalesce(c.confirm_run_id, c.run_id));

-- run_end --
-- The states of a run and its bake-off, and why the run is excluded from ranking.
SELECT r.state, r.pause_reason, b.state AS bakeoff_state, b.stop_reason, e.excluded
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id LEFT JOIN eval_runs e ON e.id = r.id AND e.state = 'concluded' WHERE r.id = %(run_id)s;

-- baseline_runs --
-- Earlier runs to compare a check with, newest first: the same judge, cases and scorer, at most half of the jobs errored.
SELECT e.id, b.task_sha FROM eval_runs e JOIN bakeoffs b ON b.id = e.bakeoff_id
WHERE e.task_name = %(task_name)s AND e.judge_model = %(judge)s AND e.run_type IN ('drift_check', 'final-decision')
  AND e.eval_set_name = %(eval_set_name)s AND b.eval_set_sha = %(eval_set_sha)s AND e.scorer_mode = %(scorer_mode)s
  AND e.judge_for_scoring IS NOT DISTINCT FROM %(grader_model)s AND e.excluded IS NULL AND e.id < %(run_id)s
  AND 2 * e.n_error <= e.n_pass + e.n_fail + e.n_error AND e.started_at >= %(since)s AND e.state = 'concluded'
ORDER BY e.id DESC LIMIT %(limit)s;

-- accepted_baseline --
-- The run that was accepted last for a judge and set.
SELECT a.id, a.run_id, a.task_name, a.eval_set_name, a.judge, a.accepted_at, b.eval_set_sha, b.task_sha
FROM drift_baselines a JOIN runs r ON r.id = a.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE a.task_name = %(task_name)s AND a.eval_set_name = %(eval_set_name)s AND a.judge = %(judge)s
ORDER BY a.id DESC LIMIT 1;

-- case_passes --
-- How many of each case's first samples were graded in some runs, and how many passed.
SELECT run_id, case_id, count(*) FILTER (WHERE verdict = 'passed') AS passes,
       count(*) FILTER (WHERE verdict IN ('passed', 'failed')) AS graded
FROM outcomes WHERE run_id = ANY(%(run_ids)s) AND sample <= %(samples)s GROUP BY run_id, case_id ORDER BY run_id, case_id;

-- provider_facts --
-- The models that answered in some runs, with their latency and price.
SELECT j.run_id, array_agg(DISTINCT k.model) FILTER (WHERE k.model IS NOT NULL) AS models,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY k.latency_ms) AS p50_latency_ms, avg(k.cost_usd) AS cost_per_case_usd
FROM jobs j JOIN completions k ON k.job_id = j.id
WHERE j.run_id = ANY(%(run_ids)s) AND j.sample = 1 GROUP BY j.run_id;

-- detector_state --
-- The detector's evidence since a baseline was accepted.
SELECT c.numbers FROM drift_checks c
WHERE c.rule = 'sequential' AND c.decided_at IS NOT NULL AND c.numbers ? 'level'
  AND (c.numbers ->> 'baseline_id')::bigint = %(baseline_id)s
ORDER BY c.decided_at DESC, c.run_id DESC LIMIT 1;

-- start_confirmation --
-- Turn a check into a watch that a bake-off confirms.
UPDATE drift_checks SET verdict = 'watch', numbers = %(numbers)s::jsonb,
       confirm_run_id = (SELECT id FROM runs WHERE bakeoff_id = %(bakeoff_id)s)
WHERE run_id = %(run_id)s AND decided_at IS NULL;

-- decide_drift_check --
-- Decide a check; decided_at is the clock's time, not the transaction's start, so decisions are in order.
UPDATE drift_checks SET verdict = %(verdict)s, numbers = %(numbers)s::jsonb, decided_at = clock_timestamp()
WHERE run_id = %(run_id)s AND decided_at IS NULL;

-- drift_episode --
-- The first check of the current unbroken line with one verdict, and how many days ago it was decided.
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

-- checks_of --
-- The checks of a bake-off, in the order its judges were named.
SELECT b.task_name, b.eval_set_name, r.judge, c.run_id, c.rule, c.verdict, c.numbers, c.decided_at, c.confirm_run_id,
       k.bakeoff_id AS confirm_bakeoff_id
FROM drift_checks c JOIN runs r ON r.id = c.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
LEFT JOIN runs k ON k.id = c.confirm_run_id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY c.run_id;

-- recent_checks --
-- The newest checks of every judge and set, newest first.
SELECT task_name, eval_set_name, judge, run_id, rule, verdict, numbers, decided_at, confirm_run_id, confirm_bakeoff_id
FROM (
    SELECT b.task_name, b.eval_set_name, r.judge, c.run_id, c.rule, c.verdict, c.numbers, c.decided_at, c.confirm_run_id,
           k.bakeoff_id AS confirm_bakeoff_id,
           row_number() OVER (PARTITION BY b.task_name, b.eval_set_name, r.judge ORDER BY c.run_id DESC) AS place
    FROM drift_checks c JOIN runs r ON r.id = c.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
    LEFT JOIN runs k ON k.id = c.confirm_run_id
    WHERE %(task_name)s::text IS NULL OR b.task_name = %(task_name)s
) recent WHERE place <= %(limit)s ORDER BY task_name, eval_set_name, judge, run_id DESC;

-- drift_series --
-- The checks of a run's judge on its set up to that run, newest first, with their numbers.
SELECT c.run_id, b.created_at, b.task_sha, c.verdict, c.numbers, e.n_pass, e.n_fail
FROM runs own JOIN bakeoffs o ON o.id = own.bakeoff_id
JOIN bakeoffs b ON b.task_name = o.task_name AND b.eval_set_name = o.eval_set_name
JOIN runs r ON r.bakeoff_id = b.id AND r.judge = own.judge AND r.id <= own.id
JOIN drift_checks c ON c.run_id = r.id
LEFT JOIN eval_runs e ON e.id = r.id
WHERE own.id = %(run_id)s ORDER BY r.id DESC LIMIT %(limit)s;

-- acceptable_run --
-- A concluded run with its numbers.
SELECT e.id, e.task_name, e.eval_set_name, e.judge_model AS judge, e.n_pass, e.n_fail, e.n_error, e.accuracy, e.excluded
FROM eval_runs e WHERE e.id = %(run_id)s AND e.state = 'concluded';

-- add_baseline --
-- Accept a run as the baseline of its judge and set.
INSERT INTO drift_baselines (run_id, task_name, eval_set_name, judge)
SELECT id, task_name, eval_set_name, judge_model FROM eval_runs WHERE id = %(run_id)s RETURNING id;

-- current_baselines --
-- The accepted run of every judge and set.
SELECT DISTINCT ON (a.task_name, a.eval_set_name, a.judge) a.id, a.run_id, a.task_name, a.eval_set_name, a.judge,
       a.accepted_at, b.eval_set_sha, b.task_sha
FROM drift_baselines a JOIN runs r ON r.id = a.run_id JOIN bakeoffs b ON b.id = r.bakeoff_id
WHERE %(task_name)s::text IS NULL OR a.task_name = %(task_name)s
ORDER BY a.task_name, a.eval_set_name, a.judge, a.id DESC;
