-- Outcomes, what is computed from them, and people's labels.

-- verdicts --
-- Every outcome of a bake-off, or of one run, in case order.
SELECT o.run_id, o.case_id, o.sample, c.ordinal, c.stratum, o.verdict, o.error_kind, k.latency_ms
FROM outcomes o
JOIN bakeoffs b ON b.id = o.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = o.case_id
LEFT JOIN completions k ON k.job_id = o.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND (%(run_id)s::bigint IS NULL OR o.run_id = %(run_id)s)
ORDER BY c.ordinal, o.sample, o.run_id;

-- first_faults --
-- Of each run, the message of the first job whose call failed.
SELECT DISTINCT ON (run_id) run_id, message FROM outcomes
WHERE bakeoff_id = %(bakeoff_id)s AND verdict = 'errored' AND starts_with(error_kind, 'call_') ORDER BY run_id, job_id;

-- grade_scores --
-- The scores of graders that give more than a verdict, by run and grader.
SELECT o.run_id, g.grader, array_agg(g.score ORDER BY o.job_id) AS scores
FROM grades g JOIN outcomes o ON o.job_id = g.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND g.score IS NOT NULL
GROUP BY o.run_id, g.grader ORDER BY o.run_id, min(g.grader);

-- grade_opinions --
-- The opinions of the grader models of panels and comparisons, by grader.
SELECT g.grader, array_agg(g.details ORDER BY o.job_id) AS details
FROM grades g JOIN outcomes o ON o.job_id = g.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND (%(run_id)s::bigint IS NULL OR o.run_id = %(run_id)s) AND g.details ? 'members'
GROUP BY g.grader ORDER BY g.grader;

-- call_costs --
-- Dollars and calls of a bake-off by run and purpose.
SELECT j.run_id, c.purpose, coalesce(sum(c.cost_usd), 0) AS cost_usd, count(*) AS sent,
       count(*) FILTER (WHERE c.state = 'settled') AS settled,
       count(*) FILTER (WHERE c.state = 'unknown') AS unknown,
       count(*) FILTER (WHERE c.purpose = 'answer' AND c.attempt > 1) AS retries,
       count(*) FILTER (WHERE c.usage ->> 'cost_basis' = 'reservation') AS assumed,
       count(*) FILTER (WHERE c.state = 'settled' AND c.cost_usd > c.reserved_usd) AS above
FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.bakeoff_id = %(bakeoff_id)s GROUP BY j.run_id, c.purpose;

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
-- Dollars, retries and the current trouble per judge for the live display: the last fault, if nothing was answered since.
SELECT r.judge, coalesce(sum(c.cost_usd), 0) AS cost_usd,
       count(*) FILTER (WHERE c.purpose = 'answer' AND c.attempt > 1) AS retries,
       count(*) FILTER (WHERE c.purpose = 'grade') AS grade_calls,
       CASE WHEN max(c.id) FILTER (WHERE c.fault_kind <> 'rate')
                 > coalesce(max(c.id) FILTER (WHERE c.state = 'settled' AND c.fault_kind IS NULL), 0)
            THEN (array_agg(c.fault_message ORDER BY c.id DESC) FILTER (WHERE c.fault_kind <> 'rate'))[1] END AS trouble
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN call_journal c ON c.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s GROUP BY r.id;

-- alike_errors --
-- Of the first outcomes of a run, how many there are and how many are the same error; numbers and ids may differ.
WITH first AS (
    SELECT verdict, error_kind, message FROM outcomes WHERE run_id = %(run_id)s LIMIT %(limit)s
)
SELECT count(*) AS n, count(*) FILTER (WHERE verdict = 'errored' AND error_kind = %(error_kind)s
       AND regexp_replace(message, '[0-9A-Fa-f-]{6,}|[0-9]+', '#', 'g')
         = regexp_replace(%(message)s, '[0-9A-Fa-f-]{6,}|[0-9]+', '#', 'g')) AS alike
FROM first;

-- add_eval_run --
-- Write a run's row over the one it has: it was stopped before, or people changed outcomes; its notes stay. finished_at is the
-- clock's time, not now(): the transaction may have begun before the last outcome.
INSERT INTO eval_runs (id, task_name, eval_set_name, judge_model, scorer_mode, judge_for_scoring, n_cases, n_pass,
                       accuracy, ci_low, ci_high, p95_latency_ms, total_cost_usd, per_stratum, run_type, git_sha,
                       started_at, finished_at, bakeoff_id, n_fail, n_error, ci_method, p50_latency_ms, excluded,
                       n_pending, rescored_from, notes, state)
