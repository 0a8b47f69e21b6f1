-- Reviews: items, leases, ratings, and the labels that follow from them.

-- unlisted_reviews --
-- Grades that wait for people and are in no item, with whether they are wanted: an outcome depends on them, or they are
-- a measure of their own. A ranking needs the answers of all judges that were not stopped: is_complete.
WITH unlisted AS (
    SELECT g.job_id, g.grader, j.bakeoff_id, j.case_id, j.sample,
           o.verdict = 'pending_review' OR NOT g.required AS is_wanted
    FROM grades g JOIN jobs j ON j.id = g.job_id JOIN outcomes o ON o.job_id = g.job_id
    WHERE g.kind = 'human' AND g.pending AND j.state = 'done'
      AND (%(bakeoff_id)s::bigint IS NULL OR j.bakeoff_id = %(bakeoff_id)s)
      AND NOT EXISTS (SELECT 1 FROM review_answers a WHERE a.job_id = g.job_id AND a.grader = g.grader)
), grouped AS (
    SELECT u.*, bool_or(u.is_wanted) OVER (PARTITION BY u.bakeoff_id, u.case_id, u.sample, u.grader) AS is_any_wanted
    FROM unlisted u
)
SELECT u.job_id, u.grader, u.bakeoff_id, u.case_id, u.sample, u.is_wanted, b.uid::text AS uid, b.task_sha,
       c.body::text AS case_body, NOT EXISTS (
           SELECT 1 FROM runs r JOIN jobs other ON other.run_id = r.id
           WHERE r.bakeoff_id = u.bakeoff_id AND other.case_id = u.case_id AND other.sample = u.sample
             AND other.state <> 'done' AND b.state <> 'cancelled' AND NOT (b.state = 'concluded' AND r.state = 'paused')
       ) AS is_complete
FROM grouped u JOIN bakeoffs b ON b.id = u.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = u.case_id
WHERE u.is_any_wanted ORDER BY u.bakeoff_id, u.job_id;

-- add_review_items --
-- Add items with their answers in the order people see them; an item that exists gets the answers it lacks.
WITH given AS (
    SELECT * FROM jsonb_to_recordset(%(items)s) AS g (token text, grader text, case_id text, sample int,
           min_required int, max_allowed int, lease_s float8, purpose text, priority int, job_ids bigint[])
), added AS (
    INSERT INTO review_items (token, bakeoff_id, grader, case_id, sample, min_required, max_allowed, lease_s, purpose,
                              priority)
    SELECT token, %(bakeoff_id)s, grader, case_id, sample, min_required, max_allowed, lease_s, purpose, priority
    FROM given
    ON CONFLICT (token) DO UPDATE SET is_open = TRUE, dispute = NULL RETURNING id, token
), answered AS (
    INSERT INTO review_answers (item_id, job_id, grader, place)
    SELECT added.id, one.job_id, given.grader,
           one.place - 1 + (SELECT count(*) FROM review_answers a WHERE a.item_id = added.id)
    FROM given JOIN added USING (token) CROSS JOIN LATERAL unnest(given.job_ids) WITH ORDINALITY AS one (job_id, place)
)
SELECT id, token FROM added;

-- drop_reviews --
-- Delete the ratings of an item that has another answer now.
DELETE FROM human_reviews WHERE item_id = %(item_id)s RETURNING reviewer;

-- stale_review_items --
-- Items with a waiting grade although people have rated them or no review is wanted.
SELECT DISTINCT i.id FROM review_items i JOIN review_answers a ON a.item_id = i.id
JOIN grades g ON g.job_id = a.job_id AND g.grader = a.grader
WHERE i.bakeoff_id = %(bakeoff_id)s AND g.pending AND (NOT i.is_open OR EXISTS (
    SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.state = 'rated')) ORDER BY i.id;

