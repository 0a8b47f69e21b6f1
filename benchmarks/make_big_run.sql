-- Ends the jobs of a bake-off as workers would have. An answer is right when its judge's skill beats the case's
-- difficulty, give or take some noise.

CREATE TEMP TABLE scene AS
SELECT j.id AS job_id, j.run_id, j.bakeoff_id, j.case_id, j.sample, r.judge, s.skill,
       mod(abs(hashtext(j.case_id)), 1000) / 1000.0 * 0.7 + mod(abs(hashtext(j.case_id || r.judge || %(salt)s)), 1000) / 1000.0 * 0.3
           < s.skill AS passed,
       mod(abs(hashtext(r.judge || j.case_id || 'e')), 400) = 0 AS broke,
       400 + mod(abs(hashtext(j.case_id || r.judge || 'l')), 1800) AS latency_ms
FROM jobs j JOIN runs r ON r.id = j.run_id JOIN unnest(%(judges)s::text[], %(skills)s::float[]) s (judge, skill)
  ON s.judge = r.judge
WHERE j.bakeoff_id = %(bakeoff_id)s;

INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms, cost_usd)
SELECT job_id, CASE WHEN skill IS NULL THEN 'empty' WHEN broke THEN 'truncated' ELSE 'answered' END,
       CASE WHEN skill IS NULL THEN '' WHEN passed THEN 'A says one year while B says another: contradiction in ' || case_id
            ELSE '[] no finding: both sources describe ' || case_id || ' alike' END,
       judge, 'request-' || job_id, 812, 60, '{}', latency_ms, 0.0021
FROM scene;

INSERT INTO call_journal (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state, reserved_usd, cost_usd,
                          usage, latency_ms, sent_at, settled_at)
SELECT bakeoff_id, job_id, 'answer', judge, 'simulated', judge, 'answer', 1, 'settled', 0.01, 0.0021, '{}', latency_ms,
       now(), now()
FROM scene;

INSERT INTO grades (job_id, grader, passed, score, reason, kind)
SELECT job_id, 'strict_substring', passed, passed::int, CASE WHEN passed THEN '' ELSE 'the expected words are not there' END,
       'strict_substring'
FROM scene WHERE skill IS NOT NULL AND NOT broke;

INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
SELECT job_id, run_id, bakeoff_id, case_id, sample,
       CASE WHEN skill IS NULL OR broke THEN 'errored' WHEN passed THEN 'passed' ELSE 'failed' END,
       CASE WHEN skill IS NULL THEN 'empty' WHEN broke THEN 'truncated' END,
       CASE WHEN skill IS NULL THEN 'the answer is empty' WHEN broke THEN 'cut off at max_tokens' END, 1
FROM scene;

UPDATE jobs SET state = 'done' WHERE bakeoff_id = %(bakeoff_id)s;

UPDATE bakeoffs SET spent_usd = (SELECT sum(cost_usd) FROM call_journal WHERE bakeoff_id = %(bakeoff_id)s)
WHERE id = %(bakeoff_id)s;

DROP TABLE scene;
