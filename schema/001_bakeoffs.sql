-- The tables of a bake-off. Forward only: a released file is never edited, the next one amends it.

CREATE TABLE definitions (
    sha256          CHAR(64) PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('task', 'evalset', 'judge')),
    name            TEXT NOT NULL,
    body            JSON NOT NULL,
    recorded_at     TIMESTAMPTZ NOT NULL DEFAULT now()
);
COMMENT ON TABLE definitions IS 'Snapshots by content: any run can be replayed from what it was given.';
COMMENT ON COLUMN definitions.body IS 'JSON, not JSONB: key order and bytes are kept as written.';

CREATE TABLE cases (
    eval_set_sha    CHAR(64) NOT NULL REFERENCES definitions (sha256),
    case_id         TEXT NOT NULL,
    ordinal         INT NOT NULL,
    stratum         TEXT NOT NULL,
    body            JSON NOT NULL,
    PRIMARY KEY (eval_set_sha, case_id)
);
COMMENT ON TABLE cases IS 'The cases of each evalset snapshot, one row each, so that a job reads only its own.';

CREATE TABLE eval_runs (
    id              BIGSERIAL PRIMARY KEY,
    task_name       TEXT NOT NULL,
    eval_set_name   TEXT NOT NULL,
    judge_model     TEXT NOT NULL,
    scorer_mode     TEXT NOT NULL,
    judge_for_scoring TEXT,
    n_cases         INT NOT NULL,
    n_pass          INT NOT NULL,
    accuracy        NUMERIC(5,4),
    ci_low          NUMERIC(5,4),
    ci_high         NUMERIC(5,4),
    p95_latency_ms  INT,
    total_cost_usd  NUMERIC(8,4),
    per_stratum     JSONB,
    run_type        TEXT NOT NULL,
    git_sha         TEXT,
    started_at      TIMESTAMPTZ NOT NULL,
    finished_at     TIMESTAMPTZ NOT NULL,
    notes           TEXT,
    bakeoff_id      BIGINT NOT NULL,
    n_fail          INT NOT NULL,
    n_error         INT NOT NULL,
    ci_method       TEXT NOT NULL,
    p50_latency_ms  INT,
    excluded        TEXT
);
CREATE INDEX idx_eval_runs_task ON eval_runs (task_name, finished_at DESC);
CREATE INDEX idx_eval_runs_drift ON eval_runs (task_name, judge_model, run_type, finished_at DESC);
CREATE INDEX idx_eval_runs_bakeoff ON eval_runs (bakeoff_id);
COMMENT ON TABLE eval_runs IS 'One row per judge, evalset and bake-off, written once, when its last job has ended.';
COMMENT ON COLUMN eval_runs.accuracy IS 'Passes over graded answers; NULL when no answer could be graded.';
COMMENT ON COLUMN eval_runs.excluded IS 'Why the judge has no rank; NULL when it has one.';

CREATE TABLE eval_kappa (
    eval_run_id_a   BIGINT REFERENCES eval_runs (id),
    eval_run_id_b   BIGINT REFERENCES eval_runs (id),
    kappa           NUMERIC(5,4) NOT NULL,
    n               INT NOT NULL,
    ac1             NUMERIC(5,4),
    degenerate      BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (eval_run_id_a, eval_run_id_b)
);
COMMENT ON TABLE eval_kappa IS 'Agreement of two judges of a bake-off, for pairs that both have verdicts.';
COMMENT ON COLUMN eval_kappa.degenerate IS 'A constant rater: kappa is a floor by convention, not a measurement.';

