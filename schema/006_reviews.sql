-- Review by people: what is to be rated, who has it in hand, and what they said.

CREATE TABLE review_items (
    id              BIGSERIAL PRIMARY KEY,
    token           TEXT NOT NULL UNIQUE,
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    grader          TEXT NOT NULL,
    case_id         TEXT NOT NULL,
    sample          INT NOT NULL,
    min_required    INT NOT NULL,
    max_allowed     INT NOT NULL,
    lease_s         DOUBLE PRECISION NOT NULL,
    is_open         BOOLEAN NOT NULL DEFAULT TRUE
);
CREATE INDEX idx_review_items_bakeoff ON review_items (bakeoff_id, grader);
CREATE INDEX idx_review_items_open ON review_items (bakeoff_id) WHERE is_open;
COMMENT ON TABLE review_items IS 'What one person rates at a time: an answer, or all answers to a case, which are ranked.';
COMMENT ON COLUMN review_items.token IS 'Its name for people: it tells nothing of the judge, and ordered by it the items are shuffled.';
COMMENT ON COLUMN review_items.lease_s IS 'How long one person may have it in hand.';
COMMENT ON COLUMN review_items.is_open IS 'Whether more reviews are wanted.';

CREATE TABLE review_answers (
    item_id         BIGINT NOT NULL REFERENCES review_items (id),
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    grader          TEXT NOT NULL,
    place           SMALLINT NOT NULL,
    PRIMARY KEY (job_id, grader),
    UNIQUE (item_id, place)
);
COMMENT ON TABLE review_answers IS 'The answers of an item, in the order people see them.';

CREATE TABLE human_reviews (
    item_id         BIGINT NOT NULL REFERENCES review_items (id),
    reviewer        TEXT NOT NULL,
    adjudicates     BOOLEAN NOT NULL DEFAULT FALSE,
    state           TEXT NOT NULL CHECK (state IN ('leased', 'rated', 'withdrawn')),
    lease_until     TIMESTAMPTZ,
    rating          JSONB,
    votes           JSONB,
    comment         TEXT NOT NULL DEFAULT '',
    leased_at       TIMESTAMPTZ NOT NULL DEFAULT now(),
    rated_at        TIMESTAMPTZ,
    PRIMARY KEY (item_id, reviewer, adjudicates),
    CHECK ((state = 'rated') = (rating IS NOT NULL) AND (state = 'leased') = (lease_until IS NOT NULL))
);
CREATE UNIQUE INDEX idx_human_reviews_adjudication ON human_reviews (item_id) WHERE adjudicates AND state = 'rated';
CREATE INDEX idx_human_reviews_reviewer ON human_reviews (reviewer, rated_at);
COMMENT ON TABLE human_reviews IS 'One row per person and item: in hand for a while, rated, or given back.';
COMMENT ON COLUMN human_reviews.adjudicates IS 'Decides alone, over the ratings of the others.';
COMMENT ON COLUMN human_reviews.rating IS 'As the person gave it: a step, steps by criterion, true or false, letters best first.';
COMMENT ON COLUMN human_reviews.votes IS 'Whether the answer of each job would pass by this rating alone.';

CREATE INDEX idx_grades_human ON grades (job_id, grader) WHERE kind = 'human';

ALTER TABLE human_labels ADD COLUMN from_review BOOLEAN NOT NULL DEFAULT FALSE;
COMMENT ON COLUMN human_labels.from_review IS 'Follows from what its labeller said in reviews; taken back with them.';

COMMENT ON TABLE eval_runs IS 'One row per judge, evalset and bake-off, written when its last job has ended, and again when people have reviewed its answers.';

CREATE VIEW review_quotas AS
SELECT i.id AS item_id, coalesce(c.rated, 0) AS rated, coalesce(c.taken, 0) AS taken,
       coalesce(c.taken, 0) < least(i.max_allowed, greatest(i.min_required, coalesce(c.rated, 0) + 1)) AS has_room