-- rated_review_items --
-- Items that have a rating.
SELECT i.id FROM review_items i
WHERE (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND EXISTS (SELECT 1 FROM human_reviews h WHERE h.item_id = i.id AND h.state = 'rated') ORDER BY i.id;

-- review_item --
-- One item with its case and how many people have rated or hold it.
SELECT i.id, i.token, i.bakeoff_id, i.grader, i.case_id, i.sample, i.min_required, i.max_allowed, i.is_open,
       i.purpose, i.lease_s, b.task_name, b.task_sha, c.body::text AS case_body, q.rated, q.taken
FROM review_items i JOIN bakeoffs b ON b.id = i.bakeoff_id JOIN review_quotas q ON q.item_id = i.id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = i.case_id
WHERE i.id = %(item_id)s;

-- find_review_item --
-- At most two items whose name begins with a prefix.
SELECT id, token, bakeoff_id FROM review_items WHERE starts_with(token, %(prefix)s) ORDER BY token LIMIT 2;

-- review_answers --
-- The answers of an item in the order people see them, with what a blind review hides.
SELECT a.job_id, a.place, r.judge, k.answer, k.latency_ms, k.cost_usd
FROM review_answers a JOIN jobs j ON j.id = a.job_id JOIN runs r ON r.id = j.run_id
LEFT JOIN completions k ON k.job_id = a.job_id WHERE a.item_id = %(item_id)s ORDER BY a.place;

-- item_reviews --
-- The ratings of an item, an adjudicator's last.
SELECT reviewer, adjudicates, rating, comment, rated_at FROM human_reviews
WHERE item_id = %(item_id)s AND state = 'rated' ORDER BY adjudicates, rated_at, reviewer;

-- lease_review --
-- Lease the next item to a person, within its quotas; is_lost when another person took it first.
SELECT item_id, is_lost FROM lease_review(%(bakeoff_id)s::bigint, %(grader)s::text, %(reviewer)s, %(beside)s::bigint);

-- review_lease --
-- The end of a person's lease of an item.
SELECT lease_until FROM human_reviews
WHERE item_id = %(item_id)s AND reviewer = %(reviewer)s AND lease_until > clock_timestamp() AND NOT adjudicates;

-- disputed_item --
-- An item that people disagree on, for an adjudicator.
SELECT i.id FROM review_items i
WHERE i.dispute IS NOT NULL AND (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND (%(grader)s::text IS NULL OR i.grader = %(grader)s)
ORDER BY i.token LIMIT 1;

-- lock_review_items --
-- Block taking and rating of some items until the transaction ends.
SELECT id FROM review_items WHERE id = ANY(%(item_ids)s) ORDER BY id FOR UPDATE;

-- rate_review --
-- Store a person's rating over their earlier one; no row when the item has all the reviews it may have.
-- lock_review_items goes first, in a statement of its own.
INSERT INTO human_reviews (item_id, reviewer, adjudicates, state, rating, votes, comment, rated_at)
SELECT i.id, %(reviewer)s, %(adjudicates)s, 'rated', %(rating)s::jsonb, %(votes)s::jsonb, %(comment)s, clock_timestamp()
FROM review_items i
WHERE i.id = %(item_id)s AND (%(adjudicates)s OR i.max_allowed > (
    SELECT count(*) FROM human_reviews h WHERE h.item_id = i.id AND NOT h.adjudicates AND h.reviewer <> %(reviewer)s
      AND (h.state = 'rated' OR h.lease_until > clock_timestamp())))
ON CONFLICT (item_id, reviewer, adjudicates) DO UPDATE
SET state = 'rated', rating = excluded.rating, votes = excluded.votes, comment = excluded.comment, lease_until = NULL,
    rated_at = excluded.rated_at, declined = NULL
RETURNING item_id;

-- adjudicator --
-- The person who decided an item over the ratings of the others.
SELECT reviewer FROM human_reviews WHERE item_id = %(item_id)s AND adjudicates AND state = 'rated';

-- decline_review --
-- Give an item back for good, with a reason; no row when the person does not hold it.
UPDATE human_reviews SET state = 'withdrawn', declined = %(declined)s, comment = %(comment)s, lease_until = NULL,
       rated_at = clock_timestamp()
WHERE item_id = %(item_id)s AND reviewer = %(reviewer)s AND NOT adjudicates AND state = 'leased' RETURNING item_id;

-- last_review --
-- The item that a person rated or declined last; a given item also when they only hold it.
SELECT i.id, i.token, i.bakeoff_id FROM human_reviews h JOIN review_items i ON i.id = h.item_id
WHERE h.reviewer = %(reviewer)s AND (%(item_id)s::bigint IS NULL OR h.item_id = %(item_id)s)
  AND (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND (h.state = 'rated' OR h.declined IS NOT NULL OR %(item_id)s IS NOT NULL AND h.state = 'leased')
ORDER BY h.rated_at DESC NULLS LAST, h.adjudicates DESC LIMIT 1;

-- undo_review --
-- Take back what a person said of an item and lease it to them again; give an item back that they only held.
UPDATE human_reviews h
SET state = CASE WHEN before.is_said AND NOT h.adjudicates THEN 'leased' ELSE 'withdrawn' END,
    lease_until = CASE WHEN before.is_said AND NOT h.adjudicates
                       THEN clock_timestamp() + make_interval(secs => i.lease_s) END,
    rating = NULL, votes = NULL, rated_at = NULL, declined = NULL
FROM review_items i, (
    SELECT item_id, reviewer, adjudicates, coalesce(declined, state) AS state,
           state = 'rated' OR declined IS NOT NULL AND q.has_room AS is_said
    FROM human_reviews JOIN review_quotas q USING (item_id)
    WHERE item_id = %(item_id)s AND reviewer = %(reviewer)s
      AND (state IN ('rated', 'leased') OR declined IS NOT NULL)
    ORDER BY state = 'rated' DESC, adjudicates DESC LIMIT 1
) before
WHERE i.id = h.item_id AND h.item_id = before.item_id AND h.reviewer = before.reviewer
  AND h.adjudicates = before.adjudicates
RETURNING before.state;

-- set_item_open --
-- Set whether an item needs more reviews, and why its reviews decide nothing if so.
UPDATE review_items SET is_open = %(is_open)s, dispute = %(dispute)s
WHERE id = %(item_id)s AND (is_open, dispute) IS DISTINCT FROM (%(is_open)s::boolean, %(dispute)s::text);

-- regrade --
-- Write a grade of people over the stored one; no row when it is the same.
UPDATE grades g SET passed = %(passed)s, score = %(score)s, reason = %(reason)s, pending = %(pending)s,
       details = %(details)s::jsonb
FROM jobs j
WHERE j.id = g.job_id AND g.job_id = %(job_id)s AND g.grader = %(grader)s AND g.kind = 'human'
  AND (g.passed, g.score, g.reason, g.pending, g.details) IS DISTINCT FROM
      (%(passed)s::boolean, %(score)s::float8, %(reason)s::text, %(pending)s::boolean, %(details)s::jsonb)
RETURNING j.run_id;

-- change_outcome --
-- Write an outcome over the stored one; no row when it is the same.
UPDATE outcomes SET verdict = %(verdict)s, error_kind = %(error_kind)s, message = %(message)s
WHERE job_id = %(job_id)s AND (verdict, error_kind, message) IS DISTINCT FROM
      (%(verdict)s::text, %(error_kind)s::text, %(message)s::text)
RETURNING run_id;

-- label_from_reviews --
-- Make a person's label of each answer what their reviews of it say together; delete a label without a review.
WITH said AS (
    SELECT vote.key::bigint AS job_id, bool_and(vote.value::boolean) AS passed
    FROM review_answers a JOIN human_reviews h ON h.item_id = a.item_id
    CROSS JOIN LATERAL jsonb_each_text(h.votes) AS vote
    WHERE a.job_id = ANY(%(job_ids)s) AND h.reviewer = %(reviewer)s AND h.state = 'rated'
      AND vote.key::bigint = a.job_id
    GROUP BY 1
), taken_back AS (
    DELETE FROM human_labels l WHERE l.job_id = ANY(%(job_ids)s) AND l.labeller = %(reviewer)s AND l.from_review
      AND NOT EXISTS (SELECT 1 FROM said WHERE said.job_id = l.job_id)
)
INSERT INTO human_labels (job_id, labeller, passed, from_review)
SELECT job_id, %(reviewer)s, passed, TRUE FROM said
ON CONFLICT (job_id, labeller) DO UPDATE SET passed = excluded.passed, labelled_at = now(), from_review = TRUE;

-- review_progress --
-- How many items a person has rated, and how many are left for them: open, with room or held by them.
SELECT count(*) FILTER (WHERE h.state = 'rated') AS done,
       count(*) FILTER (WHERE i.is_open AND (h.lease_until > clock_timestamp()
                              OR q.has_room AND coalesce(h.state, '') NOT IN ('rated', 'withdrawn'))) AS left
FROM review_items i JOIN review_quotas q ON q.item_id = i.id
LEFT JOIN human_reviews h ON h.item_id = i.id AND h.reviewer = %(reviewer)s AND NOT h.adjudicates
WHERE (%(bakeoff_id)s::bigint IS NULL OR i.bakeoff_id = %(bakeoff_id)s)
  AND (%(grader)s::text IS NULL OR i.grader = %(grader)s);

-- review_items --
-- The items of a bake-off with how many people have rated or hold each, in the order they are offered.
SELECT i.id, i.token, i.grader, i.case_id, i.sample, i.is_open, q.rated, q.taken,
       (SELECT count(*) FROM review_answers a WHERE a.item_id = i.id) AS n_answers,
       i.min_required, i.purpose, i.dispute AS reason
FROM review_items i JOIN review_quotas q ON q.item_id = i.id
WHERE i.bakeoff_id = %(bakeoff_id)s AND (%(grader)s::text IS NULL OR i.grader = %(grader)s) ORDER BY i.token;

-- bakeoff_reviews --
-- The ratings of a bake-off's items.
SELECT h.item_id, h.reviewer, h.adjudicates, h.rating, h.comment FROM human_reviews h
JOIN review_items i ON i.id = h.item_id
WHERE i.bakeoff_id = %(bakeoff_id)s AND h.state = 'rated' ORDER BY h.item_id, h.adjudicates, h.reviewer;

-- review_waits --
-- How many grades of each grader wait for people in no item: rankings that lack answers.
SELECT g.grader, count(*) AS n FROM grades g JOIN jobs j ON j.id = g.job_id JOIN outcomes o ON o.job_id = g.job_id
WHERE j.bakeoff_id = %(bakeoff_id)s AND g.kind = 'human' AND g.pending AND o.verdict = 'pending_review'
  AND NOT EXISTS (SELECT 1 FROM review_answers a WHERE a.job_id = g.job_id AND a.grader = g.grader)
GROUP BY g.grader ORDER BY g.grader;

-- pending_outcomes --
-- How many answers of a bake-off wait for people.
SELECT count(*) AS n FROM outcomes WHERE bakeoff_id = %(bakeoff_id)s AND verdict = 'pending_review';
