-- Calls to providers: caps, reservations, settlements, the journal.

-- set_spending_cap --
-- Set a daily cap; a new one starts with today's sums from the journal.
WITH cap AS (
    INSERT INTO spending_caps (scope, cap_usd) VALUES (%(scope)s, %(cap_usd)s)
    ON CONFLICT (scope) DO UPDATE SET cap_usd = excluded.cap_usd RETURNING scope
)
INSERT INTO spending (scope, day, reserved_usd, spent_usd)
SELECT cap.scope, (now() AT TIME ZONE 'UTC')::date,
       coalesce(sum(c.reserved_usd) FILTER (WHERE c.state IN ('reserved', 'sent')), 0), coalesce(sum(c.cost_usd), 0)
FROM cap LEFT JOIN call_journal c ON cap.scope = ANY(daily_scopes(c.provider))
     AND c.reserved_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
GROUP BY cap.scope ON CONFLICT DO NOTHING;

-- drop_spending_caps --
-- Delete the daily caps that the settings no longer name, and their sums, which no call would keep up to date.
WITH dropped AS (
    DELETE FROM spending_caps WHERE scope <> ALL(%(scopes)s) RETURNING scope
), locked AS (
    SELECT s.scope, s.day FROM spending s JOIN dropped ON dropped.scope = s.scope
    ORDER BY s.scope, s.day FOR UPDATE OF s
)
DELETE FROM spending s USING locked WHERE s.scope = locked.scope AND s.day = locked.day;

-- reserve_calls --
-- Reserve the worst cases of calls under every cap and open their journal rows; for each its id or what refuses it.
-- Nothing, for none of them, once the database is newer than this program: it might not store what it would pay for.
SELECT place, call_id, refusal FROM reserve_calls(%(calls)s::jsonb)
WHERE NOT EXISTS (SELECT 1 FROM schema_versions v WHERE v.version > %(schema_version)s);

-- settle_calls --
-- Close calls: their prices replace their reservations; answers are stored in the same statement.
SELECT settle_calls(%(calls)s::jsonb);

-- tries --
-- How many calls were made for one question of a job since its last retry; a throttled one was not processed.
SELECT count(*) FILTER (WHERE c.fault_kind IS DISTINCT FROM 'rate') AS made,
       count(*) FILTER (WHERE c.state IN ('sent', 'unknown')) AS ambiguous,
       count(*) FILTER (WHERE c.fault_kind = 'rate') AS throttled
FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.job_id = %(job_id)s AND c.key = %(key)s AND c.reserved_at > j.retried_at;

-- paid_reply --
-- A grader model's stored reply to a question of a job, since its last retry.
SELECT c.reply_state, c.reply, c.cost_usd FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.job_id = %(job_id)s AND c.key = %(key)s AND c.reply_state IS NOT NULL AND c.reserved_at > j.retried_at
ORDER BY c.id LIMIT 1;

-- close_lost_calls --
-- Close the calls in flight of some jobs: they may be billed, so their reservations count as spent.
SELECT close_lost_calls(%(job_ids)s);

-- calls_in_flight --
-- How many calls of a bake-off are in flight.
SELECT count(*) AS n FROM call_journal c JOIN jobs j ON j.id = c.job_id
WHERE c.bakeoff_id = %(bakeoff_id)s AND c.state = 'sent' AND j.state = 'leased' AND j.lease_until > now();

-- answer_keys --
-- The keys of the questions put to a job's judge, in order; a key is a hash of the prompt's bytes.
SELECT key FROM call_journal WHERE job_id = %(job_id)s AND purpose = 'answer' ORDER BY id;

-- calls --
-- The calls of a bake-off, one row per attempt, in order.
SELECT c.id, r.judge AS run, j.case_id, j.sample, c.purpose, c.judge, c.provider, c.model, c.key, c.attempt, c.state,
       c.reserved_usd, c.cost_usd, c.usage, c.request_id, c.fault_kind, c.fault_message, c.latency_ms, c.reserved_at,
       c.sent_at, c.settled_at
FROM call_journal c JOIN jobs j ON j.id = c.job_id JOIN runs r ON r.id = j.run_id
WHERE c.bakeoff_id = %(bakeoff_id)s AND (%(case_id)s::text IS NULL OR j.case_id = %(case_id)s)
  AND (%(judge)s::text IS NULL OR r.judge = %(judge)s)
ORDER BY c.id LIMIT %(limit)s;

-- costs --
-- Dollars since an instant, by day, provider, judge and purpose.
SELECT (c.reserved_at AT TIME ZONE 'UTC')::date AS day, c.provider, c.judge, c.purpose, count(*) AS calls,
       count(*) FILTER (WHERE c.state = 'unknown') AS unknown, coalesce(sum(c.cost_usd), 0) AS cost_usd,
       coalesce(sum(c.reserved_usd) FILTER (WHERE c.state IN ('reserved', 'sent')), 0) AS in_flight_usd
FROM call_journal c WHERE c.reserved_at >= %(since)s
GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, cost_usd DESC, 2, 3, 4;

-- rename_installation --
-- Give a copied database a name of its own.
UPDATE installation SET uid = gen_random_uuid();

-- installation --
-- The uid of this database.
SELECT uid FROM installation;
