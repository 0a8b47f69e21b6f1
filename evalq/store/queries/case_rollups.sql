-- The cases of a bake-off as pages list them: verdicts, filters and counts, never the long texts.

-- drop_case_rollups --
-- Delete the stored rows of a bake-off.
DELETE FROM case_rollups WHERE bakeoff_id = %(bakeoff_id)s;

-- add_case_rollups --
-- Compute and store the rows of a bake-off; disagreement is among the ranked runs.
INSERT INTO case_rollups (bakeoff_id, case_id, ordinal, stratum, verdicts, n_pass, n_fail, n_error, disagrees, any_fail,
                          all_fail, has_error)
SELECT %(bakeoff_id)s, v.* FROM case_verdicts(%(bakeoff_id)s, %(ranked)s) v;

-- has_case_rollups --
-- A row if a bake-off has stored rows.
SELECT 1 AS found FROM case_rollups WHERE bakeoff_id = %(bakeoff_id)s LIMIT 1;

-- case_counts --
-- How many cases each filter has.
SELECT count(*) AS every, count(*) FILTER (WHERE disagrees) AS disagree, count(*) FILTER (WHERE any_fail) AS any_fail,
       count(*) FILTER (WHERE all_fail) AS all_fail, count(*) FILTER (WHERE has_error) AS errors
FROM case_rollups WHERE bakeoff_id = %(bakeoff_id)s;

-- case_page --
-- The first cases of a concluded bake-off after an ordinal, of those that a filter lets through.
SELECT case_id, ordinal, stratum, verdicts, disagrees, any_fail, all_fail, has_error FROM case_rollups
WHERE bakeoff_id = %(bakeoff_id)s AND ordinal > %(ordinal)s
  AND (%(show)s <> 'disagree' OR disagrees) AND (%(show)s <> 'any_fail' OR any_fail)
  AND (%(show)s <> 'all_fail' OR all_fail) AND (%(show)s <> 'errors' OR has_error)
ORDER BY ordinal LIMIT %(limit)s;

-- case_page_before --
-- The last cases before an ordinal, the nearest first.
SELECT case_id, ordinal, stratum, verdicts, disagrees, any_fail, all_fail, has_error FROM case_rollups
WHERE bakeoff_id = %(bakeoff_id)s AND ordinal < %(ordinal)s
  AND (%(show)s <> 'disagree' OR disagrees) AND (%(show)s <> 'any_fail' OR any_fail)
  AND (%(show)s <> 'all_fail' OR all_fail) AND (%(show)s <> 'errors' OR has_error)
ORDER BY ordinal DESC LIMIT %(limit)s;

-- case_place --
-- How many cases that a filter lets through come before an ordinal.
SELECT count(*) AS n FROM case_rollups
WHERE bakeoff_id = %(bakeoff_id)s AND ordinal < %(ordinal)s
  AND (%(show)s <> 'disagree' OR disagrees) AND (%(show)s <> 'any_fail' OR any_fail)
  AND (%(show)s <> 'all_fail' OR all_fail) AND (%(show)s <> 'errors' OR has_error);

-- live_case_rows --
-- The cases of a bake-off on its way, computed from its outcomes.
SELECT case_id, ordinal, stratum, verdicts, disagrees, any_fail, all_fail, has_error
FROM case_verdicts(%(bakeoff_id)s, %(ranked)s) ORDER BY ordinal LIMIT %(limit)s;
