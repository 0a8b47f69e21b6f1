-- Bake-offs as pages list them: filtered, paged, as series over time.

-- bakeoff_page --
-- One page of bake-offs, newest first: before an id, of one task, set, run type or state, or with some words in its names.
SELECT b.id, b.task_name, b.eval_set_name, b.name, b.run_type, b.state, b.spent_usd, b.cap_usd, b.created_at,
       (SELECT coalesce(sum(n_jobs), 0) FROM runs r WHERE r.bakeoff_id = b.id)::int AS n_jobs,
       CASE WHEN b.state = 'concluded' THEN NULL
            ELSE (SELECT count(*) FROM outcomes o WHERE o.bakeoff_id = b.id) END AS n_done,
       coalesce(b.result ->> 'partial', 'false') = 'true' AS is_partial,
       b.result #>> '{runs,0,judge}' AS leader, b.result #>> '{runs,0,excluded}' AS leader_excluded,
       (b.result #>> '{runs,0,accuracy}')::float8 AS accuracy, (b.result #>> '{runs,0,ci_low}')::float8 AS ci_low,
       (b.result #>> '{runs,0,ci_high}')::float8 AS ci_high,
       ((b.result #>> '{runs,0,n_pass}')::int + (b.result #>> '{runs,0,n_fail}')::int) AS n
FROM bakeoffs b
WHERE b.id < %(before)s AND (%(task)s::text IS NULL OR b.task_name = %(task)s)
  AND (%(eval_set)s::text IS NULL OR b.eval_set_name = %(eval_set)s)
  AND (%(run_type)s::text IS NULL OR b.run_type = %(run_type)s)
  AND (%(state)s::text IS NULL OR b.state = %(state)s)
  AND (%(search)s::text IS NULL OR position(lower(%(search)s) IN lower(concat_ws(' ', b.task_name, b.eval_set_name, b.name,
       b.notes, (SELECT string_agg(r.judge, ' ') FROM runs r WHERE r.bakeoff_id = b.id)))) > 0)
ORDER BY b.id DESC LIMIT %(limit)s;

-- bakeoff_facets --
-- The tasks, sets and run types there are, with how many bake-offs each has.
SELECT 'task' AS facet, task_name AS name, count(*) AS n FROM bakeoffs GROUP BY task_name
UNION ALL SELECT 'set', eval_set_name, count(*) FROM bakeoffs GROUP BY eval_set_name
UNION ALL SELECT 'type', run_type, count(*) FROM bakeoffs GROUP BY run_type
ORDER BY facet, name LIMIT 300;

-- drift_timeline --
-- The runs of one task for a timeline, oldest first: drift checks and final decisions, with their verdicts and models.
SELECT e.id AS run_id, e.bakeoff_id, e.judge_model AS judge, e.eval_set_name, e.run_type, e.accuracy::float8 AS accuracy,
       e.ci_low::float8 AS ci_low, e.ci_high::float8 AS ci_high, e.n_pass + e.n_fail AS n, e.excluded, e.started_at,
       b.task_sha, c.verdict, c.rule, c.numbers,
       (SELECT k.model FROM jobs j JOIN completions k ON k.job_id = j.id WHERE j.run_id = e.id AND k.model IS NOT NULL LIMIT 1) AS model
FROM eval_runs e JOIN bakeoffs b ON b.id = e.bakeoff_id LEFT JOIN drift_checks c ON c.run_id = e.id
WHERE e.task_name = %(task)s AND e.run_type IN ('drift_check', 'final-decision') AND e.state = 'concluded'
  AND e.started_at > %(since)s
ORDER BY e.id DESC LIMIT 500;

-- drift_tasks --
-- The tasks with drift checks or final decisions.
SELECT task_name AS task, count(*) AS n, max(started_at) AS latest FROM eval_runs
WHERE run_type IN ('drift_check', 'final-decision') GROUP BY task_name ORDER BY task_name LIMIT 200;

-- queue_states --
-- How many jobs of running bake-offs are in each state, by gate.
SELECT j.gate, count(*) FILTER (WHERE j.state = 'ready') AS ready, count(*) FILTER (WHERE j.state = 'queued') AS queued,
       count(*) FILTER (WHERE j.state = 'leased') AS leased
FROM jobs j JOIN bakeoffs b ON b.id = j.bakeoff_id
WHERE b.state = 'running' AND j.state <> 'done' GROUP BY j.gate ORDER BY j.gate LIMIT 200;
