-- Figures for monitoring: jobs, calls and dollars, and what people should be alerted to.

-- metric_jobs --
-- The jobs of running bake-offs by judge and state; those that ended by their verdict.
SELECT b.id AS bakeoff_id, r.judge, found.state, found.n
FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id
CROSS JOIN LATERAL (
    SELECT j.state, count(*) AS n FROM jobs j WHERE j.run_id = r.id AND j.state <> 'done' GROUP BY j.state
    UNION ALL
    SELECT o.verdict, count(*) FROM outcomes o WHERE o.bakeoff_id = b.id AND o.run_id = r.id GROUP BY o.verdict
) found
WHERE b.state = 'running' ORDER BY b.id, r.id, found.state LIMIT 5000;

-- metric_calls --
-- The calls of today (UTC) that have ended, by judge, purpose and outcome, with their dollars.
SELECT c.provider, c.judge, c.purpose,
       CASE WHEN c.fault_kind IS NOT NULL THEN c.fault_kind WHEN c.state = 'unknown' THEN 'lost' ELSE 'answered' END AS outcome,
       count(*) AS n, coalesce(sum(c.cost_usd), 0) AS cost_usd
FROM call_journal c
WHERE c.reserved_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AND c.state IN ('settled', 'unknown')
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT 5000;

-- metric_latencies --
-- The latencies of the calls of today (UTC) that were answered, by judge and bucket: 0 is up to the first bound.
SELECT c.judge, c.purpose, width_bucket(c.latency_ms - 1, %(bounds_ms)s::int[]) AS bucket, count(*) AS n,
       sum(c.latency_ms)::float8 / 1000 AS total_s
FROM call_journal c
WHERE c.reserved_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AND c.latency_ms IS NOT NULL
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT 5000;

-- metric_bakeoff_spending --
-- The dollars of running bake-offs under their caps.
SELECT id AS bakeoff_id, task_name, cap_usd, spent_usd, reserved_usd FROM bakeoffs WHERE state = 'running' ORDER BY id LIMIT 1000;

-- metric_daily_spending --
-- The dollars of today (UTC) under each daily cap.
SELECT c.scope, c.cap_usd, coalesce(s.spent_usd, 0) AS spent_usd, coalesce(s.reserved_usd, 0) AS reserved_usd,
       (now() AT TIME ZONE 'UTC')::date AS day
FROM spending_caps c LEFT JOIN spending s ON s.scope = c.scope AND s.day = (now() AT TIME ZONE 'UTC')::date
ORDER BY c.scope;

-- stuck_bakeoffs --
-- Running bake-offs in which nothing was queued, called or ended for a while, with the last sign of life.
SELECT b.id AS bakeoff_id, b.task_name,
       greatest(b.created_at, (SELECT max(o.finished_at) FROM outcomes o WHERE o.bakeoff_id = b.id)) AS last_sign
FROM bakeoffs b
WHERE b.state = 'running' AND b.created_at < now() - make_interval(secs => %(older_s)s)
  AND EXISTS (SELECT 1 FROM runs r JOIN jobs j ON j.run_id = r.id
              WHERE r.bakeoff_id = b.id AND r.state = 'running' AND j.state <> 'done')
  AND NOT EXISTS (SELECT 1 FROM runs r JOIN jobs j ON j.run_id = r.id
                  WHERE r.bakeoff_id = b.id AND j.state <> 'done' AND j.queued_at > now() - make_interval(secs => %(older_s)s))
  AND NOT EXISTS (SELECT 1 FROM call_journal c
                  WHERE c.bakeoff_id = b.id AND c.reserved_at > now() - make_interval(secs => %(older_s)s))
  AND NOT EXISTS (SELECT 1 FROM outcomes o
                  WHERE o.bakeoff_id = b.id AND o.finished_at > now() - make_interval(secs => %(older_s)s))
ORDER BY b.id LIMIT 20;

-- waiting_bakeoffs --
-- Running bake-offs with jobs that no worker has claimed for a while, and since when.
SELECT b.id AS bakeoff_id, min(j.queued_at) AS since
FROM bakeoffs b JOIN runs r ON r.bakeoff_id = b.id JOIN jobs j ON j.run_id = r.id
WHERE b.state = 'running' AND r.state = 'running' AND j.state = 'queued'
  AND j.queued_at < now() - make_interval(secs => %(older_s)s)
GROUP BY b.id ORDER BY b.id LIMIT 20;
