"""The table of checks: what must hold of every database, in the order it is mended."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalq.bakeoff.conclude import find_stale
from evalq.bakeoff.fsck import repairs
from evalq.bakeoff.holdout import log
from evalq.results import Agreement
from evalq.store.database import Database, Row
from evalq.summary.comparisons import agreements

Find = Callable[[Database, int | None], Sequence[Row]]
"""The offending rows of a bake-off, or of all: its id (None: the fleet's), theirs, and what words name."""

Repair = Callable[[Database, int, Sequence[int]], None]
"""Mends the rows with these ids in one bake-off; 0 for what belongs to none."""


@dataclass(frozen=True)
class Inconsistency:
    """One promise broken: by which check, where, how, and what a repair would do. `key` is its row's id."""

    check: str
    bakeoff_id: int | None
    subject: str
    found: str
    remedy: str
    is_repairable: bool
    key: int = 0


@dataclass(frozen=True)
class ConsistencyCheck:
    """Rows that should not exist, the words for each of them, and the repair, if a program may do it."""

    find: Find
    subject: str
    found: str
    remedy: str
    repair: Repair | None = None

    def findings(self, name: str, db: Database, bakeoff_id: int | None) -> list[Inconsistency]:
        """One finding per row."""
        return [self._finding(name, row) for row in self.find(db, bakeoff_id)]

    def _finding(self, name: str, row: Row) -> Inconsistency:
        named = {column: _plain(value) for column, value in row.items()}
        return Inconsistency(
            name,
            row["bakeoff_id"],
            self.subject.format_map(named),
            self.found.format_map(named),
            self.remedy.format_map(named),
            self.repair is not None,
            row["id"],
        )


def rows_of(query: str) -> Find:
    """A check that is one named query."""
    return lambda db, bakeoff_id: db.rows(query, bakeoff_id=bakeoff_id)


def _plain(value: object) -> object:
    """Dollars without needless zeros."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


_TOLERANCE = 0.00006
"""The column keeps four places."""


def find_wrong_kappas(db: Database, bakeoff_id: int | None) -> list[Row]:
    """Pairs of judges whose stored kappa is missing, extra, or not what the verdicts say."""
    return [
        {"bakeoff_id": row["id"], "id": row["id"], **wrong}
        for row in db.rows("compared_bakeoffs", bakeoff_id=bakeoff_id)
        for wrong in _compare(db.rows("kappas", bakeoff_id=row["id"]), _agreements(db, row["id"]))
    ]


def _agreements(db: Database, bakeoff_id: int) -> list[Agreement]:
    """The agreement of a bake-off's judges, from their votes alone: a tenth of the whole result's work."""
    rows = db.rows("votes", bakeoff_id=bakeoff_id)
    votes = {row["judge"]: dict(zip(row["cases"], row["votes"], strict=True)) for row in rows}
    cases = sorted({case for said in votes.values() for case in said})
    vectors = {judge: [said.get(case) for case in cases] for judge, said in votes.items()}
    return agreements(vectors, {row["judge"]: row["vendor"] for row in rows})


def _compare(kept: Sequence[Row], told: Sequence[Agreement]) -> Iterator[Row]:
    """Pairs are unordered: which judge is named first goes by rank, and a late price may change that."""
    stored = {frozenset((row["a"], row["b"])): row for row in kept}
    times = Counter(frozenset((row["a"], row["b"])) for row in kept)
    expected = {frozenset((pair.a, pair.b)): pair for pair in told}
    for pair in sorted(expected.keys() | stored.keys(), key=sorted):
        if found := _difference(stored.get(pair), expected.get(pair), times[pair]):
            a, b = sorted(pair) if len(pair) > 1 else [*pair, *pair]
            yield {"a": a, "b": b, "found": found}


def _difference(kept: Row | None, told: Agreement | None, times: int) -> str | None:
    if kept is None:
        return "no kappa is stored"
    if told is None:
        return "a kappa is stored though there is nothing to compare"
    if times > 1:
        return f"{times} kappas are stored"
    if _says(kept, told):
        return None
    said = "undefined" if told.kappa is None else told.kappa
    return (
        f"kappa {kept['kappa'].normalize():f} over {kept['n']} cases, the verdicts say {said} over {told.n}"
    )


def _says(kept: Row, told: Agreement) -> bool:
    """A constant rater has no kappa; the number stored for it is a convention."""
    if (kept["n"], kept["degenerate"]) != (told.n, told.degenerate):
        return False
    return told.kappa is None or abs(float(kept["kappa"]) - told.kappa) < _TOLERANCE


def find_stale_reviews(db: Database, bakeoff_id: int | None) -> list[Row]:
    """Items with enough reviews whose grades still wait, or say something else."""
    return [
        {
            "bakeoff_id": reviewed.item.bakeoff_id,
            "id": reviewed.item.id,
            "token": reviewed.item.token,
            "case_id": reviewed.item.case_id,
            "found": found,
        }
        for reviewed, found in find_stale(db, bakeoff_id)
    ]


def find_broken_logs(db: Database, bakeoff_id: int | None) -> list[Row]:
    """Lines of holdout logs that were edited, removed, moved or put in; a log belongs to no one bake-off."""
    if bakeoff_id is not None:
        return []
    return [
        {"bakeoff_id": None, "id": found.line, "task": task, "line": found.line, "found": found.found}
        for task in log.logged_tasks(db)
        for found in log.find_breaks(db, task)
    ]


_BAKEOFF = "bake-off {bakeoff_id}"
_RUN = "run {id} ({judge})"
_JOB = "job {id} ({judge}, {case_id})"
_DAY = "{scope} {day}"

CHECKS: dict[str, ConsistencyCheck] = {
    "lease": ConsistencyCheck(
        rows_of("stuck_leases"),
        _JOB,
        "leased without an end of the lease",
        "would put it back and count its calls in flight as spent",
        repairs.put_back_stuck,
    ),
    "outcome": ConsistencyCheck(
        rows_of("open_jobs_with_outcome"),
        _JOB,
        "{state} though its outcome is {verdict}",
        "would mark it done",
        repairs.end_open,
    ),
    "expired": ConsistencyCheck(
        rows_of("forgotten_leases"),
        _JOB,
        "its lease ran out {minutes} min ago",
        "reap will return it; would return it now",
        repairs.return_expired,
    ),
    "queue": ConsistencyCheck(
        rows_of("stuck_messages"),
        _JOB,
        "queued without saying since when",
        "would put it back to be published again",
        repairs.put_back_stuck,
    ),
    "key": ConsistencyCheck(
        rows_of("misplaced_outcomes"),
        _JOB,
        "its outcome is kept under run {kept_run}, case {kept_case}, sample {kept_sample}",
        "would give it the key of its job",
        repairs.place_outcomes,
    ),
    "duplicate": ConsistencyCheck(
        rows_of("repeated_outcomes"),
        "{judge}, {case_id}, sample {sample}",
        "{n} outcomes for one job",
        "no repair of its own: outcomes under a wrong key are moved, any other must be removed by hand",
    ),
    "jobs": ConsistencyCheck(
        rows_of("miscounted_runs"),
        _RUN,
        "{n} jobs, {n_jobs} were planned",
        "no repair: rows were added or removed by hand; start a new bake-off",
    ),
    "verdict": ConsistencyCheck(
        rows_of("invented_verdicts"),
        _JOB,
        "{verdict} though its answer {answer}",
        "would set the verdict aside and have it asked again on resume",
        repairs.take_back_verdicts,
    ),
    "end": ConsistencyCheck(
        rows_of("jobs_without_outcome"),
        _JOB,
        "done without an outcome",
        "would put it back to be graded again on resume",
        repairs.put_back_endless,
    ),
    "call": ConsistencyCheck(
        rows_of("orphaned_calls"),
        "call {call} of job {id} ({judge}, {case_id})",
        "in flight though the job is {state}: {reserved_usd} stay reserved",
        "would count the reservation as spent",
        repairs.close_orphaned,
    ),
    "answer": ConsistencyCheck(
        rows_of("lost_answers"),
        _JOB,
        "its answer was paid for ({cost_usd}) and is not there",
        "would have it asked again from the first try",
        repairs.ask_anew,
    ),
    "money": ConsistencyCheck(
        rows_of("wrong_budgets"),
        _BAKEOFF,
        "{name} {usd} but the journal sums to {journal_usd}",
        "would recompute it",
        repairs.recompute_budget,
    ),
    "daily money": ConsistencyCheck(
        rows_of("wrong_spending"),
        _DAY,
        "{name} {usd} but the journal sums to {journal_usd}",
        "would recompute it",
        repairs.recompute_spending,
    ),
    "cap": ConsistencyCheck(
        rows_of("overspent_bakeoffs"),
        _BAKEOFF,
        "{usd} spent and reserved, its cap is {cap_usd}",
        "no repair: a call cost more than its worst case; `evalq inspect {bakeoff_id} --calls` shows which",
    ),
    "daily cap": ConsistencyCheck(
        rows_of("overspent_days"),
        _DAY,
        "{usd} spent and reserved, the cap is {cap_usd}",
        "no repair: nothing is called until tomorrow (UTC), unless the cap was lowered and is raised again",
    ),
    "reviews": ConsistencyCheck(
        find_stale_reviews,
        "item {token} ({case_id})",
        "{found}",
        "would grade it by its reviews",
        repairs.regrade_reviews,
    ),
    "early": ConsistencyCheck(
        rows_of("early_eval_runs"),
        _RUN,
        "{found}",
        "would remove the row until the last job has ended",
        repairs.redo_runs,
    ),
    "row": ConsistencyCheck(
        rows_of("missing_eval_runs"),
        _RUN,
        "concluded without a row in eval_runs",
        "would conclude it again",
        repairs.redo_runs,
    ),
    "counts": ConsistencyCheck(
        rows_of("wrong_eval_runs"),
        _RUN,
        "its row says {kept} (cases, passed, failed, errored, pending), its outcomes {counts}",
        "would write the row again",
        repairs.redo_runs,
    ),
    "conclusion": ConsistencyCheck(
        rows_of("unconcluded_runs"),
        _RUN,
        "all {n_jobs} jobs are done and it is not concluded",
        "reap will conclude it; would conclude it now",
        repairs.redo_runs,
    ),
    "unfinished": ConsistencyCheck(
        rows_of("half_concluded_bakeoffs"),
        _BAKEOFF,
        "concluded while {judges} is on its way",
        "would pause it, for `evalq resume`",
        repairs.reopen_bakeoff,
    ),
    "result": ConsistencyCheck(
        rows_of("bakeoffs_without_result"),
        _BAKEOFF,
        "concluded without a result",
        "would conclude it again",
        repairs.redo_bakeoff,
    ),
    "state": ConsistencyCheck(
        rows_of("unclosed_bakeoffs"),
        _BAKEOFF,
        "{state} though nothing is left to run",
        "would conclude it",
        repairs.redo_bakeoff,
    ),
    "stray kappa": ConsistencyCheck(
        rows_of("stray_kappas"),
        "{judge} and {other}",
        "a kappa is stored, and {other} is of bake-off {other_id}",
        "would remove it",
        repairs.drop_stray_kappas,
    ),
    "kappa": ConsistencyCheck(
        find_wrong_kappas,
        "{a} and {b}",
        "{found}",
        "would write the agreement of the bake-off again",
        repairs.redo_bakeoff,
    ),
    "holdout chain": ConsistencyCheck(
        find_broken_logs,
        "holdout log of {task}, line {line}",
        "it {found}",
        "no repair: what was recorded is to stay; `evalq holdout verify-log --task {task}` compares the file",
    ),
}
