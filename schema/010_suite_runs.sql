-- Runs of suites: the bake-offs of one run, its retries included, under one id. And the way to earlier costs.

CREATE TABLE suite_runs (
    id              BIGSERIAL PRIMARY KEY,
    suite           TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('run', 'capture')),
    samples         INT NOT NULL CHECK (samples > 0),
    lineup          JSON NOT NULL,
    facts           JSON NOT NULL,
    is_timed_out    BOOLEAN NOT NULL DEFAULT FALSE,
    started_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    ended_at        TIMESTAMPTZ
);
COMMENT ON TABLE suite_runs IS 'One row per run of a suite, written before its first bake-off; users write its id as suite-7.';
COMMENT ON COLUMN suite_runs.kind IS 'capture: answers were kept as baselines and not compared; no gate may judge it.';
COMMENT ON COLUMN suite_runs.lineup IS 'Each judge with its evals, those included that no bake-off reached.';
COMMENT ON COLUMN suite_runs.facts IS 'What the report repeats: version, environment, warnings.';
COMMENT ON COLUMN suite_runs.ended_at IS 'NULL while it runs, and for good if its command was killed.';

CREATE TABLE suite_run_bakeoffs (
    bakeoff_id      BIGINT PRIMARY KEY REFERENCES bakeoffs (id),
    suite_run_id    BIGINT NOT NULL REFERENCES suite_runs (id),
    attempt         INT NOT NULL CHECK (attempt >= 0)
);
CREATE INDEX idx_suite_run_bakeoffs_run ON suite_run_bakeoffs (suite_run_id, bakeoff_id);
COMMENT ON TABLE suite_run_bakeoffs IS 'The bake-offs of a suite run; attempt 0 are the planned ones, the others retries of failed evals.';

-- Estimates look up what the same judge, and the graders of the same task, cost before.
CREATE INDEX idx_runs_judge_sha ON runs (judge_sha, id DESC);
CREATE INDEX idx_bakeoffs_task_sha ON bakeoffs (task_sha, id DESC);
