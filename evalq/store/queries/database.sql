-- The schema and the server.

-- create_schema_versions --
-- The table of applied schema files.
CREATE TABLE IF NOT EXISTS schema_versions (
    version INT PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- lock_schema --
-- One schema change at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('schema', 0));

-- schema_version --
-- The number of the newest schema file applied; null before the first.
SELECT max(version) AS version FROM schema_versions;

-- note_schema_version --
-- Record that a schema file was applied.
INSERT INTO schema_versions (version, name) VALUES (%(version)s, %(name)s);

-- server_version --
-- The version of the server.
SELECT current_setting('server_version') AS version;

-- has_schema --
-- Whether the table of schema files that this connection finds is evalq's: the journal of calls is beside it.
SELECT EXISTS (SELECT 1 FROM pg_class v JOIN pg_class j ON j.relnamespace = v.relnamespace
               WHERE v.oid = to_regclass('schema_versions') AND j.relname = 'call_journal') AS found;