CREATE TABLE bakeoffs (
    id              BIGSERIAL PRIMARY KEY,
    uid             UUID NOT NULL UNIQUE,
    task_name       TEXT NOT NULL,
    eval_set_name   TEXT NOT NULL,
    scorer_mode     TEXT NOT NULL,
    grader_model    TEXT,
    run_type        TEXT NOT NULL,
    task_sha        CHAR(64) NOT NULL REFERENCES definitions (sha256),
    eval_set_sha    CHAR(64) NOT NULL REFERENCES definitions (sha256),
    grader_sha      CHAR(64) REFERENCES definitions (sha256),
    seed            BIGINT NOT NULL,
    samples         INT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'running'
                    CHECK (state IN ('running', 'paused', 'capped', 'cancelled', 'concluded')),
    cap_usd         NUMERIC(18,10) NOT NULL,
    prices_as_of    TEXT,
    stop_reason     TEXT,
    reserved_usd    NUMERIC(18,10) NOT NULL DEFAULT 0,
    spent_usd       NUMERIC(18,10) NOT NULL DEFAULT 0,
    git_sha         TEXT,
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    concluded_at    TIMESTAMPTZ,
    result          JSON
) WITH (fillfactor = 50);
COMMENT ON TABLE bakeoffs IS 'Runs started together, and the one budget they share.';
COMMENT ON COLUMN bakeoffs.uid IS 'Namespace of the queue ids of its jobs, so that two databases may share a broker.';
COMMENT ON COLUMN bakeoffs.reserved_usd IS 'Worst case of the calls in flight; spent + reserved never exceeds the cap.';
COMMENT ON COLUMN bakeoffs.stop_reason IS 'Which cap stopped it.';
COMMENT ON COLUMN bakeoffs.result IS 'The evalq.bakeoff/1 document, written when the last run concludes.';
ALTER TABLE eval_runs ADD FOREIGN KEY (bakeoff_id) REFERENCES bakeoffs (id);

CREATE TABLE runs (
    id              BIGINT PRIMARY KEY DEFAULT nextval('eval_runs_id_seq'),
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    judge           TEXT NOT NULL,
    vendor          TEXT NOT NULL,
    provider        TEXT NOT NULL,
    gate            TEXT NOT NULL,
    judge_sha       CHAR(64) NOT NULL REFERENCES definitions (sha256),
    n_jobs          INT NOT NULL,
    window_size     INT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'concluded')),
    pause_reason    TEXT,
    UNIQUE (bakeoff_id, judge)
);
COMMENT ON TABLE runs IS 'A run on its way; its eval_runs row, once written, has the same id.';
COMMENT ON COLUMN runs.window_size IS 'Messages out at once for its gate: about twenty seconds of its rate limit.';
COMMENT ON COLUMN runs.pause_reason IS 'Why this judge alone was stopped: its key, its quota.';

CREATE TABLE jobs (
    id              BIGSERIAL PRIMARY KEY,
    run_id          BIGINT NOT NULL REFERENCES runs (id),
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    case_id         TEXT NOT NULL,
    sample          INT NOT NULL,
    gate            TEXT NOT NULL,
    priority        SMALLINT NOT NULL DEFAULT 0,
    position        INT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'queued', 'leased', 'done')),
    not_before      TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    queued_at       TIMESTAMPTZ,
    lease_until     TIMESTAMPTZ,
    fence           BIGINT NOT NULL DEFAULT 0,
    attempt         INT NOT NULL DEFAULT 0,
    refill          BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (run_id, case_id, sample)
) WITH (fillfactor = 70);
CREATE INDEX idx_jobs_ready ON jobs (gate, priority, position, id) WHERE state = 'ready';
CREATE INDEX idx_jobs_outstanding ON jobs (gate) WHERE state IN ('queued', 'leased');
CREATE INDEX idx_jobs_open ON jobs (run_id) WHERE state <> 'done';
COMMENT ON TABLE jobs IS 'The queue of record: ready, queued (a message is out), leased (a worker has it), done.';
COMMENT ON COLUMN jobs.priority IS 'Smaller goes first: 0 for what someone waits for, 10 for drift checks.';
COMMENT ON COLUMN jobs.position IS 'Place in the order shuffled by the bake-off seed; judges share it, so they meet the same cases.';
COMMENT ON COLUMN jobs.fence IS 'Counts the leases: a worker that lost its lease cannot write any more.';
COMMENT ON COLUMN jobs.refill IS 'Claiming this job asks for the next window of its gate.';

