-- What decisions are made on: the holdout log, drift and its alerts, human labels.

CREATE TABLE holdout_log (
    task_name       TEXT NOT NULL,
    seq             BIGINT NOT NULL CHECK (seq > 0),
    entry           TEXT NOT NULL,
    prev_hash       CHAR(64) NOT NULL,
    hash            CHAR(64) NOT NULL,
    bakeoff_id      BIGINT REFERENCES bakeoffs (id),
    PRIMARY KEY (task_name, seq)
);
COMMENT ON TABLE holdout_log IS 'Every look at a frozen set, one hash chain per task; the same lines are in evalsets/TASK/holdout-runs.log.';
COMMENT ON COLUMN holdout_log.entry IS 'The canonical JSON line, byte for byte as it was hashed.';

CREATE TABLE drift_baselines (
    id              BIGSERIAL PRIMARY KEY,
    run_id          BIGINT NOT NULL REFERENCES runs (id),
    task_name       TEXT NOT NULL,
    eval_set_name   TEXT NOT NULL,
    judge           TEXT NOT NULL,
    accepted_at     TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX idx_drift_baselines_judge ON drift_baselines (task_name, eval_set_name, judge, id DESC);
COMMENT ON TABLE drift_baselines IS 'Runs somebody accepted as how a judge should be; the newest of a judge and set counts.';

CREATE TABLE drift_checks (
    run_id          BIGINT PRIMARY KEY REFERENCES runs (id),
    rule            TEXT NOT NULL CHECK (rule IN ('seed', 'confirm', 'sequential')),
    verdict         TEXT CHECK (verdict IN ('ok', 'watch', 'alert', 'inconclusive')),
    confirm_run_id  BIGINT UNIQUE REFERENCES runs (id),
    numbers         JSONB NOT NULL DEFAULT '{}',
    opened_at       TIMESTAMPTZ NOT NULL DEFAULT now(),
    decided_at      TIMESTAMPTZ
);
COMMENT ON TABLE drift_checks IS 'One row per judge and check: opened with its run, decided when that (and its confirmation) has concluded.';
COMMENT ON COLUMN drift_checks.verdict IS 'NULL until decided. watch: the seed rule tripped; alert: fresh repeats confirmed it, or the detector did.';
COMMENT ON COLUMN drift_checks.numbers IS 'Everything the verdict was made from, and the smallest drop that could have been seen.';

CREATE TABLE alerts (
    id              BIGSERIAL PRIMARY KEY,
    key             TEXT NOT NULL UNIQUE,
    text            TEXT NOT NULL,
    document        JSONB NOT NULL,
    raised_at       TIMESTAMPTZ NOT NULL DEFAULT now()
);
COMMENT ON COLUMN alerts.key IS 'Names the event: raised again it is the same alert.';

CREATE TABLE alert_deliveries (
    alert_id        BIGINT NOT NULL REFERENCES alerts (id),
    channel         TEXT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed')),
    attempts        INT NOT NULL DEFAULT 0,
    not_before      TIMESTAMPTZ NOT NULL DEFAULT now(),
    last_error      TEXT,
    PRIMARY KEY (alert_id, channel)
);
CREATE INDEX idx_alert_deliveries_pending ON alert_deliveries (not_before) WHERE state = 'pending';
COMMENT ON TABLE alert_deliveries IS 'Where an alert goes: retried with growing waits, given up after a day.';

CREATE TABLE human_labels (
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    labeller        TEXT NOT NULL,
    passed          BOOLEAN NOT NULL,
    labelled_at     TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, labeller)
);
COMMENT ON TABLE human_labels IS 'What people say of graded answers, to correct the grader by.';
