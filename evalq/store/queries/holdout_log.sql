-- The holdout log, a hash chain for each task.

-- lock_holdout_log --
-- One writer of a task's log at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('holdout:' || %(task_name)s, 0));

-- holdout_lines --
-- The holdout log of a task.
SELECT seq, line, prev_hash, hash FROM holdout_log WHERE task_name = %(task_name)s ORDER BY seq;

-- add_holdout_line --
-- Append a line; lock_holdout_log goes first, in a statement of its own.
INSERT INTO holdout_log (task_name, seq, line, prev_hash, hash)
VALUES (%(task_name)s, %(seq)s, %(line)s, %(prev_hash)s, %(hash)s);

-- holdout_head --
-- The last line of a task's holdout log, by number and hash.
SELECT seq, hash FROM holdout_log WHERE task_name = %(task_name)s ORDER BY seq DESC LIMIT 1;

-- holdout_tasks --
-- The tasks that have a holdout log.
SELECT DISTINCT task_name FROM holdout_log ORDER BY task_name;

-- looked_bakeoffs --
-- The bake-offs with some uids, and their states.
SELECT id, uid::text AS uid, state FROM bakeoffs WHERE uid = ANY(%(uids)s::uuid[]);
