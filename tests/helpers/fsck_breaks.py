"""Everything that can be broken in a database of bake-offs, each as a statement."""

FINISHED, RUNNING, CAPPED, PAUSED, CANCELLED = range(1, 6)


def job(bakeoff_id: int, place: int) -> str:
    """The n-th job of a bake-off, in SQL."""
    return f"(SELECT id FROM jobs WHERE bakeoff_id = {bakeoff_id} ORDER BY id OFFSET {place} LIMIT 1)"


def run(bakeoff_id: int, place: int) -> str:
    """The n-th run of a bake-off, in SQL."""
    return f"(SELECT id FROM runs WHERE bakeoff_id = {bakeoff_id} ORDER BY id OFFSET {place} LIMIT 1)"


DONE, LEASED, ANSWERED, QUEUED, READY = (job(RUNNING, place) for place in range(5))
AGGREGATES = {"runs", "eval_runs", "eval_kappa", "bakeoffs"}
COPY_ROW = f"""
INSERT INTO eval_runs SELECT copied.* FROM eval_runs e, jsonb_populate_record(NULL::eval_runs,
    to_jsonb(e) || jsonb_build_object('id', {run(RUNNING, 0)}, 'bakeoff_id', {RUNNING})) AS copied
WHERE e.id = {run(FINISHED, 0)}
"""
IN_FLIGHT = f"""
SELECT * FROM reserve_calls(jsonb_build_array(jsonb_build_object('bakeoff_id', {RUNNING}, 'job_id', {READY},
    'purpose', 'answer', 'judge', 'sim-a', 'provider', 'simulated', 'model', 'sim-a', 'key', 'key',
    'attempt', 1, 'usd', 0.001, 'margin', 0)))
"""
SWAP = f"""
ALTER TABLE outcomes DROP CONSTRAINT outcomes_run_id_case_id_sample_key;
UPDATE outcomes o SET case_id = (
    SELECT case_id FROM outcomes WHERE job_id = {job(FINISHED, 1)} + {job(FINISHED, 0)} - o.job_id)
WHERE job_id IN ({job(FINISHED, 0)}, {job(FINISHED, 1)});
ALTER TABLE outcomes ADD UNIQUE (run_id, case_id, sample)
"""
LOSE_ROW = f"""
DELETE FROM eval_kappa WHERE {run(FINISHED, 0)} IN (eval_run_id_a, eval_run_id_b);
DELETE FROM eval_runs WHERE id = {run(FINISHED, 0)}
"""
TURN_KAPPA = """
INSERT INTO eval_kappa SELECT eval_run_id_b, eval_run_id_a, kappa, n, ac1, degenerate FROM eval_kappa
"""

