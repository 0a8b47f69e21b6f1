-- One case of a bake-off in full: its text, its attempts, its past.

-- case_previews --
-- The beginning of the inputs of some cases.
SELECT c.case_id, left((SELECT string_agg(i.value, ' ') FROM json_each_text(c.body -> 'inputs') i), 240) AS preview
FROM bakeoffs b JOIN cases c ON c.eval_set_sha = b.eval_set_sha
WHERE b.id = %(bakeoff_id)s AND c.case_id = ANY(%(case_ids)s);

-- case_of_bakeoff --
-- One case of a bake-off's evalset.
SELECT c.case_id, c.ordinal, c.stratum, c.body::text AS body FROM bakeoffs b
JOIN cases c ON c.eval_set_sha = b.eval_set_sha WHERE b.id = %(bakeoff_id)s AND c.case_id = %(case_id)s;

-- case_history --
-- The verdicts of one case in the latest other bake-offs of the same task, newest first; the same content only.
WITH mine AS (
    SELECT b.task_name, c.body::text AS body FROM bakeoffs b
    JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = %(case_id)s WHERE b.id = %(bakeoff_id)s
), others AS (
    SELECT b.id FROM bakeoffs b, mine WHERE b.task_name = mine.task_name AND b.id <> %(bakeoff_id)s
    ORDER BY b.id DESC LIMIT %(limit)s
)
SELECT b.id AS bakeoff_id, b.run_type, b.created_at, r.judge, c.body::text <> mine.body AS is_changed,
       count(*) FILTER (WHERE o.verdict = 'passed') AS n_pass, count(*) FILTER (WHERE o.verdict = 'failed') AS n_fail,
       count(*) FILTER (WHERE o.verdict = 'errored') AS n_error
FROM others JOIN bakeoffs b ON b.id = others.id CROSS JOIN mine JOIN runs r ON r.bakeoff_id = b.id
JOIN outcomes o ON o.run_id = r.id AND o.case_id = %(case_id)s
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = o.case_id
GROUP BY b.id, r.id, c.body::text, mine.body ORDER BY b.id DESC, r.id;

-- call_attempts --
-- Every call attempt of some jobs, in order.
SELECT c.job_id, c.purpose, c.judge, c.attempt, c.state, c.cost_usd, c.latency_ms, c.fault_kind, c.fault_message,
       c.reserved_at, (c.usage ->> 'cached_input_tokens')::int AS cached_tokens
FROM call_journal c WHERE c.job_id = ANY(%(job_ids)s) ORDER BY c.job_id, c.id LIMIT 500;

-- cached_verdicts_of --
-- How many stored verdicts stood in for calls, and the dollars they saved, by job.
SELECT job_id, count(*) AS n, sum(saved_usd) AS saved_usd FROM verdict_uses WHERE job_id = ANY(%(job_ids)s) GROUP BY job_id;

-- first_errors --
-- For each judge of a bake-off, how often it errored, and its first error.
WITH errors AS (
    SELECT run_id, count(*) AS n, min(job_id) AS first_job FROM outcomes
    WHERE bakeoff_id = %(bakeoff_id)s AND verdict = 'errored' GROUP BY run_id
)
SELECT r.judge, e.n, o.case_id, o.error_kind, o.message
FROM errors e JOIN runs r ON r.id = e.run_id JOIN outcomes o ON o.job_id = e.first_job ORDER BY r.id;