SELECT r.id, b.task_name, b.eval_set_name, r.judge, b.scorer_mode, b.grader_model, %(n_cases)s, %(n_pass)s,
       %(accuracy)s, %(ci_low)s, %(ci_high)s, %(p95_latency_ms)s, %(total_cost_usd)s, %(per_stratum)s, b.run_type,
       b.git_sha, b.created_at, clock_timestamp(), b.id, %(n_fail)s, %(n_error)s, %(ci_method)s, %(p50_latency_ms)s,
       %(excluded)s, %(n_pending)s, r.rescored_from, b.notes, %(state)s
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id WHERE r.id = %(run_id)s
ON CONFLICT (id) DO UPDATE
SET n_cases = excluded.n_cases, n_pass = excluded.n_pass, n_fail = excluded.n_fail, n_error = excluded.n_error,
    n_pending = excluded.n_pending, accuracy = excluded.accuracy, ci_low = excluded.ci_low, ci_high = excluded.ci_high,
    ci_method = excluded.ci_method, p50_latency_ms = excluded.p50_latency_ms, p95_latency_ms = excluded.p95_latency_ms,
    total_cost_usd = excluded.total_cost_usd, per_stratum = excluded.per_stratum, excluded = excluded.excluded,
    finished_at = excluded.finished_at, state = excluded.state;

-- add_kappa --
-- Write the agreement of two runs over the stored one; nothing for a run without a row.
WITH turned AS (
    DELETE FROM eval_kappa WHERE eval_run_id_a = %(b)s AND eval_run_id_b = %(a)s
)
INSERT INTO eval_kappa (eval_run_id_a, eval_run_id_b, kappa, n, ac1, degenerate)
SELECT a.id, b.id, %(kappa)s, %(n)s, %(ac1)s, %(degenerate)s FROM eval_runs a, eval_runs b
WHERE a.id = %(a)s AND b.id = %(b)s FOR KEY SHARE OF a, b
ON CONFLICT (eval_run_id_a, eval_run_id_b) DO UPDATE
SET kappa = excluded.kappa, n = excluded.n, ac1 = excluded.ac1, degenerate = excluded.degenerate;

-- drop_kappas --
-- Delete the agreement of some runs with any other.
DELETE FROM eval_kappa WHERE eval_run_id_a = ANY(%(run_ids)s) OR eval_run_id_b = ANY(%(run_ids)s);

-- outcome --
-- The outcome of a job; no row while it is open.
SELECT verdict, error_kind, message FROM outcomes WHERE job_id = %(job_id)s;

-- past_tallies --
-- The verdict counts of a task's latest bake-offs of several judges, case by case.
WITH latest AS (
    SELECT b.id FROM bakeoffs b WHERE b.task_name = %(task)s AND b.state = 'concluded'
      AND (SELECT count(*) FROM eval_runs e WHERE e.bakeoff_id = b.id AND e.excluded IS NULL AND e.state = 'concluded') > 1
    ORDER BY b.id DESC LIMIT %(limit)s
), tallies AS (
    SELECT o.run_id, o.case_id, count(*) AS graded, count(*) FILTER (WHERE o.verdict = 'passed') AS passed
    FROM outcomes o JOIN latest ON latest.id = o.bakeoff_id WHERE o.verdict IN ('passed', 'failed') GROUP BY o.run_id, o.case_id
)
SELECT r.bakeoff_id, r.judge, array_agg(t.case_id) AS cases, array_agg(t.graded) AS graded,
       array_agg(t.passed) AS passed
FROM runs r JOIN tallies t ON t.run_id = r.id GROUP BY r.id ORDER BY r.bakeoff_id, r.id;

-- labelled_answers --
-- Every job of a bake-off with the grader's verdict on its answer, in case order.
SELECT j.id AS job_id, r.judge, j.case_id, j.sample, c.stratum, o.verdict
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN bakeoffs b ON b.id = r.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
LEFT JOIN outcomes o ON o.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY c.ordinal, r.id, j.sample;

-- human_labels --
-- People's labels of a bake-off's answers.
SELECT l.job_id, l.labeller, l.passed
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN human_labels l ON l.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY l.job_id, l.labeller;

-- keep_human_labels --
-- Store people's labels, each over an earlier one by the same person.
INSERT INTO human_labels (job_id, labeller, passed)
SELECT * FROM unnest(%(job_ids)s::bigint[], %(labellers)s::text[], %(passed)s::boolean[])
ON CONFLICT (job_id, labeller) DO UPDATE SET passed = excluded.passed, labelled_at = now(), from_review = FALSE;
