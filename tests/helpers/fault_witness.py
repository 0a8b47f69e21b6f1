"""What the database itself notes of a bake-off under fire."""

REPEATED = """
    SELECT job_id, purpose, array_agg(state ORDER BY id), array_agg(fault_kind ORDER BY id) FROM call_journal
    GROUP BY job_id, purpose, key HAVING count(*) > 1
"""
# Notes what must never happen at the instant it does: an aggregate before its last outcome, or a second one,
# dollars beyond the cap. Rows alone would not show it afterwards.
WITNESS = """
CREATE TABLE witnessed (
    what TEXT NOT NULL, subject BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE FUNCTION witness_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO witnessed (what, subject) VALUES ('run concluded', NEW.id);
    IF EXISTS (SELECT 1 FROM jobs WHERE run_id = NEW.id AND state <> 'done')
       OR (SELECT count(*) FROM outcomes WHERE run_id = NEW.id) <> NEW.n_jobs THEN
        INSERT INTO witnessed (what, subject) VALUES ('run concluded early', NEW.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER witness_run AFTER UPDATE ON runs FOR EACH ROW
    WHEN (NEW.state = 'concluded' AND OLD.state <> 'concluded') EXECUTE FUNCTION witness_run();
CREATE FUNCTION witness_bakeoff() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'concluded' AND OLD.state <> 'concluded' THEN
        INSERT INTO witnessed (what, subject) VALUES ('bake-off concluded', NEW.id);
    END IF;
    IF NEW.spent_usd + NEW.reserved_usd > NEW.cap_usd THEN
        INSERT INTO witnessed (what, subject) VALUES ('over the cap', NEW.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER witness_bakeoff AFTER UPDATE ON bakeoffs FOR EACH ROW EXECUTE FUNCTION witness_bakeoff();
"""
