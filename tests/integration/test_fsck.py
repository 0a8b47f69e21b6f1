"""fsck: a healthy database has no findings; whatever is broken is named, mended, and nothing else touched."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from fsck_breaks import BREAKS, CANCELLED, CAPPED, DONE, FINISHED, PAUSED, READY, RUNNING, job, run

from evalq.bakeoff.conclude import conclude, conclude_paused
from evalq.bakeoff.fsck import check, count_bakeoffs, repair
from evalq.bakeoff.fsck.checks import CHECKS
from evalq.definitions.judge import SimulatedJudge
from evalq.records import Completion, Verdict
from evalq.store import bakeoffs, calls, jobs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]
Record = Callable[..., int]
Contents = Callable[[], dict[str, list[str]]]

VERDICTS: dict[str, list[Verdict]] = {
    "sim-a": ["passed", "passed", "failed", "failed"],
    "sim-b": ["passed", "passed", "passed", "failed"],
    "sim-c": ["errored"] * 4,
}


@pytest.fixture
def pay(db: Database, judge: Callable[..., SimulatedJudge], answer: Completion) -> Callable[..., jobs.Job]:
    """Claims a job and pays for its answer, or only reserves it."""

    def claim_and_pay(job_id: int, *, is_answered: bool = True) -> jobs.Job:
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        call_id = calls.reserve(db, job, calls.Call(judge(), "answer", "key", 1, Decimal("0.001")))
        if is_answered:
            calls.settle(db, call_id or 0, calls.answered(answer))
        return job

    return claim_and_pay


@pytest.fixture
def finished(
    db: Database,
    sql: Sql,
    record: Record,
    judge: Callable[..., SimulatedJudge],
    run_ids: Ids,
    end_job: Callable[[int, Verdict], None],
) -> int:
    """A concluded bake-off of three judges, one of which has answered nothing; daily caps hold for all."""
    calls.set_daily_caps(db, {"day": Decimal(50), "provider:simulated": Decimal(20)})
    bakeoff_id = record(4, [judge(name) for name in VERDICTS])
    for job_id, name, case_id in sql(
        "SELECT j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id"
    ):
        end_job(job_id, VERDICTS[name][int(case_id[-1])])
    for run_id in run_ids(bakeoff_id):
        conclude(db, run_id)
    return bakeoff_id


@pytest.fixture
def running(
    db: Database, sql: Sql, record: Record, job_ids: Ids, end_job: Callable[..., None], pay: Any
) -> int:
    """A bake-off on its way: jobs done, leased with a call in flight, answered, queued, ready and ready."""
    bakeoff_id = record(6)
    done, leased, answered, queued, *_ = job_ids(bakeoff_id)
    end_job(done)
    pay(leased, is_answered=False)
    jobs.release(db, pay(answered), wait_s=0)
    sql("UPDATE jobs SET state = 'queued', queued_at = now() WHERE id = %s", queued)
    return bakeoff_id


@pytest.fixture
def stopped(
    db: Database,
    record: Record,
    judge: Callable[..., SimulatedJudge],
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> list[int]:
    """Bake-offs stopped at the cap, by the user with a judge concluded and one paused, and for good."""
    stopped = [record(2), record(2, [judge(name) for name in ("sim-a", "sim-b", "sim-c")]), record(2)]
    for bakeoff_id in stopped:
        for job_id in job_ids(bakeoff_id)[:2] if bakeoff_id == PAUSED else job_ids(bakeoff_id)[:1]:
            end_job(job_id)
    conclude(db, run_ids(PAUSED)[0])
    bakeoffs.pause_run(db, run_ids(PAUSED)[1], "401, set XAI_API_KEY")
    bakeoffs.cap(db, CAPPED, "the cap of the bake-off")
    bakeoffs.pause(db, PAUSED, "by hand")
    bakeoffs.move(db, CANCELLED, "cancelled", from_states=["running"])
    return stopped


@pytest.fixture
def full(finished: int, running: int, stopped: list[int]) -> list[int]:
    """A database with a bake-off in every state."""
    assert [finished, running, *stopped] == [FINISHED, RUNNING, CAPPED, PAUSED, CANCELLED]
    return [finished, running, *stopped]


@pytest.fixture
def contents(sql: Sql) -> Contents:
    """Everything in the database by table, but for the dates of conclusions."""

    def read() -> dict[str, list[str]]:
        tables = [name for (name,) in sql("SELECT tablename FROM pg_tables WHERE schemaname = 'evalq'")]
        rows = "SELECT (to_jsonb(t) - 'concluded_at')::text FROM {} t ORDER BY 1"
        return {table: [row for (row,) in sql(rows.format(table))] for table in tables}

    return read


def changed(before: dict[str, list[str]], after: dict[str, list[str]]) -> set[str]:
    return {table for table in before if before[table] != after[table]}


broken = pytest.mark.parametrize(
    ("name", "statement", "words", "touched"),
    BREAKS,
    ids=[f"{name}-{number}" for number, (name, *_) in enumerate(BREAKS)],
)


def test_bake_offs_in_every_state_have_no_findings(db: Database, full: list[int]) -> None:
    assert check(db) == []
    assert [check(db, bakeoff_id) for bakeoff_id in full] == [[]] * 5
    assert (count_bakeoffs(db), count_bakeoffs(db, RUNNING)) == (5, 1)


def test_an_empty_database_has_no_findings(db: Database) -> None:
    assert check(db) == []
    assert repair(db, []) == []


def test_every_repair_is_tried_below() -> None:
    repairable = {name for name, rule in CHECKS.items() if rule.repair}
    elsewhere = {"reviews"}  # test_review_fsck.py
    assert {name for name, *_ in BREAKS} | elsewhere == repairable


@broken
def test_what_is_broken_is_found_repaired_and_nothing_else_changed(
    db: Database,
    sql: Sql,
    full: list[int],
    contents: Contents,
    name: str,
    statement: str,
    words: str,
    touched: set[str],
) -> None:
    before = contents()
    sql(statement)
    found = check(db)
    assert [f for f in found if f.check == name and words in f.found and f.is_repairable]
    assert repair(db, found) == []
    after = contents()
    assert changed(before, after) == touched
    assert repair(db, found) == []
    assert contents() == after


def test_one_bake_off_is_checked_and_repaired_alone(db: Database, sql: Sql, full: list[int]) -> None:
    sql("UPDATE bakeoffs SET spent_usd = 1; UPDATE runs SET n_jobs = n_jobs + 1")
    sql("UPDATE jobs SET queued_at = NULL, state = 'queued' WHERE state = 'ready'")
    found = check(db)
    for bakeoff_id in full:
        assert check(db, bakeoff_id) == [finding for finding in found if finding.bakeoff_id == bakeoff_id]
    remaining = repair(db, check(db, CAPPED), CAPPED)
    assert [(finding.check, finding.bakeoff_id) for finding in remaining] == [("jobs", CAPPED)]
    mine = ("queue", "money")
    others = [f for f in found if f.bakeoff_id != CAPPED or f.check not in mine]
    assert check(db) == others


@pytest.mark.parametrize(
    ("name", "statement", "subject", "words"),
    [
        (
            "jobs",
            f"UPDATE runs SET n_jobs = 9 WHERE id = {run(CAPPED, 0)}",
            "(sim-a)",
            "2 jobs, 9 were planned",
        ),
        (
            "cap",
            f"UPDATE bakeoffs SET cap_usd = 0.00001 WHERE id = {CAPPED}",
            "bake-off 3",
            "its cap is 0.00001",
        ),
        (
            "daily cap",
            "UPDATE spending_caps SET cap_usd = 0.0001 WHERE scope LIKE 'provider:%'",
            "provider:simulated 2",
            "the cap is 0.0001",
        ),
    ],
)
def test_what_no_program_may_decide_is_said_and_left(
    db: Database,
    sql: Sql,
    full: list[int],
    contents: Contents,
    name: str,
    statement: str,
    subject: str,
    words: str,
) -> None:
    sql(statement)
    (finding,), before = check(db), contents()
    assert (finding.check, finding.is_repairable) == (name, False)
    assert subject in finding.subject
    assert words in finding.found
    assert finding.remedy.startswith("no repair")
    assert repair(db, [finding]) == [finding]
    assert contents() == before


def test_two_outcomes_of_one_job_are_found_even_without_the_constraint(
    db: Database, sql: Sql, full: list[int], contents: Contents
) -> None:
    before = contents()
    sql("ALTER TABLE outcomes DROP CONSTRAINT outcomes_run_id_case_id_sample_key")
    sql(f"UPDATE outcomes SET case_id = 'case-0001' WHERE run_id = {run(FINISHED, 0)} AND case_id ~ '0$'")
    found = check(db)
    assert [f.found for f in found if f.check == "duplicate"] == ["2 outcomes for one job"]
    assert repair(db, found) == []
    assert contents() == before


def test_an_answer_that_came_after_its_job_was_done_is_no_loss(
    db: Database,
    sql: Sql,
    record: Record,
    job_ids: Ids,
    pay: Any,
    end_job: Callable[..., None],
    answer: Completion,
) -> None:
    first = pay(job_ids(record(2))[0], is_answered=False)
    sql("UPDATE jobs SET lease_until = now() - interval '1 hour' WHERE id = %s", first.id)
    jobs.return_expired(db)
    end_job(first.id)
    sql("DELETE FROM completions")
    calls.settle(db, 1, calls.answered(answer))
    assert [finding.check for finding in check(db)] == ["verdict"]


def test_a_job_under_a_valid_lease_is_left_to_its_worker(
    db: Database, sql: Sql, full: list[int], contents: Contents
) -> None:
    sql(
        "UPDATE jobs SET state = 'leased', lease_until = NULL WHERE bakeoff_id = %s AND state <> 'done'",
        RUNNING,
    )
    stale = check(db)
    assert [finding.check for finding in stale] == ["lease"] * 5
    sql("UPDATE jobs SET lease_until = now() + interval '1 minute' WHERE state = 'leased'")
    before = contents()
    assert repair(db, stale) == []
    assert contents() == before


def test_an_outcome_beside_a_valid_lease_is_about_to_be_right(
    db: Database, sql: Sql, full: list[int], contents: Contents
) -> None:
    sql(f"UPDATE jobs SET state = 'leased', lease_until = now() + interval '1 minute' WHERE id = {DONE}")
    assert check(db) == []
    sql(f"UPDATE jobs SET lease_until = now() - interval '1 second' WHERE id = {DONE}")
    (finding,) = check(db)
    assert (finding.check, finding.found) == ("outcome", "leased though its outcome is passed")
    (described,) = sql(f"SELECT format('job %s (sim-a, %s)', id, case_id) FROM jobs WHERE id = {DONE}")
    assert finding.subject == described[0]


def test_a_job_that_is_being_changed_is_passed_over_and_not_waited_for(
    db: Database, sql: Sql, full: list[int]
) -> None:
    sql(f"UPDATE jobs SET state = 'leased' WHERE id = {READY}")
    found = check(db)
    with db.transaction() as tx:
        tx.rows("lock_idle_jobs", job_ids=[found[0].key])
        assert [finding.check for finding in repair(db, found)] == ["lease"]
    assert repair(db, found) == []


def test_a_reopened_bake_off_is_paused_until_the_user_pays_for_it(
    db: Database, sql: Sql, full: list[int]
) -> None:
    sql(f"DELETE FROM completions WHERE job_id = {job(FINISHED, 0)}")
    assert repair(db, check(db, FINISHED), FINISHED) == []
    bakeoff, (first, *others) = bakeoffs.get(db, FINISHED), bakeoffs.runs(db, FINISHED)
    assert (bakeoff.state, bakeoff.result) == ("paused", None)
    assert bakeoff.stop_reason == "fsck found jobs that have not ended"
    assert (first.state, [run.state for run in others]) == ("running", ["concluded", "concluded"])
    assert sql("SELECT job_id, answer FROM superseded_outcomes") == sql(f"SELECT {job(FINISHED, 0)}, NULL")
    assert jobs.claim(db, sql("SELECT " + job(FINISHED, 0))[0][0], lease_s=60) is None


def test_a_row_written_again_keeps_its_date_and_notes(db: Database, sql: Sql, finished: int) -> None:
    kept = "SELECT id, finished_at, notes FROM eval_runs ORDER BY id"
    sql("UPDATE eval_runs SET finished_at = now() + interval '1 day', notes = 'mine'")
    before = sql(kept)
    sql("UPDATE eval_runs SET n_error = 9")
    assert repair(db, check(db)) == []
    assert sql(kept) == before


def test_dollars_are_summed_up_right_while_calls_are_made(
    db: Database,
    sql: Sql,
    record: Record,
    job_ids: Ids,
    judge: Callable[..., SimulatedJudge],
    answer: Completion,
    at_once: Callable[..., list[Any]],
) -> None:
    calls.set_daily_caps(db, {"day": Decimal(50), "provider:simulated": Decimal(20)})
    waiting = job_ids(record(4))
    sql("UPDATE bakeoffs SET spent_usd = 1; UPDATE spending SET spent_usd = 1, reserved_usd = 1")
    found = check(db)
    assert [finding.check for finding in found] == ["money"] + ["daily money"] * 4

    def call_or_repair() -> None:
        held = jobs.claim(db, waiting.pop(), lease_s=60) if len(waiting) > 1 else None
        for attempt in range(25):
            if held is None:
                repair(db, found)
                continue
            call_id = calls.reserve(db, held, calls.Call(judge(), "answer", "key", attempt, Decimal("0.001")))
            calls.settle(db, call_id or 0, calls.answered(answer))

    at_once(call_or_repair, 4)
    assert check(db) == []
    assert sql("SELECT spent_usd FROM bakeoffs") == sql("SELECT sum(cost_usd) FROM call_journal")


def test_a_bake_off_that_goes_on_without_its_paused_judge_has_no_findings(
    db: Database,
    record: Record,
    judge: Callable[..., SimulatedJudge],
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    bakeoff_id = record(2, [judge("sim-a"), judge("sim-b")])
    bakeoffs.pause_run(db, run_ids(bakeoff_id)[1], "401")
    for job_id in job_ids(bakeoff_id)[:2]:
        end_job(job_id)
    conclude(db, run_ids(bakeoff_id)[0])
    conclude_paused(db, bakeoff_id)
    assert bakeoffs.get(db, bakeoff_id).state == "concluded"
    assert check(db) == []
    bakeoffs.move(db, bakeoff_id, "running", from_states=["concluded"])
    assert [finding.check for finding in check(db)] == ["state"]


def test_agreement_over_several_samples_is_counted_as_the_conclusion_counts_it(
    db: Database,
    sql: Sql,
    record: Record,
    judge: Callable[..., SimulatedJudge],
    run_ids: Ids,
    end_job: Callable[[int, Verdict], None],
) -> None:
    said: tuple[Verdict, ...] = ("passed", "failed", "errored", "passed", "passed", "failed", "errored")
    bakeoff_id = record(6, [judge(name) for name in ("sim-a", "sim-b", "sim-c")], samples=3)
    for number, (job_id,) in enumerate(sql("SELECT id FROM jobs ORDER BY run_id, case_id, sample")):
        end_job(job_id, said[number % 7])
    for run_id in run_ids(bakeoff_id):
        conclude(db, run_id)
    assert len(sql("SELECT DISTINCT kappa FROM eval_kappa WHERE NOT degenerate")) > 1
    assert check(db) == []
