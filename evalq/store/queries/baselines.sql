-- Baselines of suites.

-- baselines --
-- The baselines of a suite, with the results of their evals since.
SELECT eval_id, judge, version, output::text AS output, captured_at, environment, bakeoff_id, criticality,
       last_passed, failure_count, checked_at
FROM baselines WHERE suite = %(suite)s ORDER BY eval_id, judge;

-- keep_baseline --
-- Store the output that an eval is compared with, over an older one.
INSERT INTO baselines (suite, eval_id, judge, version, output, captured_at, environment, bakeoff_id, criticality)
VALUES (%(suite)s, %(eval_id)s, %(judge)s, %(version)s, %(output)s, %(captured_at)s, %(environment)s,
        %(bakeoff_id)s, %(criticality)s)
ON CONFLICT (suite, eval_id, judge) DO UPDATE
SET version = excluded.version, output = excluded.output, captured_at = excluded.captured_at,
    environment = excluded.environment, bakeoff_id = excluded.bakeoff_id, criticality = excluded.criticality;

-- note_comparison --
-- Count whether an eval passed against its baseline; the first time on top of the counts of its file.
INSERT INTO baselines (suite, eval_id, judge, criticality, last_passed, failure_count, checked_at)
VALUES (%(suite)s, %(eval_id)s, %(judge)s, %(criticality)s,
        CASE WHEN %(passed)s THEN now() ELSE %(last_passed)s::timestamptz END,
        %(failure_count)s + (NOT %(passed)s)::int, now())
ON CONFLICT (suite, eval_id, judge) DO UPDATE
SET last_passed = CASE WHEN %(passed)s THEN now() ELSE baselines.last_passed END,
    failure_count = baselines.failure_count + (NOT %(passed)s)::int,
    criticality = excluded.criticality, checked_at = now();
