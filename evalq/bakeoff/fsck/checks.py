"""The table of checks: what must hold of every database, in the order it is mended."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalq.bakeoff.fsck import repairs
from evalq.bakeoff.holdout import log
from evalq.bakeoff.reviewed import find_stale
from evalq.results import Agreement
from evalq.store import fsck
from evalq.store.database import Database
from evalq.store.fsck import BrokenRow, Find, StoredKappa
from evalq.summary.comparisons import agreements

Repair = Callable[[Database, int, Sequence[int]], None]
"""Repairs the rows with these ids in one bake-off; 0 for rows that belong to none."""


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

    def _finding(self, name: str, row: BrokenRow) -> Inconsistency:
        named = {column: _plain(value) for column, value in row.values.items()}
        named |= {"bakeoff_id": row.bakeoff_id, "id": row.id}
        return Inconsistency(
            name,
            row.bakeoff_id,
            self.subject.format_map(named),
            self.found.format_map(named),
            self.remedy.format_map(named),
            self.repair is not None,
            row.id,
        )


def _plain(value: object) -> object:
    """Dollars without needless zeros."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


_TOLERANCE = 0.00006
"""The column keeps four places."""


def find_wrong_kappas(db: Database, bakeoff_id: int | None) -> list[BrokenRow]:
    """Pairs of judges whose stored kappa is missing, extra, or not what the verdicts say."""
    broken = []
    for compared in fsck.compared_bakeoffs(db, bakeoff_id):
        for wrong in _compare(fsck.stored_kappas(db, compared), _agreements(db, compared)):
            broken.append(BrokenRow(compared, compared, wrong))
    return broken


def _agreements(db: Database, bakeoff_id: int) -> list[Agreement]:
    """The agreement of a bake-off's judges, from their votes alone: a tenth of the whole result's work."""
    judges = fsck.judge_votes(db, bakeoff_id)
    cases = sorted({case for judge in judges for case in judge.votes})
    vectors = {judge.judge: [judge.votes.get(case) for case in cases] for judge in judges}
    return agreements(vectors, {judge.judge: judge.vendor for judge in judges})


def _compare(kept: Sequence[StoredKappa], computed: Sequence[Agreement]) -> Iterator[dict[str, str]]:
    """Pairs are unordered: which judge is named first goes by rank, and a late price may change that."""
    stored = {frozenset((kappa.a, kappa.b)): kappa for kappa in kept}
    times = Counter(frozenset((kappa.a, kappa.b)) for kappa in kept)
    expected = {frozenset((pair.a, pair.b)): pair for pair in computed}
    for pair in sorted(expected.keys() | stored.keys(), key=sorted):
        if found := _difference(stored.get(pair), expected.get(pair), times[pair]):
            a, b = sorted(pair) if len(pair) > 1 else [*pair, *pair]
            yield {"a": a, "b": b, "found": found}


def _difference(kept: StoredKappa | None, computed: Agreement | None, times: int) -> str | None:
    if kept is None:
        return "no kappa is stored"
    if computed is None:
        return "a kappa is stored though there is nothing to compare"
    if times > 1:
        return f"{times} kappas are stored"
    if _is_equal(kept, computed):
        return None
    said = "undefined" if computed.kappa is None else computed.kappa
    return f"kappa {kept.kappa.normalize():f} over {kept.n} cases, the verdicts say {said} over {computed.n}"


def _is_equal(kept: StoredKappa, computed: Agreement) -> bool:
    """A constant rater has no kappa; the number stored for it is a convention."""
    if (kept.n, kept.degenerate) != (computed.n, computed.degenerate):
        return False
    return computed.kappa is None or abs(float(kept.kappa) - computed.kappa) < _TOLERANCE


def find_stale_reviews(db: Database, bakeoff_id: int | None) -> list[BrokenRow]:
    """Items with enough reviews whose grades still wait, or say something else."""
    broken = []
    for reviewed, found in find_stale(db, bakeoff_id):
        item = reviewed.item
        values = {"token": item.token, "case_id": item.case_id, "found": found}
        broken.append(BrokenRow(item.bakeoff_id, item.id, values))
    return broken


def find_broken_logs(db: Database, bakeoff_id: int | None) -> list[BrokenRow]:
    """Lines of holdout logs that were edited, removed, moved or put in; a log belongs to no one bake-off."""
    if bakeoff_id is not None:
        return []
    broken = []
    for task in log.logged_tasks(db):
        for found in log.find_breaks(db, task):
            values = {"task": task, "line": found.line, "found": found.found}
            broken.append(BrokenRow(None, found.line, values))
    return broken


_BAKEOFF = "bake-off {bakeoff_id}"
_RUN = "run {id} ({judge})"
_JOB = "job {id} ({judge}, {case_id})"
_DAY = "{scope} {day}"

