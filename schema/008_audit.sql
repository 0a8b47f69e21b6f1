-- The audit row of every run, complete or not, and simulated dollars outside the caps of the day.

ALTER TABLE eval_runs ADD COLUMN state TEXT NOT NULL DEFAULT 'concluded'
    CHECK (state IN ('concluded', 'running', 'paused', 'capped', 'cancelled'));
COMMENT ON TABLE eval_runs IS 'One row per judge, evalset and bake-off: written when its last job has ended, or when it stops before.';
COMMENT ON COLUMN eval_runs.state IS 'concluded: every job has ended. Otherwise how the run was stopped; running: it was stopped and goes on.';
COMMENT ON COLUMN eval_runs.n_cases IS 'The cases of the set; of a run that is not concluded, those with an outcome.';
COMMENT ON COLUMN eval_runs.git_sha IS 'The commit of the project, with -dirty when its files were not those of the commit.';

ALTER TABLE bakeoffs ADD COLUMN notes TEXT;
COMMENT ON COLUMN bakeoffs.notes IS 'What the user noted at its start; copied to its rows in eval_runs.';

CREATE FUNCTION daily_scopes(p_provider TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_provider = 'simulated' THEN ARRAY['provider:simulated']
                ELSE ARRAY['day', 'provider:' || p_provider] END
$$;
COMMENT ON FUNCTION daily_scopes IS 'The daily caps that hold for a provider: nobody pays simulated dollars, so the cap of the day leaves them out.';

UPDATE spending s SET spent_usd = s.spent_usd - c.spent_usd, reserved_usd = s.reserved_usd - c.reserved_usd
FROM (
    SELECT (reserved_at AT TIME ZONE 'UTC')::date AS day, coalesce(sum(cost_usd), 0) AS spent_usd,
           coalesce(sum(reserved_usd) FILTER (WHERE state IN ('reserved', 'sent')), 0) AS reserved_usd
    FROM call_journal WHERE provider = 'simulated' AND reserved_at >= (SELECT min(day) - 1 FROM spending) GROUP BY 1
) c WHERE s.scope = 'day' AND s.day = c.day;

CREATE OR REPLACE FUNCTION reserve_call(
    p_bakeoff_id BIGINT, p_job_id BIGINT, p_purpose TEXT, p_judge TEXT, p_provider TEXT, p_model TEXT, p_key TEXT,
    p_attempt INT, p_usd NUMERIC, p_margin NUMERIC, OUT call_id BIGINT, OUT refusal TEXT
) LANGUAGE plpgsql AS $$
DECLARE
    bakeoff bakeoffs;
    daily RECORD;
    today DATE := (now() AT TIME ZONE 'UTC')::date;
    scopes TEXT[] := daily_scopes(p_provider);
BEGIN
    SELECT * INTO bakeoff FROM bakeoffs WHERE id = p_bakeoff_id FOR NO KEY UPDATE;
    IF bakeoff.state <> 'running' AND NOT (bakeoff.state IN ('paused', 'capped') AND p_purpose = 'grade') THEN
        refusal := 'stopped';
        RETURN;
    END IF;
    IF bakeoff.spent_usd + bakeoff.reserved_usd + p_usd + p_margin > bakeoff.cap_usd THEN
        refusal := CASE WHEN bakeoff.spent_usd + p_usd + p_margin > bakeoff.cap_usd THEN 'bake-off' ELSE 'busy' END;
        RETURN;
    END IF;
    -- Always the bake-off first, then the scopes in order: two calls never wait for each other.
    FOR daily IN SELECT c.scope, c.cap_usd FROM spending_caps c WHERE c.scope = ANY(scopes) ORDER BY c.scope LOOP
        INSERT INTO spending (scope, day) VALUES (daily.scope, today) ON CONFLICT DO NOTHING;
        PERFORM 1 FROM spending s WHERE s.scope = daily.scope AND s.day = today FOR NO KEY UPDATE;
        SELECT CASE WHEN s.spent_usd + p_usd + p_margin > daily.cap_usd THEN daily.scope
                    WHEN s.spent_usd + s.reserved_usd + p_usd + p_margin > daily.cap_usd THEN 'busy' END
        INTO refusal FROM spending s WHERE s.scope = daily.scope AND s.day = today;
        IF refusal IS NOT NULL THEN
            RETURN;
        END IF;
    END LOOP;
    UPDATE bakeoffs SET reserved_usd = reserved_usd + p_usd WHERE id = p_bakeoff_id;
    UPDATE spending s SET reserved_usd = s.reserved_usd + p_usd FROM spending_caps c
    WHERE c.scope = s.scope AND s.day = today AND s.scope = ANY(scopes);
    INSERT INTO call_journal (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state, reserved_usd,
                              sent_at)
    VALUES (p_bakeoff_id, p_job_id, p_purpose, p_judge, p_provider, p_model, p_key, p_attempt, 'sent', p_usd, now())
    RETURNING id INTO call_id;
END $$;

CREATE OR REPLACE FUNCTION settle_budgets(p_call call_journal, p_freed NUMERIC, p_spent NUMERIC) RETURNS VOID
LANGUAGE plpgsql AS $$
DECLARE
    daily RECORD;
BEGIN
    -- The same order as in reserve_call: two calls never wait for each other.
    UPDATE bakeoffs b SET reserved_usd = b.reserved_usd - p_freed, spent_usd = b.spent_usd + p_spent
    WHERE b.id = p_call.bakeoff_id;
    FOR daily IN SELECT s.scope FROM spending s
                 WHERE s.day = (p_call.reserved_at AT TIME ZONE 'UTC')::date
                   AND s.scope = ANY(daily_scopes(p_call.provider)) ORDER BY s.scope LOOP
        UPDATE spending s SET reserved_usd = s.reserved_usd - p_freed, spent_usd = s.spent_usd + p_spent
        WHERE s.scope = daily.scope AND s.day = (p_call.reserved_at AT TIME ZONE 'UTC')::date;
    END LOOP;
END $$;
