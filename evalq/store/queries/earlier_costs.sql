-- What judges and graders cost before, for estimates.

-- earlier_answers --
-- Mean tokens of the newest answers of a judge to a task: of the same set or of others, of smoke calls or not.
WITH newest AS (
    SELECT r.id, b.eval_set_name = %(eval_set_name)s AS is_same_set, b.run_type = 'smoke' AS is_smoke
    FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id
    WHERE r.judge_sha = %(judge_sha)s AND b.task_sha = %(task_sha)s AND r.rescored_from IS NULL
    ORDER BY r.id DESC LIMIT 20
)
SELECT newest.is_same_set, newest.is_smoke, count(*) AS n,
       avg(c.input_tokens) AS input_tokens, avg(c.output_tokens) AS output_tokens
FROM newest CROSS JOIN LATERAL (
    SELECT c.input_tokens, c.output_tokens FROM jobs j JOIN completions c ON c.job_id = j.id
    WHERE j.run_id = newest.id AND c.input_tokens + c.output_tokens > 0 LIMIT 1000
) c
GROUP BY newest.is_same_set, newest.is_smoke;

-- earlier_grading --
-- Dollars that each grader model cost per answer in the newest bake-offs of a task.
WITH newest AS (SELECT id FROM bakeoffs WHERE task_sha = %(task_sha)s ORDER BY id DESC LIMIT 20)
SELECT c.judge, c.model, sum(c.cost_usd) / count(DISTINCT c.job_id) AS usd_per_answer
FROM newest CROSS JOIN LATERAL (
    SELECT judge, model, job_id, cost_usd FROM call_journal
    WHERE bakeoff_id = newest.id AND purpose = 'grade' AND state = 'settled' AND cost_usd > 0 LIMIT 2000
) c
GROUP BY c.judge, c.model;