CHECKS: dict[str, ConsistencyCheck] = {
    "lease": ConsistencyCheck(
        fsck.find_stuck_leases,
        _JOB,
        "leased without an end of the lease",
        "would put it back and count its calls in flight as spent",
        repairs.put_back_stuck,
    ),
    "outcome": ConsistencyCheck(
        fsck.find_open_jobs_with_outcome,
        _JOB,
        "{state} though its outcome is {verdict}",
        "would mark it done",
        repairs.end_open,
    ),
    "expired": ConsistencyCheck(
        fsck.find_forgotten_leases,
        _JOB,
        "its lease ran out {minutes} min ago",
        "reap will return it; would return it now",
        repairs.return_expired,
    ),
    "queue": ConsistencyCheck(
        fsck.find_stuck_messages,
        _JOB,
        "queued without saying since when",
        "would put it back to be published again",
        repairs.put_back_stuck,
    ),
    "key": ConsistencyCheck(
        fsck.find_misplaced_outcomes,
        _JOB,
        "its outcome is kept under run {kept_run}, case {kept_case}, sample {kept_sample}",
        "would give it the key of its job",
        repairs.place_outcomes,
    ),
    "duplicate": ConsistencyCheck(
        fsck.find_repeated_outcomes,
        "{judge}, {case_id}, sample {sample}",
        "{n} outcomes for one job",
        "no repair of its own: outcomes under a wrong key are moved, any other must be removed by hand",
    ),
    "jobs": ConsistencyCheck(
        fsck.find_miscounted_runs,
        _RUN,
        "{n} jobs, {n_jobs} were planned",
        "no repair: rows were added or removed by hand; start a new bake-off",
    ),
    "verdict": ConsistencyCheck(
        fsck.find_invented_verdicts,
        _JOB,
        "{verdict} though its answer {answer}",
        "would set the verdict aside and have it asked again on resume",
        repairs.take_back_verdicts,
    ),
    "end": ConsistencyCheck(
        fsck.find_jobs_without_outcome,
        _JOB,
        "done without an outcome",
        "would put it back to be graded again on resume",
        repairs.put_back_endless,
    ),
    "call": ConsistencyCheck(
        fsck.find_orphaned_calls,
        "call {call} of job {id} ({judge}, {case_id})",
        "in flight though the job is {state}: {reserved_usd} stay reserved",
        "would count the reservation as spent",
        repairs.close_orphaned,
    ),
    "answer": ConsistencyCheck(
        fsck.find_lost_answers,
        _JOB,
        "its answer was paid for ({cost_usd}) and is not there",
        "would have it asked again from the first try",
        repairs.ask_again,
    ),
    "money": ConsistencyCheck(
        fsck.find_wrong_budgets,
        _BAKEOFF,
        "{name} {usd} but the journal sums to {journal_usd}",
        "would recompute it",
        repairs.recompute_budget,
    ),
    "daily money": ConsistencyCheck(
        fsck.find_wrong_spending,
        _DAY,
        "{name} {usd} but the journal sums to {journal_usd}",
        "would recompute it",
        repairs.recompute_spending,
    ),
    "cap": ConsistencyCheck(
        fsck.find_overspent_bakeoffs,
        _BAKEOFF,
        "{usd} spent and reserved, its cap is {cap_usd}",
        "no repair: a call cost more than its worst case; `evalq inspect {bakeoff_id} --calls` shows which",
    ),
    "daily cap": ConsistencyCheck(
        fsck.find_overspent_days,
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
        fsck.find_early_eval_runs,
        _RUN,
        "{found}",
        "would remove the row until the last job has ended",
        repairs.redo_runs,
    ),
    "row": ConsistencyCheck(
        fsck.find_missing_eval_runs,
        _RUN,
        "concluded without a row in eval_runs",
        "would conclude it again",
        repairs.redo_runs,
    ),
    "counts": ConsistencyCheck(
        fsck.find_wrong_eval_runs,
        _RUN,
        "its row says {kept} (cases, passed, failed, errored, pending), its outcomes {counts}",
        "would write the row again",
        repairs.redo_runs,
    ),
    "conclusion": ConsistencyCheck(
        fsck.find_unconcluded_runs,
        _RUN,
        "all {n_jobs} jobs are done and it is not concluded",
        "reap will conclude it; would conclude it now",
        repairs.redo_runs,
    ),
    "unfinished": ConsistencyCheck(
        fsck.find_half_concluded_bakeoffs,
        _BAKEOFF,
        "concluded while {judges} is on its way",
        "would pause it, for `evalq resume`",
        repairs.reopen_bakeoff,
    ),
    "result": ConsistencyCheck(
        fsck.find_bakeoffs_without_result,
        _BAKEOFF,
        "concluded without a result",
        "would conclude it again",
        repairs.redo_bakeoff,
    ),
    "state": ConsistencyCheck(
        fsck.find_unclosed_bakeoffs,
        _BAKEOFF,
        "{state} though nothing is left to run",
        "would conclude it",
        repairs.redo_bakeoff,
    ),
    "stray kappa": ConsistencyCheck(
        fsck.find_stray_kappas,
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
        "no repair: the log is never changed; `evalq holdout verify-log --task {task}` compares the file",
    ),
}