BREAKS: list[tuple[str, str, str, set[str]]] = [
    ("lease", f"UPDATE jobs SET state = 'leased' WHERE id = {READY}", "leased without an end", set()),
    (
        "outcome",
        f"UPDATE jobs SET state = 'ready' WHERE id = {DONE}",
        "ready though its outcome is passed",
        set(),
    ),
    (
        "expired",
        f"UPDATE jobs SET state = 'leased', lease_until = now() - interval '1 hour' WHERE id = {READY}",
        "its lease ran out 60 min ago",
        {"jobs"},
    ),
    (
        "queue",
        f"UPDATE jobs SET queued_at = NULL WHERE id = {QUEUED}",
        "queued without saying since",
        {"jobs"},
    ),
    ("key", f"UPDATE outcomes SET sample = 7 WHERE job_id = {DONE}", ", sample 7", set()),
    ("key", f"UPDATE outcomes SET run_id = {run(PAUSED, 0)} WHERE job_id = {DONE}", "kept under run", set()),
    ("key", SWAP, "its outcome is kept under run", set()),
    (
        "verdict",
        f"DELETE FROM completions WHERE job_id = {job(FINISHED, 0)}",
        "though its answer is missing",
        {*AGGREGATES, "jobs", "completions", "outcomes", "superseded_outcomes"},
    ),
    (
        "verdict",
        f"UPDATE completions SET state = 'refused' WHERE job_id = {DONE}",
        "passed though its answer is refused",
        {"jobs", "completions", "outcomes", "superseded_outcomes"},
    ),
    (
        "end",
        f"DELETE FROM outcomes WHERE job_id = {job(FINISHED, 0)}",
        "done without an outcome",
        {*AGGREGATES, "jobs", "outcomes"},
    ),
    ("end", f"DELETE FROM outcomes WHERE job_id = {DONE}", "done without an outcome", {"jobs", "outcomes"}),
    (
        "call",
        IN_FLIGHT,
        "in flight though the job is ready: 0.001 stay reserved",
        {"bakeoffs", "spending", "call_journal"},
    ),
    (
        "answer",
        f"DELETE FROM completions WHERE job_id = {ANSWERED}",
        "its answer was paid for (0.000034) and is not there",
        {"completions", "jobs"},
    ),
    (
        "money",
        f"UPDATE bakeoffs SET spent_usd = 0.4 WHERE id = {CAPPED}",
        "spent 0.4 but the journal sums to 0.000034",
        set(),
    ),
    (
        "money",
        f"UPDATE bakeoffs SET reserved_usd = 0 WHERE id = {RUNNING}",
        "reserved 0 but the journal sums to 0.001",
        set(),
    ),
    (
        "daily money",
        "UPDATE spending SET spent_usd = 1 WHERE scope = 'provider:simulated'",
        "spent 1 but the journal",
        set(),
    ),
    (
        "daily money",
        "DELETE FROM spending WHERE scope = 'provider:simulated'",
        "reserved 0 but the journal sums to 0.001",
        set(),
    ),
    ("early", COPY_ROW, "has its row in eval_runs while it is running", set()),
    (
        "early",
        f"UPDATE runs SET state = 'concluded' WHERE id = {run(RUNNING, 0)}",
        "concluded with 5 jobs open",
        set(),
    ),
    ("row", LOSE_ROW, "concluded without a row in eval_runs", {"eval_runs"}),
    (
        "counts",
        f"UPDATE eval_runs SET n_pass = 3, n_fail = 1 WHERE id = {run(FINISHED, 0)}",
        "its row says [4, 3, 1, 0, 0] (cases, passed, failed, errored, pending), "
        "its outcomes [4, 2, 2, 0, 0]",
        set(),
    ),
    (
        "conclusion",
        f"{LOSE_ROW}; UPDATE runs SET state = 'running' WHERE id = {run(FINISHED, 0)}",
        "all 4 jobs are done and it is not concluded",
        {"eval_runs"},
    ),
    (
        "unfinished",
        f"UPDATE bakeoffs SET state = 'concluded' WHERE id = {RUNNING}",
        "concluded while sim-a is on its way",
        {"bakeoffs"},
    ),
    (
        "result",
        f"UPDATE bakeoffs SET result = NULL WHERE id = {FINISHED}",
        "concluded without a result",
        set(),
    ),
    (
        "state",
        f"UPDATE bakeoffs SET state = 'cancelled' WHERE id = {FINISHED}",
        "cancelled though nothing is left to run",
        set(),
    ),
    (
        "stray kappa",
        f"INSERT INTO eval_kappa VALUES ({run(FINISHED, 0)}, {run(PAUSED, 0)}, 0.5, 2)",
        f"a kappa is stored, and sim-a is of bake-off {PAUSED}",
        set(),
    ),
    (
        "kappa",
        "UPDATE eval_kappa SET kappa = 0.9, n = 3",
        "kappa 0.9 over 3 cases, the verdicts say 0.5 over 4",
        set(),
    ),
    ("kappa", "DELETE FROM eval_kappa", "no kappa is stored", set()),
    ("kappa", TURN_KAPPA, "2 kappas are stored", set()),
    (
        "kappa",
        f"INSERT INTO eval_kappa VALUES ({run(FINISHED, 0)}, {run(FINISHED, 2)}, 0.5, 4)",
        "a kappa is stored though there is nothing to compare",
        set(),
    ),
]
"""What is broken and how, which words say so, and the tables that differ after the repair from before."""
