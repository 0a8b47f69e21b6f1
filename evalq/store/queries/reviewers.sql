-- People who review: their tokens' hashes, how fast they are, what they declined, how far they agree with graders.

-- invite_reviewer --
-- Add a person, or give one who is there a new token and role; is_new says which.
INSERT INTO reviewers (name, role, token_sha256) VALUES (%(name)s, %(role)s, %(token_sha256)s)
ON CONFLICT (name) DO UPDATE SET role = excluded.role, token_sha256 = excluded.token_sha256, invited_at = now(),
    revoked_at = NULL
RETURNING xmax = 0 AS is_new;

-- revoke_reviewer --
-- Make a person's token worthless; no row when there is no such person or it was done before.
UPDATE reviewers SET revoked_at = now() WHERE name = %(name)s AND revoked_at IS NULL RETURNING name;

-- list_reviewers --
-- Everyone ever invited, with how many items they rated and declined.
SELECT r.name, r.role, r.invited_at, r.seen_at, r.revoked_at,
       (SELECT count(*) FROM human_reviews h WHERE h.reviewer = r.name AND h.state = 'rated') AS rated,
       (SELECT count(*) FROM human_reviews h WHERE h.reviewer = r.name AND h.declined IS NOT NULL) AS declined
FROM reviewers r ORDER BY r.revoked_at IS NOT NULL, r.name;

-- reviewer_of_token --
-- The person whose token has this hash, unless it is revoked.
SELECT name, role FROM reviewers WHERE token_sha256 = %(token_sha256)s AND revoked_at IS NULL;

-- note_reviewer_seen --
-- Note that a person is at work, at most once a minute.
UPDATE reviewers SET seen_at = now()
WHERE name = %(name)s AND (seen_at IS NULL OR seen_at < now() - interval '1 minute');

-- has_reviewer --
-- Whether a name belongs to somebody who signs in, revoked or not.
SELECT EXISTS (SELECT 1 FROM reviewers WHERE name = %(name)s) AS found;

-- has_reviewers --
-- Whether anyone signs in with a token.
SELECT EXISTS (SELECT 1 FROM reviewers WHERE revoked_at IS NULL) AS found;

-- review_pace --
-- Seconds from one rating of a person to their next, or from taking an item to rating it if that is shorter: the
-- median. What is prefetched is in hand before it is shown.
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS median_s FROM (
    SELECT i.bakeoff_id, i.grader, h.reviewer, extract(epoch FROM h.rated_at - greatest(h.leased_at,
           lag(h.rated_at) OVER (PARTITION BY h.reviewer ORDER BY h.rated_at)))::float8 AS seconds
    FROM human_reviews h JOIN review_items i ON i.id = h.item_id
    WHERE h.rated_at IS NOT NULL AND NOT h.adjudicates
) paced
WHERE bakeoff_id = %(bakeoff_id)s AND (%(grader)s::text IS NULL OR grader = %(grader)s)
  AND (%(reviewer)s::text IS NULL OR reviewer = %(reviewer)s);

-- declined_reviews --
-- What people gave back for good, and why.
SELECT i.token, i.grader, i.case_id, h.reviewer, h.declined, h.comment
FROM human_reviews h JOIN review_items i ON i.id = h.item_id
WHERE i.bakeoff_id = %(bakeoff_id)s AND h.declined IS NOT NULL ORDER BY h.declined, i.token, h.reviewer;

-- labels_beside_grades --
-- For each grader that is not people, its verdict on every labelled answer beside the votes of people.
SELECT g.grader, g.passed, count(*) FILTER (WHERE l.passed) AS ayes, count(*) AS votes
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN human_labels l ON l.job_id = j.id
JOIN grades g ON g.job_id = j.id AND g.kind <> 'human' AND g.passed IS NOT NULL
WHERE r.bakeoff_id = %(bakeoff_id)s GROUP BY g.grader, g.job_id, g.passed ORDER BY g.grader, g.job_id;

-- review_queues --
-- Bake-offs with something to review, newest first: items, those that want reviews, those in dispute.
SELECT i.bakeoff_id, b.task_name, b.eval_set_name, count(*) AS items, count(*) FILTER (WHERE i.is_open) AS open,
       count(*) FILTER (WHERE i.dispute IS NOT NULL) AS disputed
FROM review_items i JOIN bakeoffs b ON b.id = i.bakeoff_id
GROUP BY i.bakeoff_id, b.task_name, b.eval_set_name ORDER BY i.bakeoff_id DESC LIMIT %(limit)s;
