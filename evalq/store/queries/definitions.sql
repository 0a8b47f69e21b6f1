-- Snapshots of tasks, evalsets and judges, and the answers given to them.

-- add_definition --
-- Keep a snapshot; the same content twice is one row.
INSERT INTO definitions (sha256, kind, name, body) VALUES (%(sha256)s, %(kind)s, %(name)s, %(body)s)
ON CONFLICT (sha256) DO NOTHING RETURNING sha256;

-- definition --
-- A snapshot's text.
SELECT body::text AS body FROM definitions WHERE sha256 = %(sha256)s;

-- copy_cases --
-- Bulk load of an evalset's cases.
COPY cases (eval_set_sha, case_id, ordinal, stratum, body) FROM STDIN;

-- evalset_cases --
-- The cases of an evalset snapshot in order.
SELECT body::text AS body FROM cases WHERE eval_set_sha = %(eval_set_sha)s ORDER BY ordinal;

-- case_contents --
-- The cases of an evalset snapshot with a mark of what is in each, in order.
SELECT case_id, md5(body::text) AS content FROM cases WHERE eval_set_sha = %(eval_set_sha)s ORDER BY ordinal;

-- run_judges --
-- Which snapshot of its judge each run of a bake-off was given.
SELECT judge, judge_sha FROM runs WHERE bakeoff_id = %(bakeoff_id)s ORDER BY id;

-- bakeoff_graders --
-- The grader models of a bake-off by the names they are called.
SELECT grader_shas FROM bakeoffs WHERE id = %(bakeoff_id)s;

-- runs_code --
-- Whether a grader of a bake-off's task or cases runs code; no row: none does.
SELECT b.id FROM bakeoffs b JOIN definitions d ON d.sha256 = b.task_sha
WHERE b.id = %(bakeoff_id)s AND (d.body::text LIKE '%%"function_output"%%' OR EXISTS (
    SELECT 1 FROM cases c WHERE c.eval_set_sha = b.eval_set_sha AND c.body::text LIKE '%%"function_output"%%'));

-- stored_answers --
-- The stored answers of some runs, with the cases they are for, to be looked at anew.
SELECT r.id AS run_id, r.judge, j.id AS job_id, j.case_id, j.sample, c.body::text AS case_body, k.state AS kept_state,
       k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms, k.cost_usd, k.tool_calls
FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id JOIN jobs j ON j.run_id = r.id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
JOIN completions k ON k.job_id = j.id
WHERE r.id = ANY(%(run_ids)s) AND (%(case_id)s::text IS NULL OR j.case_id = %(case_id)s)
ORDER BY r.id, c.ordinal, j.sample;

-- take_over_answers --
-- The stored answers of the runs a bake-off grades anew become its own jobs' answers.
INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms,
                         cost_usd, tool_calls, stored_at)
SELECT new.id, k.state, k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms,
       k.cost_usd, k.tool_calls, k.stored_at
FROM runs r JOIN jobs new ON new.run_id = r.id
JOIN jobs old ON old.run_id = r.rescored_from AND old.case_id = new.case_id AND old.sample = new.sample
JOIN completions k ON k.job_id = old.id
WHERE r.bakeoff_id = %(bakeoff_id)s;

-- end_unanswered --
-- Jobs that grade anew and find no answer end as theirs did: nobody is asked again.
WITH done AS (
    UPDATE jobs j SET state = 'done' FROM runs r
    WHERE r.bakeoff_id = %(bakeoff_id)s AND j.run_id = r.id
      AND NOT EXISTS (SELECT 1 FROM completions k WHERE k.job_id = j.id)
    RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, r.rescored_from
)
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
SELECT done.id, done.run_id, done.bakeoff_id, done.case_id, done.sample, 'errored', coalesce(o.error_kind, 'no_answer'),
       coalesce(o.message, 'the run it grades anew has no answer here'), 0
FROM done LEFT JOIN outcomes o
     ON o.run_id = done.rescored_from AND o.case_id = done.case_id AND o.sample = done.sample;
