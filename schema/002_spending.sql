-- Caps beyond one bake-off, and the one statement that reserves under all of them.

CREATE TABLE spending_caps (
    scope           TEXT PRIMARY KEY,
    cap_usd         NUMERIC(18,10) NOT NULL
);
COMMENT ON TABLE spending_caps IS 'Dollars a day: scope `day` for everything, `provider:NAME` for one provider.';

CREATE TABLE spending (
    scope           TEXT NOT NULL,
    day             DATE NOT NULL,
    reserved_usd    NUMERIC(18,10) NOT NULL DEFAULT 0,
    spent_usd       NUMERIC(18,10) NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, day)
) WITH (fillfactor = 50);
COMMENT ON TABLE spending IS 'What was spent and is reserved under each daily cap; days are those of UTC.';

CREATE FUNCTION reserve_call(
    p_bakeoff_id BIGINT, p_job_id BIGINT, p_purpose TEXT, p_judge TEXT, p_provider TEXT, p_model TEXT, p_key TEXT,
    p_attempt INT, p_usd NUMERIC, p_margin NUMERIC, OUT call_id BIGINT, OUT refusal TEXT
) LANGUAGE plpgsql AS $$
DECLARE
    bakeoff bakeoffs;
    daily RECORD;
    today DATE := (now() AT TIME ZONE 'UTC')::date;
BEGIN
    SELECT * INTO bakeoff FROM bakeoffs WHERE id = p_bakeoff_id FOR UPDATE;
    IF bakeoff.state <> 'running' AND NOT (bakeoff.state IN ('paused', 'capped') AND p_purpose = 'grade') THEN
        refusal := 'stopped';
        RETURN;
    END IF;
    IF bakeoff.spent_usd + bakeoff.reserved_usd + p_usd + p_margin > bakeoff.cap_usd THEN
        refusal := CASE WHEN bakeoff.spent_usd + p_usd + p_margin > bakeoff.cap_usd THEN 'bake-off' ELSE 'busy' END;
        RETURN;
    END IF;
    -- Always the bake-off first, then the scopes in order: two calls never wait for each other.
    FOR daily IN SELECT c.scope, c.cap_usd FROM spending_caps c
                 WHERE c.scope IN ('day', 'provider:' || p_provider) ORDER BY c.scope LOOP
        INSERT INTO spending (scope, day) VALUES (daily.scope, today) ON CONFLICT DO NOTHING;
        PERFORM 1 FROM spending s WHERE s.scope = daily.scope AND s.day = today FOR UPDATE;
        SELECT CASE WHEN s.spent_usd + p_usd + p_margin > daily.cap_usd THEN daily.scope
                    WHEN s.spent_usd + s.reserved_usd + p_usd + p_margin > daily.cap_usd THEN 'busy' END
        INTO refusal FROM spending s WHERE s.scope = daily.scope AND s.day = today;
        IF refusal IS NOT NULL THEN
            RETURN;
        END IF;
    END LOOP;
    UPDATE bakeoffs SET reserved_usd = reserved_usd + p_usd WHERE id = p_bakeoff_id;
    UPDATE spending s SET reserved_usd = s.reserved_usd + p_usd FROM spending_caps c
    WHERE c.scope = s.scope AND s.day = today AND s.scope IN ('day', 'provider:' || p_provider);
    INSERT INTO call_journal (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state, reserved_usd,
                              sent_at)
    VALUES (p_bakeoff_id, p_job_id, p_purpose, p_judge, p_provider, p_model, p_key, p_attempt, 'sent', p_usd, now())
    RETURNING id INTO call_id;
END $$;
COMMENT ON FUNCTION reserve_call IS 'Sets a call aside under every cap and journals it, or says which cap refuses it.';
