-- Many jobs in one statement: claimed, reserved for, settled, finished and put back together, with one commit.

-- Rules of every function below:
-- 1. Rows are locked in the order jobs, call_journal, bakeoffs, spending, in each table by key: two batches never wait
--    for each other in a circle. The lock is a statement of its own, and the next one sees what the lock waited for.
-- 2. A hot row (bakeoffs, spending) is updated once a batch, not once a call.
-- 3. A big table is read by an array of its keys, or by LATERAL with OFFSET 0, which the planner does not turn around.
--    So no plan reads a whole table, whatever the statistics said when it was made.

CREATE FUNCTION claim_jobs(p_job_ids BIGINT[], p_lease_s DOUBLE PRECISION, p_schema_version INT) RETURNS TABLE (
    id BIGINT, run_id BIGINT, bakeoff_id BIGINT, case_id TEXT, sample INT, gate TEXT, stage TEXT, fence BIGINT,
    attempt INT, losses SMALLINT, refill BOOLEAN, judge TEXT, provider TEXT, judge_sha CHAR(64), task_sha CHAR(64),
    grader_shas JSONB, seed BIGINT, ambiguous_repeats SMALLINT, case_body TEXT, kept_state TEXT, answer TEXT,
    model TEXT, request_id TEXT, input_tokens INT, output_tokens INT, usage JSONB, latency_ms INT, cost_usd NUMERIC,
    tool_calls JSONB
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM 1 FROM jobs j WHERE j.id = ANY(p_job_ids) AND j.state IN ('ready', 'queued')
    ORDER BY j.id FOR NO KEY UPDATE;
    RETURN QUERY WITH claimed AS (
        UPDATE jobs j SET state = 'leased', fence = j.fence + 1, attempt = j.attempt + 1,
               lease_until = now() + make_interval(secs => p_lease_s)
        WHERE j.id = ANY(p_job_ids) AND j.state IN ('ready', 'queued') AND j.not_before <= now()
          AND (SELECT r.state = 'running' FROM runs r WHERE r.id = j.run_id)
          AND (SELECT b.state = 'running' AND b.schema_version <= p_schema_version FROM bakeoffs b
               WHERE b.id = j.bakeoff_id)
          AND NOT EXISTS (SELECT 1 FROM schema_versions v WHERE v.version > p_schema_version)
        RETURNING j.*
    )
    SELECT j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.gate, j.stage, j.fence, j.attempt, j.losses, j.refill,
           r.judge, r.provider, r.judge_sha, b.task_sha, b.grader_shas, b.seed, b.ambiguous_repeats, c.body::text,
           k.state, k.answer, k.model, k.request_id, k.input_tokens, k.output_tokens, k.usage, k.latency_ms,
           k.cost_usd, k.tool_calls
    FROM claimed j
    CROSS JOIN LATERAL (SELECT r.* FROM runs r WHERE r.id = j.run_id OFFSET 0) r
    CROSS JOIN LATERAL (SELECT b.* FROM bakeoffs b WHERE b.id = j.bakeoff_id OFFSET 0) b
    CROSS JOIN LATERAL (
        SELECT c.body FROM cases c WHERE c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id OFFSET 0
    ) c
    LEFT JOIN LATERAL (SELECT k.* FROM completions k WHERE k.job_id = j.id OFFSET 0) k ON TRUE;
END $$;
COMMENT ON FUNCTION claim_jobs IS 'Leases the open jobs among these that are due and whose run goes on; returns all that a worker needs of each. An expired lease is not taken over: reap counts the loss first.';

CREATE FUNCTION reserve_calls(p_calls JSONB) RETURNS TABLE (place BIGINT, call_id BIGINT, refusal TEXT)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    today DATE := (now() AT TIME ZONE 'UTC')::date;
    bakeoff_ids BIGINT[] := ARRAY(SELECT DISTINCT (c ->> 'bakeoff_id')::bigint FROM jsonb_array_elements(p_calls) c);
    call RECORD;
    last_bakeoff_id BIGINT;
    added NUMERIC;
    scopes TEXT[];
    caps NUMERIC[];
    scopes_spent NUMERIC[];
    scopes_reserved NUMERIC[];
    scopes_added NUMERIC[];
    call_ids BIGINT[] := array_fill(NULL::bigint, ARRAY[jsonb_array_length(p_calls)]);
BEGIN
    PERFORM 1 FROM bakeoffs b WHERE b.id = ANY(bakeoff_ids) ORDER BY b.id FOR NO KEY UPDATE;
    scopes := ARRAY(
        SELECT s.scope FROM spending_caps s
        WHERE s.scope IN (SELECT unnest(daily_scopes(c ->> 'provider')) FROM jsonb_array_elements(p_calls) c)
        ORDER BY s.scope);
    IF scopes <> '{}' THEN
        INSERT INTO spending (scope, day) SELECT s.scope, today FROM unnest(scopes) AS s (scope)
        ON CONFLICT DO NOTHING;
        PERFORM 1 FROM spending s WHERE s.scope = ANY(scopes) AND s.day = today ORDER BY s.scope FOR NO KEY UPDATE;
        SELECT array_agg(c.cap_usd ORDER BY s.scope), array_agg(s.spent_usd ORDER BY s.scope),
               array_agg(s.reserved_usd ORDER BY s.scope), array_agg(0 ORDER BY s.scope)
        INTO caps, scopes_spent, scopes_reserved, scopes_added
        FROM spending s JOIN spending_caps c ON c.scope = s.scope WHERE s.scope = ANY(scopes) AND s.day = today;
    END IF;

    FOR call IN
        SELECT c.place, c.bakeoff_id, c.usd, c.usd + c.margin AS needed, daily_scopes(c.provider) AS scopes,
               b.cap_usd, b.spent_usd, b.reserved_usd,
               -- A paused judge gets no more questions, but its answers are still graded.
               c.purpose = 'answer' AND j.run_state = 'paused' OR b.state <> 'running'
                   AND NOT (c.purpose = 'grade' AND b.state IN ('paused', 'capped')) AS is_stopped
        FROM ROWS FROM (jsonb_to_recordset(p_calls) AS (bakeoff_id BIGINT, job_id BIGINT, purpose TEXT, provider TEXT,
                        usd NUMERIC, margin NUMERIC)) WITH ORDINALITY
             AS c (bakeoff_id, job_id, purpose, provider, usd, margin, place)
        CROSS JOIN LATERAL (
            SELECT r.state AS run_state FROM jobs j, runs r WHERE j.id = c.job_id AND r.id = j.run_id OFFSET 0
        ) j
        CROSS JOIN LATERAL (SELECT b.* FROM bakeoffs b WHERE b.id = c.bakeoff_id OFFSET 0) b
        ORDER BY c.bakeoff_id, c.job_id, c.place
    LOOP
        IF call.bakeoff_id IS DISTINCT FROM last_bakeoff_id THEN
            last_bakeoff_id := call.bakeoff_id;
            added := 0;
        END IF;
        place := call.place;
        call_id := NULL;
        refusal := CASE WHEN call.is_stopped THEN 'stopped'
                        WHEN call.spent_usd + call.needed > call.cap_usd THEN 'bake-off'
                        WHEN call.spent_usd + call.reserved_usd + added + call.needed > call.cap_usd THEN 'busy' END;
        FOR n IN 1 .. cardinality(scopes) LOOP
            EXIT WHEN refusal IS NOT NULL;
            CONTINUE WHEN scopes[n] <> ALL(call.scopes);
            refusal := CASE WHEN scopes_spent[n] + call.needed > caps[n] THEN scopes[n]
                            WHEN scopes_spent[n] + scopes_reserved[n] + scopes_added[n] + call.needed > caps[n] THEN 'busy' END;
        END LOOP;
        IF refusal IS NULL THEN
            added := added + call.usd;
            FOR n IN 1 .. cardinality(scopes) LOOP
                CONTINUE WHEN scopes[n] <> ALL(call.scopes);
                scopes_added[n] := scopes_added[n] + call.usd;
            END LOOP;
            call_id := nextval('call_journal_id_seq');
            call_ids[place] := call_id;
        END IF;
        RETURN NEXT;
    END LOOP;

    WITH sent AS (
        INSERT INTO call_journal (id, bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state,
                                  reserved_usd, sent_at)
        SELECT call_ids[c.place], c.bakeoff_id, c.job_id, c.purpose, c.judge, c.provider, c.model, c.key, c.attempt,
               'sent', c.usd, now()
        FROM ROWS FROM (jsonb_to_recordset(p_calls) AS (bakeoff_id BIGINT, job_id BIGINT, purpose TEXT, judge TEXT,
                        provider TEXT, model TEXT, key TEXT, attempt INT, usd NUMERIC)) WITH ORDINALITY
             AS c (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, usd, place)
        WHERE call_ids[c.place] IS NOT NULL
        RETURNING bakeoff_id, reserved_usd
    )
    UPDATE bakeoffs b SET reserved_usd = b.reserved_usd + s.usd
    FROM (SELECT bakeoff_id, sum(reserved_usd) AS usd FROM sent GROUP BY bakeoff_id) s
    WHERE b.id = s.bakeoff_id AND b.id = ANY(bakeoff_ids);
    UPDATE spending s SET reserved_usd = s.reserved_usd + a.usd FROM unnest(scopes, scopes_added) AS a (scope, usd)
    WHERE s.scope = a.scope AND s.day = today AND s.scope = ANY(scopes) AND a.usd > 0;
END $$;
COMMENT ON FUNCTION reserve_calls IS 'Sets calls aside under every cap and journals them, in the order of bake-off, job and place, as far as there is room; for each its id, or what refuses it: stopped, busy (calls in flight hold the room), bake-off or the scope of a daily cap. A call of a job that does not exist has no row.';

CREATE FUNCTION book_calls(
    p_bakeoff_ids BIGINT[], p_providers TEXT[], p_days DATE[], p_freed NUMERIC[], p_spent NUMERIC[]
) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    scopes TEXT[] := ARRAY(SELECT DISTINCT unnest(daily_scopes(provider)) FROM unnest(p_providers) AS provider);
BEGIN
    PERFORM 1 FROM bakeoffs b WHERE b.id = ANY(p_bakeoff_ids) ORDER BY b.id FOR NO KEY UPDATE;
    UPDATE bakeoffs b SET reserved_usd = b.reserved_usd - c.freed, spent_usd = b.spent_usd + c.spent
    FROM (
        SELECT bakeoff_id, sum(freed) AS freed, sum(spent) AS spent
        FROM unnest(p_bakeoff_ids, p_freed, p_spent) AS c (bakeoff_id, freed, spent) GROUP BY bakeoff_id
    ) c WHERE b.id = c.bakeoff_id AND b.id = ANY(p_bakeoff_ids);
    PERFORM 1 FROM spending s WHERE s.scope = ANY(scopes) AND s.day = ANY(p_days)
    ORDER BY s.scope, s.day FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE spending s SET reserved_usd = s.reserved_usd - c.freed, spent_usd = s.spent_usd + c.spent
    FROM (
        SELECT scope, day, sum(freed) AS freed, sum(spent) AS spent
        FROM unnest(p_providers, p_days, p_freed, p_spent) AS c (provider, day, freed, spent),
             unnest(daily_scopes(provider)) AS scope GROUP BY scope, day
    ) c WHERE s.scope = c.scope AND s.day = c.day AND s.scope = ANY(scopes) AND s.day = ANY(p_days);
END $$;
COMMENT ON FUNCTION book_calls IS 'Frees reserved dollars and adds spent ones, under every cap of some calls.';

CREATE FUNCTION settle_calls(p_calls JSONB) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    ids BIGINT[] := ARRAY(SELECT (c ->> 'call_id')::bigint FROM jsonb_array_elements(p_calls) c);
    bakeoff_ids BIGINT[];
    providers TEXT[];
    days DATE[];
    freed NUMERIC[];
    spent NUMERIC[];
BEGIN
    PERFORM 1 FROM call_journal c WHERE c.id = ANY(ids) ORDER BY c.id FOR NO KEY UPDATE;
    WITH given AS (
        -- The first settlement of a call counts. A call given up as lost may come home late: its answer and its price
        -- still count.
        SELECT DISTINCT ON (g.call_id) g.*, c.state = 'sent' AS was_sent, c.cost_usd AS cost_before
        FROM ROWS FROM (jsonb_to_recordset(p_calls) AS (call_id BIGINT, state TEXT, cost_usd NUMERIC, usage TEXT,
                        request_id TEXT, latency_ms INT, fault_kind TEXT, fault_message TEXT, completion_state TEXT,
                        answer TEXT, model TEXT, input_tokens INT, output_tokens INT, tool_calls TEXT)) WITH ORDINALITY
             AS g (call_id, state, cost_usd, usage, request_id, latency_ms, fault_kind, fault_message,
                   completion_state, answer, model, input_tokens, output_tokens, tool_calls, place)
        CROSS JOIN LATERAL (
            SELECT c.state, c.fault_kind, c.cost_usd FROM call_journal c WHERE c.id = g.call_id OFFSET 0
        ) c
        WHERE c.state = 'sent' OR c.fault_kind = 'lost' AND g.state = 'settled'
        ORDER BY g.call_id, g.place
    ), closed AS (
        UPDATE call_journal c SET state = g.state, cost_usd = coalesce(g.cost_usd, c.reserved_usd),
               usage = g.usage::jsonb, request_id = g.request_id, latency_ms = g.latency_ms,
               fault_kind = g.fault_kind, fault_message = g.fault_message, settled_at = now(),
               reply_state = CASE WHEN c.purpose = 'grade' THEN g.completion_state END,
               reply = CASE WHEN c.purpose = 'grade' THEN g.answer END
        FROM given g WHERE c.id = g.call_id AND c.id = ANY(ids)
        RETURNING c.bakeoff_id, c.job_id, c.purpose, c.provider, c.reserved_usd, c.reserved_at, c.cost_usd, c.usage,
                  c.request_id, c.latency_ms, g.completion_state, g.answer, g.model, g.input_tokens, g.output_tokens,
                  g.tool_calls::jsonb, g.place, g.was_sent, g.cost_before
    ), answers AS (
        -- A late answer is kept for whoever takes the job next; not when somebody has it, or it has ended. Of several
        -- answers to one job the holder's own goes over a late one, and its last one over those before.
        SELECT DISTINCT ON (c.job_id) c.* FROM closed c
        CROSS JOIN LATERAL (SELECT j.state, j.retried_at FROM jobs j WHERE j.id = c.job_id OFFSET 0) j
        WHERE c.purpose = 'answer' AND c.completion_state IS NOT NULL AND c.reserved_at > j.retried_at
          AND (j.state IN ('ready', 'queued') OR j.state = 'leased' AND c.was_sent)
        ORDER BY c.job_id, c.was_sent DESC, CASE WHEN c.was_sent THEN -c.place ELSE c.place END
    ), own AS (
        INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage,
                                 latency_ms, cost_usd, tool_calls)
        SELECT job_id, completion_state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms,
               cost_usd, tool_calls FROM answers WHERE was_sent
        ON CONFLICT (job_id) DO UPDATE
        SET state = excluded.state, answer = excluded.answer, model = excluded.model, request_id = excluded.request_id,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, usage = excluded.usage,
            latency_ms = excluded.latency_ms, cost_usd = excluded.cost_usd, tool_calls = excluded.tool_calls
    ), late AS (
        INSERT INTO completions (job_id, state, answer, model, request_id, input_tokens, output_tokens, usage,
                                 latency_ms, cost_usd, tool_calls)
        SELECT job_id, completion_state, answer, model, request_id, input_tokens, output_tokens, usage, latency_ms,
               cost_usd, tool_calls FROM answers WHERE NOT was_sent
        ON CONFLICT (job_id) DO NOTHING
    )
    SELECT array_agg(c.bakeoff_id), array_agg(c.provider), array_agg((c.reserved_at AT TIME ZONE 'UTC')::date),
           array_agg(CASE WHEN c.was_sent THEN c.reserved_usd ELSE 0 END),
           array_agg(CASE WHEN c.was_sent THEN c.cost_usd ELSE c.cost_usd - c.cost_before END)
    INTO bakeoff_ids, providers, days, freed, spent FROM closed c;
    IF bakeoff_ids IS NOT NULL THEN
        PERFORM book_calls(bakeoff_ids, providers, days, freed, spent);
    END IF;