FROM review_items i LEFT JOIN (
    SELECT h.item_id, count(*) FILTER (WHERE h.state = 'rated') AS rated,
           count(*) FILTER (WHERE h.state = 'rated' OR h.lease_until > clock_timestamp()) AS taken
    FROM human_reviews h WHERE NOT h.adjudicates GROUP BY h.item_id
) c ON c.item_id = i.id;
COMMENT ON VIEW review_quotas IS 'How many have rated an item, or have it in hand, and whether one more may take it: as many as are required, then one at a time while they disagree.';

CREATE FUNCTION lease_review(p_bakeoff_id BIGINT, p_grader TEXT, p_reviewer TEXT)
RETURNS TABLE (item_id BIGINT, is_lost BOOLEAN) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    chosen BIGINT;
BEGIN
    -- Who asks again without having rated gets what they have in hand.
    SELECT h.item_id INTO chosen FROM human_reviews h JOIN review_items i ON i.id = h.item_id
    WHERE h.reviewer = p_reviewer AND h.lease_until > clock_timestamp() AND NOT h.adjudicates AND i.is_open
      AND (p_bakeoff_id IS NULL OR i.bakeoff_id = p_bakeoff_id) AND (p_grader IS NULL OR i.grader = p_grader)
    ORDER BY h.leased_at, h.item_id LIMIT 1;
    IF FOUND THEN
        RETURN QUERY SELECT chosen, FALSE;
        RETURN;
    END IF;
    -- Items that others have begun come first. One that somebody is just taking is passed over, and waited for
    -- only if there is nothing else.
    SELECT i.id INTO chosen FROM review_items i JOIN review_quotas q ON q.item_id = i.id
    WHERE i.is_open AND q.has_room AND (p_bakeoff_id IS NULL OR i.bakeoff_id = p_bakeoff_id)
      AND (p_grader IS NULL OR i.grader = p_grader) AND NOT EXISTS (
          SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.reviewer = p_reviewer
            AND h.state IN ('rated', 'withdrawn') AND NOT h.adjudicates)
    ORDER BY q.taken DESC, i.token LIMIT 1 FOR UPDATE OF i SKIP LOCKED;
    IF NOT FOUND THEN
        SELECT i.id INTO chosen FROM review_items i JOIN review_quotas q ON q.item_id = i.id
        WHERE i.is_open AND q.has_room AND (p_bakeoff_id IS NULL OR i.bakeoff_id = p_bakeoff_id)
          AND (p_grader IS NULL OR i.grader = p_grader) AND NOT EXISTS (
              SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.reviewer = p_reviewer
                AND h.state IN ('rated', 'withdrawn') AND NOT h.adjudicates)
        ORDER BY q.taken DESC, i.token LIMIT 1 FOR UPDATE OF i;
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Counted again, now that nobody else can take it: whoever did so just before may have committed since.
    RETURN QUERY INSERT INTO human_reviews AS h (item_id, reviewer, state, lease_until)
    SELECT i.id, p_reviewer, 'leased', clock_timestamp() + make_interval(secs => i.lease_s)
    FROM review_items i JOIN review_quotas q ON q.item_id = i.id
    WHERE i.id = chosen AND i.is_open AND q.has_room
    ON CONFLICT ON CONSTRAINT human_reviews_pkey DO UPDATE
    SET state = 'leased', lease_until = excluded.lease_until, leased_at = clock_timestamp() WHERE h.state = 'leased'
    RETURNING h.item_id, FALSE;
    IF NOT FOUND THEN
        -- The race is lost; the caller tries again, in another transaction: never more than one item is held.
        RETURN QUERY SELECT chosen, TRUE;
    END IF;
END $$;
COMMENT ON FUNCTION lease_review IS 'Puts an item into a person''s hands for a while, within its quotas; no row when nothing is left for them.';
