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

-- cases_at --
-- The rows of a concluded bake-off at some ordinals.
SELECT case_id, ordinal, stratum, verdicts, disagrees, any_fail, all_fail, has_error FROM case_rollups
WHERE bakeoff_id = %(bakeoff_id)s AND ordinal = ANY(%(ordinals)s) ORDER BY ordinal;

-- previous_bakeoff --
-- The newest earlier bake-off of the same task on the same cases that has a judge in common.
SELECT p.id FROM bakeoffs b JOIN bakeoffs p ON p.task_name = b.task_name AND p.eval_set_sha = b.eval_set_sha
  AND p.state = 'concluded' AND p.id < b.id
WHERE b.id = %(bakeoff_id)s AND EXISTS (
    SELECT 1 FROM runs mine JOIN runs theirs ON theirs.judge = mine.judge
    WHERE mine.bakeoff_id = b.id AND theirs.bakeoff_id = p.id)
ORDER BY p.id DESC LIMIT 1;

-- flipped_cases --
-- The ordinals of cases that a judge passed in one of two bake-offs and failed in the other, with all samples alike.
WITH pairs AS (
    SELECT a.id AS run_id, b.id AS before_id FROM runs a JOIN runs b ON b.judge = a.judge
    WHERE a.bakeoff_id = %(bakeoff_id)s AND b.bakeoff_id = %(previous)s
), clear AS (
    SELECT o.run_id, o.case_id, min(o.verdict) AS verdict FROM outcomes o
    WHERE o.bakeoff_id IN (%(bakeoff_id)s, %(previous)s) GROUP BY o.run_id, o.case_id
    HAVING min(o.verdict) = max(o.verdict) AND min(o.verdict) IN ('passed', 'failed')
)
SELECT DISTINCT c.ordinal FROM pairs JOIN clear now ON now.run_id = pairs.run_id
JOIN clear before ON before.run_id = pairs.before_id AND before.case_id = now.case_id AND before.verdict <> now.verdict
JOIN case_rollups c ON c.bakeoff_id = %(bakeoff_id)s AND c.case_id = now.case_id ORDER BY c.ordinal;

-- live_case_rows --
-- The cases of a bake-off on its way, computed from its outcomes.
SELECT case_id, ordinal, stratum, verdicts, disagrees, any_fail, all_fail, has_error
FROM case_verdicts(%(bakeoff_id)s, %(ranked)s) ORDER BY ordinal LIMIT %(limit)s;
