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
    FOR daily IN SELECT c.scope, c.cap_usd FROM spending_caps c
                 WHERE c.scope IN ('day', 'provider:' || p_provider) ORDER BY c.scope LOOP
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
    WHERE c.scope = s.scope AND s.day = today AND s.scope IN ('day', 'provider:' || p_provider);
    INSERT INTO call_journal (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state, reserved_usd,
                              sent_at)
    VALUES (p_bakeoff_id, p_job_id, p_purpose, p_judge, p_provider, p_model, p_key, p_attempt, 'sent', p_usd, now())
    RETURNING id INTO call_id;
END $$;
COMMENT ON FUNCTION reserve_call IS 'Sets a call aside under every cap and journals it, or says which cap refuses it.';

CREATE FUNCTION settle_budgets(p_call call_journal) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    daily RECORD;
BEGIN
    -- The same order as in reserve_call: two calls never wait for each other.
    UPDATE bakeoffs b SET reserved_usd = b.reserved_usd - p_call.reserved_usd, spent_usd = b.spent_usd + p_call.cost_usd
    WHERE b.id = p_call.bakeoff_id;
    FOR daily IN SELECT s.scope FROM spending s
                 WHERE s.day = (p_call.reserved_at AT TIME ZONE 'UTC')::date
                   AND s.scope IN ('day', 'provider:' || p_call.provider) ORDER BY s.scope LOOP
        UPDATE spending s SET reserved_usd = s.reserved_usd - p_call.reserved_usd,
               spent_usd = s.spent_usd + p_call.cost_usd
        WHERE s.scope = daily.scope AND s.day = (p_call.reserved_at AT TIME ZONE 'UTC')::date;
    END LOOP;
END $$;
COMMENT ON FUNCTION settle_budgets IS 'Replaces the reservation of a call by its price, under every cap.';

CREATE FUNCTION settle_call(
    p_call_id BIGINT, p_state TEXT, p_cost_usd NUMERIC, p_usage JSONB, p_request_id TEXT, p_latency_ms INT,
    p_fault_kind TEXT, p_fault_message TEXT, p_completion_state TEXT, p_answer TEXT, p_model TEXT, p_input_tokens INT,
    p_output_tokens INT
) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    call call_journal;
BEGIN
    UPDATE call_journal SET state = p_state, cost_usd = coalesce(p_cost_usd, reserved_usd), usage = p_usage,
           request_id = p_request_id, latency_ms = p_latency_ms, fault_kind = p_fault_kind,
           fault_message = p_fault_message, settled_at = now()
    WHERE id = p_call_id AND state = 'sent' RETURNING * INTO call;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF call.purpose = 'answer' AND p_completion_state IS NOT NULL THEN
        INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage,
                                 latency_ms, cost_usd)
        VALUES (call.job_id, p_completion_state, p_answer, p_model, p_request_id, p_input_tokens, p_output_tokens,
                p_usage, p_latency_ms, call.cost_usd)
        ON CONFLICT (job_id) DO NOTHING;
    END IF;
    PERFORM settle_budgets(call);
END $$;
COMMENT ON FUNCTION settle_call IS 'Closes a call once: journal, answer and budgets together.';

CREATE FUNCTION close_lost_calls(p_job_id BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    call call_journal;
BEGIN
    FOR call IN
        UPDATE call_journal SET state = 'unknown', cost_usd = reserved_usd, fault_kind = 'ambiguous',
               fault_message = 'the worker was lost with the call in flight', settled_at = now()
        WHERE job_id = p_job_id AND state = 'sent' RETURNING *
    LOOP
        PERFORM settle_budgets(call);
    END LOOP;
END $$;
COMMENT ON FUNCTION close_lost_calls IS 'Counts the calls in flight of a lost worker as spent: they may have been billed.';
