-- What the sandbox's worker may do in the database: finish its jobs, and write no definition, case or setting.
-- Run after `evalq schema apply`, as the owner; running it again is harmless. Then set the role's password.
DO $$
BEGIN
    IF to_regrole('evalq_sandbox') IS NULL THEN
        CREATE ROLE evalq_sandbox LOGIN;
    END IF;
END
$$;
GRANT USAGE ON SCHEMA public TO evalq_sandbox;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO evalq_sandbox;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO evalq_sandbox;
REVOKE INSERT, UPDATE, DELETE ON definitions, cases, schema_versions, spending_caps, holdout_log, baselines
    FROM evalq_sandbox;
REVOKE INSERT, UPDATE, DELETE ON bakeoffs, runs FROM evalq_sandbox;
GRANT UPDATE (state, stop_reason, reserved_usd, spent_usd, concluded_at, result) ON bakeoffs TO evalq_sandbox;
GRANT UPDATE (state, pause_reason) ON runs TO evalq_sandbox;