END $$;
COMMENT ON FUNCTION settle_calls IS 'Closes calls, each once: journal, answers and budgets together.';

CREATE OR REPLACE FUNCTION close_lost_calls(p_job_ids BIGINT[]) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    bakeoff_ids BIGINT[];
    providers TEXT[];
    days DATE[];
    reserved NUMERIC[];
BEGIN
    PERFORM 1 FROM call_journal WHERE job_id = ANY(p_job_ids) AND state = 'sent' ORDER BY id FOR NO KEY UPDATE;
    WITH closed AS (
        UPDATE call_journal SET state = 'unknown', cost_usd = reserved_usd, fault_kind = 'lost',
               fault_message = 'the worker was lost with the call in flight', settled_at = now()
        WHERE job_id = ANY(p_job_ids) AND state = 'sent' RETURNING bakeoff_id, provider, reserved_at, reserved_usd
    )
    SELECT array_agg(c.bakeoff_id), array_agg(c.provider), array_agg((c.reserved_at AT TIME ZONE 'UTC')::date),
           array_agg(c.reserved_usd)
    INTO bakeoff_ids, providers, days, reserved FROM closed c;
    IF bakeoff_ids IS NOT NULL THEN
        PERFORM book_calls(bakeoff_ids, providers, days, reserved, reserved);
    END IF;
