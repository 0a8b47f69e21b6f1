"""The spool: answers kept on disk while the database is away, and stored when it is back, whoever does it."""

import asyncio
import json
import logging
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalq.calling.spool import Spool
from evalq.definitions.judge import SimulatedJudge
from evalq.errors import ProviderFault, Refused, Unreachable
from evalq.records import Completion, Outcome
from evalq.store import calls, jobs
from evalq.store.batches import Batches
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]

WORST = Decimal("0.001")
JOURNAL = "SELECT state, cost_usd, fault_kind FROM call_journal ORDER BY id"
BUDGET = "SELECT spent_usd, reserved_usd FROM bakeoffs"
KEPT = "SELECT answer FROM completions"
EXPIRE = "UPDATE jobs SET lease_until = now() - interval '1 second' WHERE state = 'leased'"


@dataclass(frozen=True)
class Sent:
    """A call in flight."""

    job: jobs.Job
    call_id: int


@pytest.fixture
def sent(
    db: Database, record: Callable[..., int], job_ids: Ids, judge: Callable[..., SimulatedJudge]
) -> list[Sent]:
    """The calls of four jobs, in flight."""
    flying = []
    for job_id in job_ids(record(4)):
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        call_id = calls.reserve(db, job, calls.Call(judge(), "answer", f"key-{job_id}", 1, WORST))
        assert call_id
        flying.append(Sent(job, call_id))
    return flying


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def cut_off(db: Database, folder: Path) -> Spool:
    """The spool of a worker that has lost its database."""
    spool_in(folder, db).require_room()  # as before every call
    return cut_off_in(folder, db)


def spool_in(folder: Path, db: Database) -> Spool:
    """The spool of a worker whose database is there."""
    return Spool(folder, db, Batches(db.url, lease_s=60))


def cut_off_in(folder: Path, db: Database) -> Spool:
    nowhere = Batches(f"postgresql:///evalq?host={folder}/no-server", lease_s=60, patience_s=0)
    return Spool(folder, db, nowhere)


