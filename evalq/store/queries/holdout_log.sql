-- The holdout log, a hash chain for each task.

-- lock_holdout_log --
-- One line at a time in the holdout log of a task, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('holdout:' || %(task_name)s, 0));

-- holdout_lines --
-- The holdout log of a task.
SELECT seq, line, prev_hash, hash FROM holdout_log WHERE task_name = %(task_name)s ORDER BY seq;

-- add_holdout_line --
-- One more line; lock_holdout_log goes first, in a statement of its own.
INSERT INTO holdout_log (task_name, seq, line, prev_hash, hash)
VALUES (%(task_name)s, %(seq)s, %(line)s, %(prev_hash)s, %(hash)s);

-- holdout_head --
-- The last line of a task's holdout log, by number and hash.
SELECT seq, hash FROM holdout_log WHERE task_name = %(task_name)s ORDER BY seq DESC LIMIT 1;

-- holdout_tasks --
-- The tasks that have a holdout log.
SELECT DISTINCT task_name FROM holdout_log ORDER BY task_name;

-- looked_bakeoffs --
-- The bake-offs of some looks, with how they stand.
SELECT id, uid::text AS uid, state FROM bakeoffs WHERE uid = ANY(%(uids)s::uuid[]);