END $$;

CREATE FUNCTION finish_jobs(p_jobs JSONB) RETURNS TABLE (place BIGINT) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    ids BIGINT[] := ARRAY(SELECT (e ->> 'job_id')::bigint FROM jsonb_array_elements(p_jobs) e);
BEGIN
    PERFORM 1 FROM jobs j WHERE j.id = ANY(ids) ORDER BY j.id FOR NO KEY UPDATE;
    RETURN QUERY WITH given AS (
        SELECT DISTINCT ON (e.job_id) e.*
        FROM ROWS FROM (jsonb_to_recordset(p_jobs) AS (job_id BIGINT, fence BIGINT, verdict TEXT, error_kind TEXT,
                        message TEXT, grades JSONB)) WITH ORDINALITY
             AS e (job_id, fence, verdict, error_kind, message, grades, place)
        CROSS JOIN LATERAL (SELECT j.state, j.fence FROM jobs j WHERE j.id = e.job_id OFFSET 0) j
        WHERE j.state = 'leased' AND j.fence = e.fence
        ORDER BY e.job_id, e.place
    ), done AS (
        UPDATE jobs j SET state = 'done', lease_until = NULL FROM given g WHERE j.id = g.job_id AND j.id = ANY(ids)
        RETURNING j.id, j.run_id, j.bakeoff_id, j.case_id, j.sample, j.attempt, g.verdict, g.error_kind, g.message,
                  g.grades, g.place
    ), ended AS (
        INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempts)
        SELECT id, run_id, bakeoff_id, case_id, sample, verdict, error_kind, message, attempt FROM done
        ON CONFLICT DO NOTHING
    ), graded AS (
        INSERT INTO grades (job_id, grader, passed, score, reason, kind, required, weight, pending, details, ordinal)
        SELECT done.id, g.grader, g.passed, g.score, g.reason, g.kind, g.required, g.weight, g.pending, g.details,
               g.ordinal
        FROM done, jsonb_to_recordset(done.grades) AS g (grader TEXT, passed BOOLEAN, score FLOAT8, reason TEXT,
             kind TEXT, required BOOLEAN, weight FLOAT8, pending BOOLEAN, details JSONB, ordinal SMALLINT)
        ON CONFLICT DO NOTHING
    )
    SELECT place FROM done;
