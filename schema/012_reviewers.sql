-- Reviewers with tokens of their own; items to label; what people declined; the next card in hand before it is shown.

CREATE TABLE reviewers (
    name            TEXT PRIMARY KEY,
    role            TEXT NOT NULL CHECK (role IN ('reviewer', 'lead')),
    token_sha256    TEXT NOT NULL UNIQUE,
    invited_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    seen_at         TIMESTAMPTZ,
    revoked_at      TIMESTAMPTZ
);
COMMENT ON TABLE reviewers IS 'People who sign in to review; a name in this table is never used without its token, not even after it is revoked.';
COMMENT ON COLUMN reviewers.role IS 'lead: also sees who said what, and decides what the others disagree on.';
COMMENT ON COLUMN reviewers.token_sha256 IS 'SHA-256 of a random token of 256 bits, which is shown once and stored nowhere.';

ALTER TABLE review_items ADD COLUMN purpose TEXT NOT NULL DEFAULT 'grade' CHECK (purpose IN ('grade', 'label'));
ALTER TABLE review_items ADD COLUMN priority INT NOT NULL DEFAULT 0;
ALTER TABLE review_items ADD COLUMN dispute TEXT;
COMMENT ON COLUMN review_items.purpose IS 'grade: an outcome waits for it. label: the answer is graded already, and its ratings are labels to correct the grader by.';
COMMENT ON COLUMN review_items.priority IS 'Offered first when low; items of one priority are shuffled.';
COMMENT ON COLUMN review_items.dispute IS 'Why the ratings decide nothing though no more are wanted; an adjudicator must.';
UPDATE review_items i SET dispute = (
    SELECT g.reason FROM review_answers a JOIN grades g ON g.job_id = a.job_id AND g.grader = a.grader
    WHERE a.item_id = i.id AND g.passed IS NULL ORDER BY a.place LIMIT 1
) WHERE NOT i.is_open;

ALTER TABLE human_reviews ADD COLUMN declined TEXT CHECK (declined IN ('unsure', 'broken'));
ALTER TABLE human_reviews ADD CONSTRAINT human_reviews_given_back_check CHECK (declined IS NULL OR state = 'withdrawn');
COMMENT ON COLUMN human_reviews.declined IS 'Why a person gave an item back for good: unsure, or the case is broken; the comment says more.';

ALTER TABLE suite_runs ADD COLUMN report_files TEXT[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN suite_runs.report_files IS 'The report''s files on the machine that ran the suite; written again when people have reviewed its answers.';

DROP FUNCTION lease_review(BIGINT, TEXT, TEXT);
CREATE FUNCTION lease_review(p_bakeoff_id BIGINT, p_grader TEXT, p_reviewer TEXT, p_beside BIGINT)
RETURNS TABLE (item_id BIGINT, is_lost BOOLEAN) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    chosen BIGINT;
BEGIN
    -- Who asks again without having rated gets what they have in hand; p_beside is on their screen already.
    SELECT h.item_id INTO chosen FROM human_reviews h JOIN review_items i ON i.id = h.item_id
    WHERE h.reviewer = p_reviewer AND h.lease_until > clock_timestamp() AND NOT h.adjudicates AND i.is_open
      AND (p_bakeoff_id IS NULL OR i.bakeoff_id = p_bakeoff_id) AND (p_grader IS NULL OR i.grader = p_grader)
      AND h.item_id IS DISTINCT FROM p_beside
    ORDER BY h.leased_at, h.item_id LIMIT 1;
    IF FOUND THEN
        RETURN QUERY SELECT chosen, FALSE;
        RETURN;
    END IF;
    -- Items that others have begun come first. One that somebody is just taking is passed over, and waited for
    -- only if there is nothing else.
    SELECT i.id INTO chosen FROM review_items i JOIN review_quotas q ON q.item_id = i.id
    WHERE i.is_open AND q.has_room AND (p_bakeoff_id IS NULL OR i.bakeoff_id = p_bakeoff_id)
      AND (p_grader IS NULL OR i.grader = p_grader) AND i.id IS DISTINCT FROM p_beside AND NOT EXISTS (
          SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.reviewer = p_reviewer
            AND h.state IN ('rated', 'withdrawn') AND NOT h.adjudicates)
    ORDER BY q.taken DESC, i.priority, i.token LIMIT 1 FOR UPDATE OF i SKIP LOCKED;
    IF NOT FOUND THEN
        SELECT i.id INTO chosen FROM review_items i JOIN review_quotas q ON q.item_id = i.id
        WHERE i.is_open AND q.has_room AND (p_bakeoff_id IS NULL OR i.bakeoff_id = p_bakeoff_id)
          AND (p_grader IS NULL OR i.grader = p_grader) AND i.id IS DISTINCT FROM p_beside AND NOT EXISTS (
              SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.reviewer = p_reviewer
                AND h.state IN ('rated', 'withdrawn') AND NOT h.adjudicates)
        ORDER BY q.taken DESC, i.priority, i.token LIMIT 1 FOR UPDATE OF i;
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Counted again, now that nobody else can take it: whoever did so just before may have committed since.
    RETURN QUERY INSERT INTO human_reviews AS h (item_id, reviewer, state, lease_until, leased_at)
    SELECT i.id, p_reviewer, 'leased', clock_timestamp() + make_interval(secs => i.lease_s), clock_timestamp()
    FROM review_items i JOIN review_quotas q ON q.item_id = i.id
    WHERE i.id = chosen AND i.is_open AND q.has_room
    ON CONFLICT ON CONSTRAINT human_reviews_pkey DO UPDATE
    SET state = 'leased', lease_until = excluded.lease_until, leased_at = clock_timestamp() WHERE h.state = 'leased'
    RETURNING h.item_id, FALSE;
    IF NOT FOUND THEN
        -- The race is lost; the caller tries again, in another transaction.
        RETURN QUERY SELECT chosen, TRUE;
    END IF;
END $$;
COMMENT ON FUNCTION lease_review IS 'Puts an item into a person''s hands for a while, within its quotas; no row when nothing is left for them. Beside the one on their screen they may hold the next.';
