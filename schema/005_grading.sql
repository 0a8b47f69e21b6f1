-- What grading needs: several grader models, stages, tool calls, review by people, scoring again.

ALTER TABLE bakeoffs
    ADD COLUMN grader_shas JSONB NOT NULL DEFAULT '{}',
    ADD COLUMN rescored_from BIGINT REFERENCES bakeoffs (id);
UPDATE bakeoffs b SET grader_shas = jsonb_build_object(coalesce(d.body -> 'scoring' ->> 'judge_model', ''), b.grader_sha)
FROM definitions d WHERE d.sha256 = b.task_sha AND b.grader_sha IS NOT NULL;
ALTER TABLE bakeoffs DROP COLUMN grader_sha;
COMMENT ON COLUMN bakeoffs.grader_shas IS 'Each grader model by the name its task or cases call it, "" for the one they leave open: its snapshot.';
COMMENT ON COLUMN bakeoffs.rescored_from IS 'The bake-off whose stored answers were graded anew; NULL for one that asked.';

ALTER TABLE runs ADD COLUMN rescored_from BIGINT REFERENCES runs (id);
COMMENT ON COLUMN runs.rescored_from IS 'The run whose answers these are.';

ALTER TABLE eval_runs
    ADD COLUMN n_pending INT NOT NULL DEFAULT 0,
    ADD COLUMN rescored_from BIGINT;
COMMENT ON COLUMN eval_runs.n_pending IS 'Answers that wait for people; they are in no rate until they are reviewed.';
COMMENT ON COLUMN eval_runs.rescored_from IS 'The run whose answers were graded anew; its own row may be gone while it goes on.';

ALTER TABLE jobs
    ADD COLUMN stage TEXT NOT NULL DEFAULT 'call' CHECK (stage IN ('call', 'sandbox'));
COMMENT ON COLUMN jobs.stage IS 'Which worker has to do next: one that asks, or one without keys that runs code.';

ALTER TABLE completions ADD COLUMN tool_calls JSONB;
COMMENT ON COLUMN completions.tool_calls IS 'The tools the judge asked for, in order; NULL for none.';

ALTER TABLE outcomes DROP CONSTRAINT outcomes_verdict_check;
ALTER TABLE outcomes ADD CONSTRAINT outcomes_verdict_check
    CHECK (verdict IN ('passed', 'failed', 'errored', 'pending_review'));
COMMENT ON COLUMN outcomes.verdict IS 'pending_review: people have to look at it; the run concludes without it, and again when they have.';

ALTER TABLE grades
    ADD COLUMN kind TEXT NOT NULL DEFAULT '',
    ADD COLUMN required BOOLEAN NOT NULL DEFAULT TRUE,
    ADD COLUMN weight DOUBLE PRECISION NOT NULL DEFAULT 1,
    ADD COLUMN pending BOOLEAN NOT NULL DEFAULT FALSE,
    ADD COLUMN details JSONB NOT NULL DEFAULT '{}',
    ADD COLUMN ordinal SMALLINT NOT NULL DEFAULT 0;
COMMENT ON COLUMN grades.kind IS 'The type of the grader; grader is its name in the task or the case.';
COMMENT ON COLUMN grades.pending IS 'People are to decide.';
COMMENT ON COLUMN grades.ordinal IS 'The place of the grader in its task.';

COMMENT ON COLUMN verdict_cache.verdict IS 'The reply of the grader model, as it was read.';

DROP FUNCTION settle_call;
CREATE FUNCTION settle_call(
    p_call_id BIGINT, p_state TEXT, p_cost_usd NUMERIC, p_usage JSONB, p_request_id TEXT, p_latency_ms INT,
    p_fault_kind TEXT, p_fault_message TEXT, p_completion_state TEXT, p_answer TEXT, p_model TEXT, p_input_tokens INT,
    p_output_tokens INT, p_tool_calls JSONB
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
                                 latency_ms, cost_usd, tool_calls)
        SELECT j.id, p_completion_state, p_answer, p_model, p_request_id, p_input_tokens, p_output_tokens, p_usage,
               p_latency_ms, after.cost_usd, p_tool_calls
        FROM jobs j WHERE j.id = after.job_id AND after.reserved_at > j.retried_at
          AND (j.state IN ('ready', 'queued') OR j.state = 'leased' AND before.state = 'sent')
        -- What is graded is what is stored: the holder's own answer goes over one that came late.
        ON CONFLICT (job_id) DO UPDATE
        SET state = excluded.state, answer = excluded.answer, model = excluded.model, request_id = excluded.request_id,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, usage = excluded.usage,
            latency_ms = excluded.latency_ms, cost_usd = excluded.cost_usd, tool_calls = excluded.tool_calls
        WHERE before.state = 'sent';
    END IF;
    IF before.state = 'sent' THEN
        PERFORM settle_budgets(after, after.reserved_usd, after.cost_usd);
    ELSE
        PERFORM settle_budgets(after, 0, after.cost_usd - before.cost_usd);
    END IF;
END $$;
COMMENT ON FUNCTION settle_call IS 'Closes a call once: journal, answer and budgets together.';