END $$;
COMMENT ON FUNCTION finish_jobs IS 'Ends jobs with their outcomes and grades; returns the places of those whose lease still held.';

CREATE FUNCTION release_jobs(p_jobs JSONB) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    ids BIGINT[] := ARRAY(SELECT (e ->> 'job_id')::bigint FROM jsonb_array_elements(p_jobs) e);
BEGIN
    PERFORM 1 FROM jobs j WHERE j.id = ANY(ids) ORDER BY j.id FOR NO KEY UPDATE;
    UPDATE jobs j SET state = 'ready', lease_until = NULL, queued_at = NULL,
           not_before = now() + make_interval(secs => g.wait_s)
    FROM (
        SELECT DISTINCT ON (e.job_id, e.fence) e.job_id, e.fence, e.wait_s
        FROM ROWS FROM (jsonb_to_recordset(p_jobs) AS (job_id BIGINT, fence BIGINT, wait_s FLOAT8)) WITH ORDINALITY
             AS e (job_id, fence, wait_s, place)
        ORDER BY e.job_id, e.fence, e.place
    ) g WHERE j.id = g.job_id AND j.id = ANY(ids) AND j.fence = g.fence AND j.state = 'leased';
END $$;
COMMENT ON FUNCTION release_jobs IS 'Puts leased jobs back, each due after its wait.';

DROP FUNCTION reserve_call, settle_call, settle_budgets;

-- The plans are made once a connection, perhaps while the tables are empty or small, and kept while they grow. Also those
-- of foreign keys, which are made while one of these functions runs.
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['claim_jobs', 'reserve_calls', 'book_calls', 'settle_calls', 'close_lost_calls',
                                'finish_jobs', 'release_jobs'] LOOP
        EXECUTE format('ALTER FUNCTION %I SET enable_seqscan = off SET plan_cache_mode = force_generic_plan', name);
    END LOOP;
END $$;
