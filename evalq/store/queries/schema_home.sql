-- Where evalq's tables live.

-- schema_home --
-- Where evalq's tables are, and where this connection looks: by our option, by Postgres' default, or elsewhere.
SELECT CASE replace(current_setting('search_path'), ' ', '') WHEN 'evalq,public' THEN 'ours'
            WHEN '"$user",public' THEN 'default' ELSE 'own' END AS path,
       to_regnamespace('evalq') IS NOT NULL AS has_evalq,
       to_regclass('evalq.schema_versions') IS NOT NULL AND to_regclass('evalq.call_journal') IS NOT NULL
           AS is_in_evalq,
       to_regclass('public.schema_versions') IS NOT NULL AND to_regclass('public.call_journal') IS NOT NULL
           AS is_in_public,
       to_regclass('call_journal') IS NOT NULL AS is_found,
       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'evalq') AND n.nspname NOT LIKE 'pg\_%%'
                 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')) AS is_shared;

-- create_schema --
-- The schema that evalq's tables live in.
CREATE SCHEMA IF NOT EXISTS evalq;

-- look_in_public --
-- Keep to public for this transaction: the tables of an older evalq are there.
SET LOCAL search_path TO public;

-- look_in_evalq_by_default --
-- Have every new connection to this database look in schema evalq first.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET search_path TO evalq, public', current_database()); END $$;

-- foreign_seed_tables --
-- What is in public under the name of a view of ours and is not that view.
SELECT c.relname AS name FROM pg_class c
WHERE c.relnamespace = to_regnamespace('public') AND c.relname IN ('eval_runs', 'eval_kappa')
  AND NOT (c.relkind = 'v' AND coalesce(obj_description(c.oid, 'pg_class'), '') LIKE 'evalq: %%')
ORDER BY c.relname;

-- show_eval_runs --
-- The view of the runs in public.
DO $$ BEGIN
    CREATE OR REPLACE VIEW public.eval_runs AS SELECT * FROM evalq.eval_runs;
    COMMENT ON VIEW public.eval_runs IS 'evalq: the table eval_runs of schema evalq.';
END $$;

-- show_eval_kappa --
-- The view of the agreements in public.
DO $$ BEGIN
    CREATE OR REPLACE VIEW public.eval_kappa AS SELECT * FROM evalq.eval_kappa;
    COMMENT ON VIEW public.eval_kappa IS 'evalq: the table eval_kappa of schema evalq.';
END $$;
