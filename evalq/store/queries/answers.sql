-- What judges answered, and how it was graded.

-- inspected_cases --
-- The cases of a bake-off with each judge's verdict, in evalset order.
SELECT c.case_id, c.stratum, c.body::text AS body,
       array_agg(r.judge ORDER BY r.id, o.sample) AS judges, array_agg(o.verdict ORDER BY r.id, o.sample) AS verdicts
FROM bakeoffs b
JOIN cases c ON c.eval_set_sha = b.eval_set_sha
JOIN outcomes o ON o.bakeoff_id = b.id AND o.case_id = c.case_id
JOIN runs r ON r.id = o.run_id
WHERE b.id = %(bakeoff_id)s
GROUP BY c.eval_set_sha, c.case_id ORDER BY c.ordinal;

-- inspected_answers --
-- Answers of a bake-off with verdict, error and price, for some cases, in judge order.
SELECT r.judge, o.case_id, o.sample, o.job_id, o.verdict, o.error_kind, o.message, k.answer,
       k.state AS completion_state, k.latency_ms, k.cost_usd, k.input_tokens, k.output_tokens
FROM outcomes o JOIN runs r ON r.id = o.run_id LEFT JOIN completions k ON k.job_id = o.job_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND o.case_id = ANY(%(case_ids)s)
ORDER BY o.case_id, r.id, o.sample;

-- grades --
-- The grades of some jobs, in the order of their graders.
SELECT job_id, grader, passed, score, reason, required, weight, kind, pending, details FROM grades
WHERE job_id = ANY(%(job_ids)s) ORDER BY job_id, ordinal, grader;

-- first_answers --
-- Each judge's answer to its first case in a bake-off; nulls where there is none.
SELECT DISTINCT ON (r.id) r.judge, j.case_id, j.sample, j.id AS job_id, o.verdict, o.error_kind, o.message, k.answer,
       k.state AS completion_state, k.latency_ms, k.cost_usd, k.input_tokens, k.output_tokens
FROM runs r JOIN jobs j ON j.run_id = r.id
LEFT JOIN completions k ON k.job_id = j.id LEFT JOIN outcomes o ON o.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s ORDER BY r.id, j.position;

-- judge_verdicts --
-- The verdicts of one judge of a bake-off, by case.
SELECT o.case_id, o.verdict, o.error_kind FROM outcomes o JOIN runs r ON r.id = o.run_id
WHERE o.bakeoff_id = %(bakeoff_id)s AND r.judge = %(judge)s ORDER BY o.case_id, o.sample;

-- opponent --
-- Another judge's answer to a case, with the states of its job and run; nulls before there is one.
SELECT k.state, k.answer, j.state AS job_state, r.state AS run_state
FROM runs r JOIN jobs j ON j.run_id = r.id LEFT JOIN completions k ON k.job_id = j.id
WHERE r.bakeoff_id = %(bakeoff_id)s AND r.judge = %(judge)s AND j.case_id = %(case_id)s AND j.sample = %(sample)s;

-- stored_answers --
-- The stored answers of some runs, with their cases.
SELECT r.id AS run_id, r.judge, j.id AS job_id, j.case_id, j.sample, c.body::text AS case_body, k.state AS kept_state,
       k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id JOIN jobs j ON j.run_id = r.id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
JOIN completions k ON k.job_id = j.id
WHERE r.id = ANY(%(run_ids)s) AND (%(case_id)s::text IS NULL OR j.case_id = %(case_id)s)
ORDER BY r.id, c.ordinal, j.sample;

-- take_over_answers --
-- Copy the answers of the runs that a bake-off rescores to its own jobs.
INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms,
                         cost_usd, tool_calls, stored_at)
SELECT new.id, k.state, k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms,
       k.cost_usd, k.tool_calls, k.stored_at
FROM runs r JOIN jobs new ON new.run_id = r.id
JOIN jobs old ON old.run_id = r.rescored_from AND old.case_id = new.case_id AND old.sample = new.sample
JOIN completions k ON k.job_id = old.id
WHERE r.bakeoff_id = %(bakeoff_id)s;

-- end_unanswered --
-- End the jobs of a rescoring bake-off that got no answer, as the job they rescore ended.
WITH done AS (
    UPDATE jobs j SET state = 'done' FROM runs r
    WHERE r.bakeoff_id = %(bakeoff_id)s AND j.run_id = r.id
      AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
    RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, r.rescored_from
)
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
SELECT done.id, done.run_id, done.bakeoff_id, done.case_id, done.sample, 'errored', coalesce(o.error_kind, 'no_answer'),
       coalesce(o.message, 'the run it rescores has no answer here'), 0
FROM done LEFT JOIN outcomes o
     ON o.run_id = done.rescored_from AND o.case_id = done.case_id AND o.sample = done.sample;

-- answer_texts --
-- The case and the answer of some jobs.
SELECT j.id AS job_id, c.body::text AS body, k.answer
FROM jobs j JOIN bakeoffs b ON b.id = j.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
LEFT JOIN completions k ON k.job_id = j.id WHERE j.id = ANY(%(job_ids)s);
