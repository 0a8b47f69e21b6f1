-- What decisions are made on: the holdout log, drift and its alerts, human labels.

CREATE TABLE holdout_log (
    task_name       TEXT NOT NULL,
    seq             BIGINT NOT NULL CHECK (seq > 0),
    line            TEXT NOT NULL,
    prev_hash       CHAR(64) NOT NULL,
    hash            CHAR(64) NOT NULL,
    PRIMARY KEY (task_name, seq),
    UNIQUE (task_name, prev_hash)
);
COMMENT ON TABLE holdout_log IS 'Every look at a frozen set, one hash chain per task; the same lines are in evalsets/TASK/holdout-runs.log.';
COMMENT ON COLUMN holdout_log.line IS 'Canonical JSON, byte for byte as in the file. It names its bake-off by uid: an intent is older than that.';
COMMENT ON COLUMN holdout_log.prev_hash IS 'Unique in a task: a chain does not fork.';

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
    decided_at      TIMESTAMPTZ,
    CHECK (decided_at IS NULL OR verdict IS NOT NULL)
);
CREATE INDEX idx_drift_checks_open ON drift_checks (run_id) WHERE decided_at IS NULL;
COMMENT ON TABLE drift_checks IS 'One row per judge and check: opened with its run, decided when that (and its confirmation) has concluded.';
COMMENT ON COLUMN drift_checks.verdict IS 'watch: the seed rule tripped, and while decided_at is NULL fresh repeats are under way; alert: they confirmed it, or the detector did.';
COMMENT ON COLUMN drift_checks.numbers IS 'Everything the verdict was made from, and the smallest drop that could have been seen.';

CREATE FUNCTION run_is_over(p_run_id BIGINT) RETURNS BOOLEAN LANGUAGE sql STABLE AS $$
    SELECT b.state IN ('concluded', 'capped', 'cancelled')
           OR b.state = 'paused' AND coalesce(b.stop_reason, 'by hand') <> 'by hand'
    FROM runs r JOIN bakeoffs b ON b.id = r.bakeoff_id WHERE r.id = p_run_id
$$;
COMMENT ON FUNCTION run_is_over IS 'Whether nothing more will be spent on a run and its bake-off by itself; one that somebody paused is waited for.';

CREATE TABLE drift_ticks (
    schedule        TEXT NOT NULL,
    tick            TIMESTAMPTZ NOT NULL,
    bakeoff_id      BIGINT REFERENCES bakeoffs (id),
    problem         TEXT,
    PRIMARY KEY (schedule, tick)
);
COMMENT ON TABLE drift_ticks IS 'Each instant a schedule was due, once however often it was announced: what was opened, or why nothing was.';

CREATE TABLE alerts (
    id              BIGSERIAL PRIMARY KEY,
    key             TEXT NOT NULL UNIQUE,
    text            TEXT NOT NULL,
    document        JSONB NOT NULL,
    raised_at       TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX idx_alerts_raised ON alerts (raised_at);
COMMENT ON TABLE alerts IS 'What people must know; no secret of any channel is in it.';
COMMENT ON COLUMN alerts.key IS 'Names the event: raised again it is the same alert.';

CREATE TABLE alert_deliveries (
    alert_id        BIGINT NOT NULL REFERENCES alerts (id),
    channel         TEXT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed')),
    attempts        INT NOT NULL DEFAULT 0,
    not_before      TIMESTAMPTZ NOT NULL DEFAULT now(),
    sent_at         TIMESTAMPTZ,
    last_error      TEXT,
    PRIMARY KEY (alert_id, channel)
);
CREATE INDEX idx_alert_deliveries_pending ON alert_deliveries (not_before) WHERE state = 'pending';
COMMENT ON TABLE alert_deliveries IS 'Where an alert goes: retried with growing waits, given up after a day.';
COMMENT ON COLUMN alert_deliveries.channel IS 'Its name in the settings of the fleet, such as slack or webhook-2; never an address.';

CREATE TABLE human_labels (
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    labeller        TEXT NOT NULL,
    passed          BOOLEAN NOT NULL,
    labelled_at     TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, labeller)
);
COMMENT ON TABLE human_labels IS 'What people say of graded answers, to correct the grader by.';

COMMENT ON TABLE eval_kappa IS 'Agreement of two runs of one task on one evalset snapshot: of a bake-off, or named for it.';
