-- Snapshots of tasks, evalsets and judges.

-- add_definition --
-- Store a snapshot; no row when its content is stored.
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
-- The cases of an evalset snapshot with a hash of each, in order.
SELECT case_id, md5(body::text) AS content FROM cases WHERE eval_set_sha = %(eval_set_sha)s ORDER BY ordinal;

-- run_judges --
-- The judge snapshot of each run of a bake-off.
SELECT judge, judge_sha FROM runs WHERE bakeoff_id = %(bakeoff_id)s ORDER BY id;

-- bakeoff_graders --
-- The grader model snapshots of a bake-off, by the names its task uses.
SELECT grader_shas FROM bakeoffs WHERE id = %(bakeoff_id)s;

-- runs_code --
-- A row if a grader of a bake-off's task or cases runs code.
SELECT b.id FROM bakeoffs b JOIN definitions d ON d.sha256 = b.task_sha
WHERE b.id = %(bakeoff_id)s AND (d.body::text LIKE '%%"function_output"%%' OR EXISTS (
    SELECT 1 FROM cases c WHERE c.eval_set_sha = b.eval_set_sha AND c.body::text LIKE '%%"function_output"%%'));
