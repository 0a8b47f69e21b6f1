-- What recovery needs: losses counted, replies kept with their calls, a name for the database, retries of errors.

CREATE TABLE installation (
    uid             UUID NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO installation DEFAULT VALUES;
COMMENT ON TABLE installation IS 'One row naming this database: answers spooled on a worker''s disk belong to it alone.';

ALTER TABLE bakeoffs
    ADD COLUMN schema_version INT NOT NULL DEFAULT 3,
    ADD COLUMN ambiguous_repeats SMALLINT NOT NULL DEFAULT 1;
COMMENT ON COLUMN bakeoffs.schema_version IS 'The schema it was recorded under: a worker that knows an older one leaves it alone.';
COMMENT ON COLUMN bakeoffs.ambiguous_repeats IS 'How often a call that may have been billed is made again.';

ALTER TABLE jobs
    ADD COLUMN losses SMALLINT NOT NULL DEFAULT 0,
    ADD COLUMN retried_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity';
COMMENT ON COLUMN jobs.losses IS 'Processes that died with this job in hand and may have died of it: at three it ends as errored.';
COMMENT ON COLUMN jobs.retried_at IS 'Calls made before this instant do not count as tries any more.';
CREATE INDEX idx_jobs_leased ON jobs (lease_until) WHERE state = 'leased';

ALTER TABLE call_journal
    ADD COLUMN reply_state TEXT,
    ADD COLUMN reply TEXT;
COMMENT ON COLUMN call_journal.reply IS 'What a grader model said: paid for, so that nobody asks it again. A judge''s answer is in completions.';
CREATE INDEX idx_call_journal_open ON call_journal (job_id) WHERE state = 'sent';

CREATE TABLE superseded_outcomes (
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    verdict         TEXT NOT NULL,
    error_kind      TEXT,
    message         TEXT,
    attempts        INT NOT NULL,
    completion_state TEXT,
    answer          TEXT,
    finished_at     TIMESTAMPTZ NOT NULL,
    superseded_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX idx_superseded_outcomes_job ON superseded_outcomes (job_id);
COMMENT ON TABLE superseded_outcomes IS 'Errored ends of jobs that were run again, with the broken answer if there was one.';

DROP FUNCTION close_lost_calls, settle_call, settle_budgets;

CREATE FUNCTION settle_budgets(p_call call_journal, p_freed NUMERIC, p_spent NUMERIC) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    daily RECORD;
BEGIN
    -- The same order as in reserve_call: two calls never wait for each other.
    UPDATE bakeoffs b SET reserved_usd = b.reserved_usd - p_freed, spent_usd = b.spent_usd + p_spent
    WHERE b.id = p_call.bakeoff_id;
    FOR daily IN SELECT s.scope FROM spending s
                 WHERE s.day = (p_call.reserved_at AT TIME ZONE 'UTC')::date
                   AND s.scope IN ('day', 'provider:' || p_call.provider) ORDER BY s.scope LOOP
        UPDATE spending s SET reserved_usd = s.reserved_usd - p_freed, spent_usd = s.spent_usd + p_spent
        WHERE s.scope = daily.scope AND s.day = (p_call.reserved_at AT TIME ZONE 'UTC')::date;
    END LOOP;
END $$;
COMMENT ON FUNCTION settle_budgets IS 'Frees reserved dollars and adds spent ones, under every cap of a call.';

CREATE FUNCTION settle_call(
    p_call_id BIGINT, p_state TEXT, p_cost_usd NUMERIC, p_usage JSONB, p_request_id TEXT, p_latency_ms INT,
    p_fault_kind TEXT, p_fault_message TEXT, p_completion_state TEXT, p_answer TEXT, p_model TEXT, p_input_tokens INT,
    p_output_tokens INT
) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    before call_journal;
    after call_journal;
BEGIN
    SELECT * INTO before FROM call_journal WHERE id = p_call_id FOR NO KEY UPDATE;
    -- A call given up as lost may come home late: its answer and its price still count.
    IF NOT FOUND OR NOT (before.state = 'sent' OR before.fault_kind IS NOT DISTINCT FROM 'lost' AND p_state = 'settled') THEN
        RETURN;
    END IF;
    UPDATE call_journal SET state = p_state, cost_usd = coalesce(p_cost_usd, reserved_usd), usage = p_usage,
           request_id = p_request_id, latency_ms = p_latency_ms, fault_kind = p_fault_kind,
           fault_message = p_fault_message, settled_at = now(),
           reply_state = CASE WHEN purpose = 'grade' THEN p_completion_state END,
           reply = CASE WHEN purpose = 'grade' THEN p_answer END
    WHERE id = p_call_id RETURNING * INTO after;
    IF after.purpose = 'answer' AND p_completion_state IS NOT NULL THEN
        -- A late answer is kept for whoever takes the job next; not when somebody has it, or it has ended.
        INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage,
                                 latency_ms, cost_usd)
        SELECT j.id, p_completion_state, p_answer, p_model, p_request_id, p_input_tokens, p_output_tokens, p_usage,
               p_latency_ms, after.cost_usd
        FROM jobs j WHERE j.id = after.job_id AND after.reserved_at > j.retried_at
          AND (j.state IN ('ready', 'queued') OR j.state = 'leased' AND before.state = 'sent')
        -- What is graded is what is stored: the holder's own answer goes over one that came late.
        ON CONFLICT (job_id) DO UPDATE
        SET state = excluded.state, answer = excluded.answer, model = excluded.model, request_id = excluded.request_id,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, usage = excluded.usage,
            latency_ms = excluded.latency_ms, cost_usd = excluded.cost_usd
        WHERE before.state = 'sent';
    END IF;
    IF before.state = 'sent' THEN
        PERFORM settle_budgets(after, after.reserved_usd, after.cost_usd);
    ELSE
        PERFORM settle_budgets(after, 0, after.cost_usd - before.cost_usd);
    END IF;
END $$;
COMMENT ON FUNCTION settle_call IS 'Closes a call once: journal, answer and budgets together.';

CREATE FUNCTION close_lost_calls(p_job_ids BIGINT[]) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    call call_journal;
BEGIN
    FOR call IN
        UPDATE call_journal SET state = 'unknown', cost_usd = reserved_usd, fault_kind = 'lost',
               fault_message = 'the worker was lost with the call in flight', settled_at = now()
        WHERE job_id = ANY(p_job_ids) AND state = 'sent' RETURNING *
    LOOP
        PERFORM settle_budgets(call, call.reserved_usd, call.cost_usd);
    END LOOP;
END $$;
COMMENT ON FUNCTION close_lost_calls IS 'Counts the calls in flight of lost workers as spent: they may have been billed.';
