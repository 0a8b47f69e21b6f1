-- Runs of suites and their bake-offs.

-- add_suite_run --
-- Record the run of a suite before its first bake-off.
INSERT INTO suite_runs (suite, kind, samples, lineup, facts)
VALUES (%(suite)s, %(kind)s, %(samples)s, %(lineup)s, %(facts)s)
RETURNING id;

-- link_suite_bakeoff --
-- Make a bake-off part of a suite run.
INSERT INTO suite_run_bakeoffs (bakeoff_id, suite_run_id, attempt)
VALUES (%(bakeoff_id)s, %(suite_run_id)s, %(attempt)s)
ON CONFLICT (bakeoff_id) DO NOTHING;

-- end_suite_run --
-- Record that a suite run has ended, and whether its time limit ended it.
UPDATE suite_runs SET ended_at = now(), is_timed_out = %(is_timed_out)s WHERE id = %(suite_run_id)s;

-- note_report_files --
-- Remember where the report of a suite run was written.
UPDATE suite_runs SET report_files = %(paths)s WHERE id = %(suite_run_id)s;

-- report_files --
-- Where the report of a suite run was written.
SELECT report_files FROM suite_runs WHERE id = %(suite_run_id)s;

-- suite_run --
-- One run of a suite.
SELECT id, suite, kind, samples, lineup, facts, is_timed_out, started_at, ended_at, now() AS read_at
FROM suite_runs WHERE id = %(suite_run_id)s;

-- suite_run_parts --
-- The bake-offs of a suite run in the order they were started.
SELECT bakeoff_id, attempt FROM suite_run_bakeoffs WHERE suite_run_id = %(suite_run_id)s ORDER BY bakeoff_id;

-- suite_run_of_bakeoff --
-- The suite run that a bake-off is part of.
SELECT suite_run_id FROM suite_run_bakeoffs WHERE bakeoff_id = %(bakeoff_id)s;

-- newest_suite_run --
-- The newest run of any suite; captures of baselines are passed over.
SELECT id FROM suite_runs WHERE kind = 'run' ORDER BY id DESC LIMIT 1;
