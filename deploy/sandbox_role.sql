-- What the sandbox's worker may do in the database: finish its jobs, and write no definition, case or setting.
-- Run after `evalq schema apply`, as the owner; running it again is harmless. Then set the role's password.
SET search_path TO evalq, public;
DO $$
BEGIN
    IF to_regrole('evalq_sandbox') IS NULL THEN
        CREATE ROLE evalq_sandbox LOGIN;
    END IF;
END
$$;
-- The tables are in schema evalq, or in public if an older evalq made them.
DO $$
DECLARE
    home TEXT := (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'call_journal'::regclass);
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO evalq_sandbox', home);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO evalq_sandbox', home);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %s TO evalq_sandbox', home);
END
$$;
REVOKE INSERT, UPDATE, DELETE ON definitions, cases, schema_versions, spending_caps, holdout_log, baselines,
    suite_runs, suite_run_bakeoffs
    FROM evalq_sandbox;
REVOKE INSERT, UPDATE, DELETE ON bakeoffs, runs FROM evalq_sandbox;
GRANT UPDATE (state, stop_reason, reserved_usd, spent_usd, concluded_at, result) ON bakeoffs TO evalq_sandbox;
GRANT UPDATE (state, pause_reason) ON runs TO evalq_sandbox;