def keep(spool: Spool, call: Sent, settlement: calls.Settlement) -> None:
    with pytest.raises(Unreachable):
        asyncio.run(spool.settle(call.call_id, settlement))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*/*"))


def test_an_answer_is_kept_until_the_database_is_back(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent], answer: Completion
) -> None:
    keep(cut_off, sent[0], calls.answered(answer))
    assert files(folder) == [f"{sent[0].call_id}.json"]
    assert spool_in(folder, db).replay() == 1
    assert files(folder) == []
    assert sql(JOURNAL)[0] == ("settled", answer.cost_usd, None)
    assert sql(KEPT) == [(answer.text,)]
    assert sql(BUDGET) == [(answer.cost_usd, 3 * WORST)]


def test_with_the_database_there_nothing_is_kept(
    db: Database,
    batches: Batches,
    runner: asyncio.Runner,
    sql: Sql,
    folder: Path,
    sent: list[Sent],
    answer: Completion,
) -> None:
    runner.run(Spool(folder, db, batches).settle(sent[0].call_id, calls.answered(answer)))
    assert files(folder) == []
    assert sql(KEPT) == [(answer.text,)]


def test_failed_calls_are_kept_as_answers_are(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent]
) -> None:
    keep(cut_off, sent[0], calls.failed(ProviderFault("ambiguous", "reset by peer")))
    keep(cut_off, sent[1], calls.failed(ProviderFault("rate", "slow down")))
    assert spool_in(folder, db).replay() == 2
    assert sql(JOURNAL)[:2] == [("unknown", WORST, "ambiguous"), ("settled", 0, "rate")]
    assert sql(BUDGET) == [(WORST, 2 * WORST)]
    assert sql(KEPT) == []


def test_what_is_stored_twice_counts_once(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent], answer: Completion
) -> None:
    for _ in range(2):  # killed between storing and removing the file, say
        keep(cut_off, sent[0], calls.answered(answer))
        spool_in(folder, db).replay()
    assert sql(BUDGET) == [(answer.cost_usd, 3 * WORST)]
    assert sql(KEPT) == [(answer.text,)]


def test_workers_may_store_the_same_answers_at_once(
    db: Database,
    sql: Sql,
    cut_off: Spool,
    folder: Path,
    sent: list[Sent],
    answer: Completion,
    at_once: Callable[..., list[Any]],
) -> None:
    for call in sent:
        keep(cut_off, call, calls.answered(answer))
    stored = at_once(spool_in(folder, db).replay, 6)
    assert len(stored) == 6
    assert sum(stored) >= len(sent)
    assert files(folder) == []
    assert sql(BUDGET) == [(4 * answer.cost_usd, 0)]
    assert sql("SELECT count(*) FROM completions") == [(4,)]


def test_a_late_answer_is_stored_and_its_price_corrected(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent], answer: Completion
) -> None:
    keep(cut_off, sent[0], calls.answered(answer))
    sql(EXPIRE)
    jobs.return_expired(db)
    assert sql(JOURNAL)[0] == ("unknown", WORST, "lost")
    assert sql(BUDGET) == [(4 * WORST, 0)]
    spool_in(folder, db).replay()
    assert sql(JOURNAL)[0] == ("settled", answer.cost_usd, None)
    assert sql(BUDGET) == [(3 * WORST + answer.cost_usd, 0)]
    again = jobs.claim(db, sent[0].job.id, lease_s=60)
    assert again
    assert again.completion
    assert again.completion.text == answer.text


def test_a_late_answer_to_a_job_that_has_ended_changes_its_price_only(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent], answer: Completion
) -> None:
    keep(cut_off, sent[0], calls.answered(answer))
    sql(EXPIRE)
    jobs.return_expired(db)
    again = jobs.claim(db, sent[0].job.id, lease_s=60)
    assert again
    assert jobs.finish(db, again, Outcome("errored", "call_permanent", "given up"), [])
    spool_in(folder, db).replay()
    assert sql(BUDGET) == [(3 * WORST + answer.cost_usd, 0)]
    assert sql(KEPT) == []
    assert sql("SELECT verdict FROM outcomes") == [("errored",)]


def test_a_late_word_that_a_lost_call_may_have_been_billed_adds_nothing(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent]
) -> None:
    keep(cut_off, sent[0], calls.failed(ProviderFault("ambiguous", "reset by peer")))
    sql(EXPIRE)
    jobs.return_expired(db)
    spool_in(folder, db).replay()
    assert sql(JOURNAL)[0] == ("unknown", WORST, "lost")
    assert sql(BUDGET) == [(4 * WORST, 0)]


def test_an_answer_that_came_home_while_the_lease_ran_out_makes_no_suspect(
    db: Database, sql: Sql, cut_off: Spool, folder: Path, sent: list[Sent], answer: Completion
) -> None:
    keep(cut_off, sent[0], calls.answered(answer))
    sql(EXPIRE)
    spool_in(folder, db).replay()
    jobs.return_expired(db)
    assert sql("SELECT max(losses) FROM jobs") == [(0,)]


def test_files_that_cannot_be_stored_are_set_aside_and_drafts_left_alone(
    db: Database,
    sql: Sql,
    cut_off: Spool,
    folder: Path,
    sent: list[Sent],
    answer: Completion,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for call in sent:
        keep(cut_off, call, calls.answered(answer))
    spool = next(folder.iterdir())
    torn, old, foreign, good = (spool / f"{call.call_id}.json" for call in sent)
    torn.write_text(torn.read_text()[:40])
    old.write_text(json.dumps({"state": "settled"}))
    foreign.rename(spool / "notes.json")
    good.with_suffix(".123.draft").write_text("{")
    assert spool_in(folder, db).replay() == 1
    assert spool_in(folder, db).replay() == 0
    assert files(folder) == sorted(
        [
            f"{torn.stem}.unreadable",
            f"{old.stem}.unreadable",
            "notes.unreadable",
            f"{good.stem}.123.draft",
        ]
    )
    assert [state for state, *_ in sql(JOURNAL)] == ["sent", "sent", "sent", "settled"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3
    assert answer.text not in caplog.text


def test_each_database_has_a_folder_of_its_own(
    db: Database,
    sql: Sql,
    cut_off: Spool,
    folder: Path,
    sent: list[Sent],
    answer: Completion,
    new_database: Callable[[str], tuple[str, Database]],
    template: str,
) -> None:
    keep(cut_off, sent[0], calls.answered(answer))
    _, other = new_database(template)
    with other.transaction() as tx:
        tx.script("UPDATE installation SET uid = gen_random_uuid()")
    assert spool_in(folder, other).replay() == 0
    assert spool_in(folder, db).replay() == 1
    assert {path.name for path in folder.iterdir()} == {calls.installation(db)}


def test_a_disk_that_fills_up_while_an_answer_is_kept_hides_nothing(
    db: Database,
    small_disk: Path,
    sent: list[Sent],
    answer: Completion,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = small_disk / "spool"
    (folder / calls.installation(db)).mkdir(parents=True)
    (small_disk / "ballast").write_bytes(b"x" * shutil.disk_usage(small_disk).free)
    keep(cut_off_in(folder, db), sent[0], calls.answered(answer))
    assert files(folder) == []
    assert "its answer is lost, No space left on device; it counts as spent" in caplog.text


def test_a_disk_that_becomes_read_only_stops_the_paying_but_not_the_storing(
    db: Database, sql: Sql, small_disk: Path, sent: list[Sent], answer: Completion
) -> None:
    folder = small_disk / "spool"
    (folder / calls.installation(db)).mkdir(parents=True)
    keep(cut_off_in(folder, db), sent[0], calls.answered(answer))
    subprocess.run(["mount", "-o", "remount,ro,size=64m", str(small_disk)], check=True)
    spool = spool_in(folder, db)
    with pytest.raises(Refused, match=r"it is read-only; free some space or set EVALQ_SPOOL_DIR"):
        spool.require_room()
    for _ in range(2):
        assert spool.replay() == 1  # the file cannot be removed, and counts once all the same
    assert sql(BUDGET) == [(answer.cost_usd, 3 * WORST)]


def test_without_room_nothing_may_be_paid_for(db: Database, small_disk: Path) -> None:
    with pytest.raises(Refused, match=r"no room to keep answers: .* has 1 MB free, 16 are needed"):
        spool_in(small_disk, db).require_room()


def test_without_a_folder_nothing_may_be_paid_for_until_it_can_be_made(db: Database, folder: Path) -> None:
    folder.write_text("in the way")
    spool = spool_in(folder, db)
    assert not spool.holds_answers()
    assert spool.replay() == 0
    with pytest.raises(Refused, match=r"answers cannot be kept in .*: Not a directory"):
        spool.require_room()
    folder.unlink()
    spool.require_room()
    assert (folder / calls.installation(db)).stat().st_mode & 0o777 == 0o700
