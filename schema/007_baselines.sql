-- What regressions are compared with: known-good outputs, and how their evals have done since.

CREATE TABLE baselines (
    id              BIGSERIAL PRIMARY KEY,
    suite           TEXT NOT NULL,
    eval_id         TEXT NOT NULL,
    judge           TEXT NOT NULL,
    version         TEXT,
    output          JSON,
    captured_at     TIMESTAMPTZ,
    environment     JSONB NOT NULL DEFAULT '{}',
    bakeoff_id      BIGINT REFERENCES bakeoffs (id),
    criticality     TEXT CHECK (criticality IN ('critical', 'high', 'medium', 'low')),
    last_passed     TIMESTAMPTZ,
    failure_count   INT NOT NULL DEFAULT 0 CHECK (failure_count >= 0),
    checked_at      TIMESTAMPTZ,
    UNIQUE (suite, eval_id, judge),
    CHECK ((output IS NULL) = (captured_at IS NULL))
);
COMMENT ON TABLE baselines IS 'One row per eval of a suite and whoever answers it; captured outputs are in the suite''s folder too, under baselines/.';
COMMENT ON COLUMN baselines.judge IS 'The judge, or the tested system, whose output it is.';
COMMENT ON COLUMN baselines.output IS 'NULL while the eval is compared with what its own file says. Not JSONB: the order of its fields may count.';
COMMENT ON COLUMN baselines.bakeoff_id IS 'The bake-off that captured it.';
COMMENT ON COLUMN baselines.last_passed IS 'When the eval last held against its baseline.';
COMMENT ON COLUMN baselines.failure_count IS 'How often it did not.';
