"""Scheduled drift checks: opened once per tick whoever announces it, and told when they cannot be."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff.conclude import conclude
from evalq.bakeoff.holdout import log
from evalq.definitions.schedules import DriftSchedule
from evalq.drift.decide import advance
from evalq.drift.open import is_due, note_unopened, open_due
from evalq.engines.broker import Broker
from evalq.engines.embedded import Engines
from evalq.engines.session import Session
from evalq.settings import Settings, load_settings
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]

SETTINGS = """
judges:
  good: {provider: simulated, model: good, time_scale: 0, price: {input: 1, output: 1}}
"""
TASK = """
name: capitals
system_prompt: Answer with one word.
user_template: "What is the capital of {country}?"
scoring: {mode: strict_substring, pass_rule: exact_match}
"""
CASES = """
- {id: a, inputs: {country: x}, expected: {answer: y}}
- {id: b, inputs: {country: z}, expected: {answer: y}}
"""
SATURDAY = datetime(2026, 11, 21, 3, tzinfo=UTC)
WEEKLY = DriftSchedule(task="capitals", eval_set="dev-1", judges=["good"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in (
        ("evalq.yaml", SETTINGS),
        ("tasks/capitals.yaml", TASK),
        ("evalsets/capitals/dev-1.yaml", CASES),
        ("evalsets/capitals/holdout-1-sample.yaml", CASES),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def session(db: Database, engines: Engines, root: Path) -> Session:
    settings: Settings = load_settings(root, {})
    return Session(db, engines.broker_url, is_embedded=False, settings=settings)


@pytest.fixture
def due(session: Session, root: Path) -> Callable[..., int | None]:
    def ask(schedule: DriftSchedule = WEEKLY, *, late: timedelta = timedelta(0)) -> int | None:
        return open_due(session, schedule, root=root, now=SATURDAY + late)

    return ask


def test_a_tick_announced_many_times_opens_one_check(
    due: Callable[..., int | None], sql: Sql, at_once: Callable[..., list[Any]]
) -> None:
    opened = [*at_once(due, 6), due(late=timedelta(minutes=5))]
    assert len([one for one in opened if one]) == 1
    assert sql("SELECT run_type, samples FROM bakeoffs") == [("drift_check", 1)]
    assert sql("SELECT rule, verdict FROM drift_checks") == [("confirm", None)]
    assert sql("SELECT tick, problem FROM drift_ticks") == [(SATURDAY, None)]


def test_a_tick_missed_is_made_up_for_within_the_hour_only(
    due: Callable[..., int | None], session: Session
) -> None:
    assert due(late=timedelta(minutes=61)) is None
    assert not is_due(session.db, WEEKLY, now=SATURDAY - timedelta(minutes=1))
    assert due(late=timedelta(minutes=59)) is not None
    assert not is_due(session.db, WEEKLY, now=SATURDAY)


def test_the_next_check_waits_for_the_one_before(
    due: Callable[..., int | None], db: Database, broker: Broker, sql: Sql
) -> None:
    schedule = DriftSchedule(task="capitals", eval_set="dev-1", judges=["good"], every_s=1.0)
    assert due(schedule) is not None
    assert due(schedule, late=timedelta(seconds=1)) is None
    sql("UPDATE jobs SET state = 'done'")
    ((run_id,),) = sql("SELECT id FROM runs")
    assert conclude(db, run_id)
    assert due(schedule, late=timedelta(seconds=2)) is None
    advance(db, broker)
    assert due(schedule, late=timedelta(seconds=3)) is not None


def test_what_cannot_be_opened_is_told_once_and_not_tried_again(
    due: Callable[..., int | None], sql: Sql
) -> None:
    wrong = DriftSchedule(task="capitals", eval_set="dev-1", judges=["god"], every_s=1.0)
    assert due(wrong) is None
    assert due(wrong) is None
    assert due(wrong, late=timedelta(seconds=1)) is None
    assert sql("SELECT count(*), min(problem) LIKE '%did you mean good%' FROM drift_ticks") == [(2, True)]
    ((document, text),) = sql("SELECT document, text FROM alerts")
    assert document["kind"] == "blocked"
    assert text.startswith("P0 CHECK COULD NOT BE MADE: drift schedule capitals/dev-1/god/confirm")


def test_settings_that_cannot_be_read_are_told_once_a_day(db: Database, sql: Sql) -> None:
    for _ in range(2):
        note_unopened(db, WEEKLY, now=SATURDAY, problem="evalq.yaml:3: no such key")
    assert sql("SELECT problem FROM drift_ticks") == [("evalq.yaml:3: no such key",)]
    assert sql("SELECT count(*) FROM alerts") == [(1,)]


def test_a_check_over_its_cap_is_told_instead_of_started(
    due: Callable[..., int | None], sql: Sql, session: Session
) -> None:
    costly = WEEKLY.model_copy(update={"max_cost_usd": session.settings.max_cost_usd * 0})
    assert due(costly) is None
    assert "exceeds the cap" in sql("SELECT problem FROM drift_ticks")[0][0]
    assert sql("SELECT count(*) FROM bakeoffs") == [(0,)]


def test_a_check_of_a_holdouts_sample_is_allowed_and_logged(due: Callable[..., int | None], sql: Sql) -> None:
    assert due(DriftSchedule(task="capitals", eval_set="holdout-1-sample", judges=["good"])) is not None
    lines = sql("SELECT line FROM holdout_log")
    assert len(lines) == 1
    assert '"run_type":"drift_check"' in lines[0][0]


END = """
WITH done AS (UPDATE jobs SET state = 'done' WHERE state <> 'done' RETURNING *)
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, attempts)
SELECT id, run_id, bakeoff_id, case_id, sample, %s, 1 FROM done RETURNING run_id
"""


def test_the_confirmation_of_a_holdouts_check_is_a_look_on_record_too(
    due: Callable[..., int | None], db: Database, broker: Broker, sql: Sql
) -> None:
    schedule = DriftSchedule(task="capitals", eval_set="holdout-1-sample", judges=["good"], every_s=1.0)
    for week, verdict in enumerate(["passed"] * 4 + ["failed"]):
        assert due(schedule, late=timedelta(seconds=week))
        (run_id,), *_ = sql(END, verdict)
        conclude(db, run_id)
        advance(db, broker)
    ((uid,),) = sql("SELECT uid FROM bakeoffs WHERE run_type = 'drift_confirm'")
    *_, (last,) = sql("SELECT line FROM holdout_log ORDER BY seq")
    assert str(uid) in last
    assert '"kind":"intent"' in last
    (run_id,), *_ = sql(END, "failed")
    conclude(db, run_id)
    advance(db, broker)
    assert log.find_breaks(db, "capitals") == []
    ((verdict, head),) = sql(
        "SELECT c.verdict, a.document ->> 'holdout_head' FROM drift_checks c, alerts a "
        "WHERE c.confirm_run_id IS NOT NULL"
    )
    assert verdict == "alert"
    assert head == log.head(db, "capitals")
