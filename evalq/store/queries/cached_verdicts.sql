-- The cache of grader models' verdicts.

-- cached_verdict --
-- The verdict cached for a question, noted as used by a job.
WITH hit AS (
    SELECT key, verdict, cost_usd FROM verdict_cache WHERE key = %(key)s
), used AS (
    INSERT INTO verdict_uses (job_id, key, bakeoff_id, saved_usd)
    SELECT %(job_id)s, key, %(bakeoff_id)s, cost_usd FROM hit ON CONFLICT DO NOTHING
)
SELECT verdict FROM hit;

-- keep_verdict --
-- Cache a verdict; the first one stays.
INSERT INTO verdict_cache (key, verdict, reason, grader_model, cost_usd)
VALUES (%(key)s, %(verdict)s, '', %(grader_model)s, %(cost_usd)s) ON CONFLICT DO NOTHING;

-- peek_verdict --
-- The verdict cached for a question, not noted as used.
SELECT verdict FROM verdict_cache WHERE key = %(key)s;

-- cache_savings --
-- Verdicts of a bake-off that came from the cache, and what they would have cost.
SELECT count(*) AS n, coalesce(sum(saved_usd), 0) AS saved_usd FROM verdict_uses WHERE bakeoff_id = %(bakeoff_id)s;

-- cache_rows --
-- The cached verdicts by grader model: how many, what they cost, how often they were used, what that saved.
SELECT c.grader_model, count(*) AS verdicts, coalesce(sum(c.cost_usd), 0) AS cost_usd, min(c.stored_at) AS oldest,
       max(c.stored_at) AS newest, coalesce(sum(u.uses), 0)::bigint AS uses, coalesce(sum(u.saved_usd), 0) AS saved_usd
FROM verdict_cache c
LEFT JOIN (SELECT key, count(*) AS uses, sum(saved_usd) AS saved_usd FROM verdict_uses GROUP BY key) u USING (key)
GROUP BY c.grader_model ORDER BY count(*) DESC, c.grader_model;

-- count_prunable --
-- How many cached verdicts prune_verdicts deletes, and what they cost.
SELECT count(*) AS n, coalesce(sum(cost_usd), 0) AS cost_usd FROM verdict_cache
WHERE (%(before)s::timestamptz IS NULL OR stored_at < %(before)s)
  AND (%(grader_model)s::text IS NULL OR grader_model = %(grader_model)s);

-- prune_verdicts --
-- Delete cached verdicts; the record of their uses stays.
DELETE FROM verdict_cache
WHERE (%(before)s::timestamptz IS NULL OR stored_at < %(before)s)
  AND (%(grader_model)s::text IS NULL OR grader_model = %(grader_model)s);
