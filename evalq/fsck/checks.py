"""The table of checks: what must hold of every database, in the order it is mended."""

from evalq.fsck import repairs
from evalq.fsck.agreement import find_wrong_kappas
from evalq.fsck.finding import Check, rows_of
from evalq.fsck.holdout_logs import find_broken_logs
from evalq.fsck.reviews import find_stale_reviews

_BAKEOFF = "bake-off {bakeoff_id}"
_RUN = "run {id} ({judge})"
_JOB = "job {id} ({judge}, {case_id})"
_DAY = "{scope} {day}"

CHECKS: dict[str, Check] = {
    "lease": Check(
        rows_of("stuck_leases"),
        _JOB,
        "leased without an end of the lease",
        "would put it back and count its calls in flight as spent",
        repairs.put_back_stuck,
    ),
    "outcome": Check(
        rows_of("open_jobs_with_outcome"),
        _JOB,
        "{state} though its outcome is {verdict}",
        "would mark it done",
        repairs.end_open,
    ),
    "expired": Check(
        rows_of("forgotten_leases"),
        _JOB,
        "its lease ran out {minutes} min ago",
        "reap will return it; would return it now",
        repairs.return_expired,
    ),
    "queue": Check(
        rows_of("stuck_messages"),
        _JOB,
        "queued without saying since when",
        "would put it back to be published again",
        repairs.put_back_stuck,
    ),
    "key": Check(
        rows_of("misplaced_outcomes"),
        _JOB,
        "its outcome is kept under run {kept_run}, case {kept_case}, sample {kept_sample}",
        "would give it the key of its job",
        repairs.place_outcomes,
    ),
    "duplicate": Check(
        rows_of("repeated_outcomes"),
        "{judge}, {case_id}, sample {sample}",
        "{n} outcomes for one job",
        "no repair of its own: outcomes under a wrong key are moved, any other must be removed by hand",
    ),
    "jobs": Check(
        rows_of("miscounted_runs"),
        _RUN,
        "{n} jobs, {n_jobs} were planned",
        "no repair: rows were added or removed by hand; start a new bake-off",
    ),
    "verdict": Check(
        rows_of("invented_verdicts"),
        _JOB,
        "{verdict} though its answer {answer}",
        "would set the verdict aside and have it asked again on resume",
        repairs.take_back_verdicts,
    ),
    "end": Check(
        rows_of("jobs_without_outcome"),
        _JOB,
        "done without an outcome",
        "would put it back to be graded again on resume",
        repairs.put_back_endless,
    ),
    "call": Check(
        rows_of("orphaned_calls"),
        "call {call} of job {id} ({judge}, {case_id})",
        "in flight though the job is {state}: {reserved_usd} stay reserved",
        "would count the reservation as spent",
        repairs.close_orphaned,
    ),
    "answer": Check(
        rows_of("lost_answers"),
        _JOB,
        "its answer was paid for ({cost_usd}) and is not there",
        "would have it asked again from the first try",
        repairs.ask_anew,
    ),
    "money": Check(
        rows_of("wrong_budgets"),
        _BAKEOFF,
        "{name} {usd} but the journal sums to {journal_usd}",
        "would recompute it",
        repairs.recompute_budget,
    ),
    "daily money": Check(
        rows_of("wrong_spending"),
        _DAY,
        "{name} {usd} but the journal sums to {journal_usd}",
        "would recompute it",
        repairs.recompute_spending,
    ),
    "cap": Check(
        rows_of("overspent_bakeoffs"),
        _BAKEOFF,
        "{usd} spent and reserved, its cap is {cap_usd}",
        "no repair: a call cost more than its worst case; `evalq inspect {bakeoff_id} --calls` shows which",
    ),
    "daily cap": Check(
        rows_of("overspent_days"),
        _DAY,
        "{usd} spent and reserved, the cap is {cap_usd}",
        "no repair: nothing is called until tomorrow (UTC), unless the cap was lowered and is raised again",
    ),
    "reviews": Check(
        find_stale_reviews,
        "item {token} ({case_id})",
        "{found}",
        "would grade it by its reviews",
        repairs.regrade_reviews,
    ),
    "early": Check(
        rows_of("early_eval_runs"),
        _RUN,
        "{found}",
        "would remove the row until the last job has ended",
        repairs.redo_runs,
    ),
    "row": Check(
        rows_of("missing_eval_runs"),
        _RUN,
        "concluded without a row in eval_runs",
        "would conclude it again",
        repairs.redo_runs,
    ),
    "counts": Check(
        rows_of("wrong_eval_runs"),
        _RUN,
        "its row says {kept} (cases, passed, failed, errored, pending), its outcomes {counts}",
        "would write the row again",
        repairs.redo_runs,
    ),
    "conclusion": Check(
        rows_of("unconcluded_runs"),
        _RUN,
        "all {n_jobs} jobs are done and it is not concluded",
        "reap will conclude it; would conclude it now",
        repairs.redo_runs,
    ),
    "unfinished": Check(
        rows_of("half_concluded_bakeoffs"),
        _BAKEOFF,
        "concluded while {judges} is on its way",
        "would pause it, for `evalq resume`",
        repairs.reopen_bakeoff,
    ),
    "result": Check(
        rows_of("bakeoffs_without_result"),
        _BAKEOFF,
        "concluded without a result",
        "would conclude it again",
        repairs.redo_bakeoff,
    ),
    "state": Check(
        rows_of("unclosed_bakeoffs"),
        _BAKEOFF,
        "{state} though nothing is left to run",
        "would conclude it",
        repairs.redo_bakeoff,
    ),
    "stray kappa": Check(
        rows_of("stray_kappas"),
        "{judge} and {other}",
        "a kappa is stored, and {other} is of bake-off {other_id}",
        "would remove it",
        repairs.drop_stray_kappas,
    ),
    "kappa": Check(
        find_wrong_kappas,
        "{a} and {b}",
        "{found}",
        "would write the agreement of the bake-off again",
        repairs.redo_bakeoff,
    ),
    "holdout chain": Check(
        find_broken_logs,
        "holdout log of {task}, line {line}",
        "it {found}",
        "no repair: what was recorded is to stay; `evalq holdout verify-log --task {task}` compares the file",
    ),
}