CREATE TABLE completions (
    job_id          BIGINT PRIMARY KEY REFERENCES jobs (id),
    state           TEXT NOT NULL,
    answer          TEXT NOT NULL,
    model           TEXT,
    request_id      TEXT,
    input_tokens    INT NOT NULL,
    output_tokens   INT NOT NULL,
    usage           JSONB NOT NULL,
    latency_ms      INT NOT NULL,
    cost_usd        NUMERIC(18,10) NOT NULL,
    stored_at       TIMESTAMPTZ NOT NULL DEFAULT now()
);
COMMENT ON TABLE completions IS 'What the judge said: stored in the statement that settles its price.';

CREATE TABLE outcomes (
    job_id          BIGINT PRIMARY KEY REFERENCES jobs (id),
    run_id          BIGINT NOT NULL REFERENCES runs (id),
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    case_id         TEXT NOT NULL,
    sample          INT NOT NULL,
    verdict         TEXT NOT NULL CHECK (verdict IN ('passed', 'failed', 'errored')),
    error_kind      TEXT,
    message         TEXT,
    attempts        INT NOT NULL,
    finished_at     TIMESTAMPTZ NOT NULL DEFAULT now(),
    UNIQUE (run_id, case_id, sample)
);
CREATE INDEX idx_outcomes_bakeoff ON outcomes (bakeoff_id, run_id);
COMMENT ON TABLE outcomes IS 'The end of each job: exactly one row. An error is never a fail.';

CREATE TABLE grades (
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    grader          TEXT NOT NULL,
    passed          BOOLEAN,
    score           DOUBLE PRECISION,
    reason          TEXT NOT NULL,
    PRIMARY KEY (job_id, grader)
);
COMMENT ON TABLE grades IS 'One mark per grader and job.';
COMMENT ON COLUMN grades.passed IS 'NULL: the grader could not decide, the reason says why.';

CREATE TABLE call_journal (
    id              BIGSERIAL PRIMARY KEY,
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    purpose         TEXT NOT NULL CHECK (purpose IN ('answer', 'grade')),
    judge           TEXT NOT NULL,
    provider        TEXT NOT NULL,
    model           TEXT NOT NULL,
    key             TEXT NOT NULL,
    attempt         INT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'sent', 'settled', 'unknown')),
    reserved_usd    NUMERIC(18,10) NOT NULL,
    cost_usd        NUMERIC(18,10),
    usage           JSONB,
    request_id      TEXT,
    fault_kind      TEXT,
    fault_message   TEXT,
    latency_ms      INT,
    reserved_at     TIMESTAMPTZ NOT NULL DEFAULT now(),
    sent_at         TIMESTAMPTZ,
    settled_at      TIMESTAMPTZ
);
CREATE INDEX idx_call_journal_day ON call_journal (reserved_at);
CREATE INDEX idx_call_journal_job ON call_journal (job_id);
CREATE INDEX idx_call_journal_bakeoff ON call_journal (bakeoff_id);
COMMENT ON TABLE call_journal IS 'One row per call attempt: the dollars set aside for it and what became of them.';
COMMENT ON COLUMN call_journal.key IS 'Names the question: equal for every attempt at it.';
COMMENT ON COLUMN call_journal.state IS 'unknown: the provider may have billed it; its reservation counts as spent.';

CREATE TABLE verdict_cache (
    key             CHAR(64) PRIMARY KEY,
    verdict         TEXT NOT NULL,
    reason          TEXT NOT NULL,
    grader_model    TEXT NOT NULL,
    cost_usd        NUMERIC(18,10) NOT NULL,
    stored_at       TIMESTAMPTZ NOT NULL DEFAULT now()
);
COMMENT ON TABLE verdict_cache IS 'Verdicts of model graders by everything that went into them: answer, case, grader text, model, parameters, parser.';

CREATE TABLE verdict_uses (
    job_id          BIGINT NOT NULL REFERENCES jobs (id),
    key             CHAR(64) NOT NULL,
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    saved_usd       NUMERIC(18,10) NOT NULL,
    PRIMARY KEY (job_id, key)
);
CREATE INDEX idx_verdict_uses_bakeoff ON verdict_uses (bakeoff_id);
COMMENT ON TABLE verdict_uses IS 'Each time a stored verdict stood in for a call, and the dollars it saved.';
