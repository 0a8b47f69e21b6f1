"""Alerts about runs and the fleet: a stuck run, a cap at 80 %, no worker; each is raised once."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from evalq.bakeoff.publish import pump_all
from evalq.bakeoff.run_alerts import raise_dead_fleet, raise_run_alerts
from evalq.engines.broker import Broker
from evalq.store import calls
from evalq.store.alerts import newest_alerts
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
OLDER = "UPDATE bakeoffs SET created_at = now() - interval '2 hours'"


def texts(db: Database) -> list[str]:
    return [alert.text.partition("\n")[0] for alert in newest_alerts(db, limit=9)]


def test_a_run_in_which_nothing_happens_is_an_alert_once(
    db: Database, record: Callable[..., int], sql: Sql
) -> None:
    bakeoff_id = record(2)
    assert raise_run_alerts(db) == 0  # it has just begun
    sql(OLDER)
    assert (raise_run_alerts(db), raise_run_alerts(db)) == (1, 0)
    [text] = texts(db)
    assert text.startswith(f"P1 STUCK: bake-off {bakeoff_id} ")
    [alert] = newest_alerts(db, limit=9)
    assert (alert.document["kind"], alert.document["bakeoff"]) == ("stuck", bakeoff_id)


@pytest.mark.parametrize(
    "sign",
    [
        "UPDATE jobs SET queued_at = now(), state = 'queued' WHERE position = 0",
        "UPDATE bakeoffs SET state = 'paused'",
        "UPDATE runs SET state = 'paused'",
        "UPDATE jobs SET state = 'done'",
        "INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, attempts)"
        " SELECT id, run_id, bakeoff_id, case_id, sample, 'passed', 1 FROM jobs WHERE position = 0",
        "INSERT INTO call_journal (bakeoff_id, job_id, purpose, judge, provider, model, key, attempt,"
        " reserved_usd)"
        " SELECT bakeoff_id, id, 'answer', 'a', 'p', 'm', 'k', 1, 1 FROM jobs WHERE position = 0",
    ],
)
def test_a_sign_of_life_or_a_stop_is_not_stuck(
    db: Database, record: Callable[..., int], sql: Sql, sign: str
) -> None:
    record(2)
    sql(OLDER)
    sql(sign)
    assert raise_run_alerts(db) == 0


def test_a_bake_off_at_four_fifths_of_its_cap_is_an_alert_once_for_each_cap(
    db: Database, record: Callable[..., int], sql: Sql
) -> None:
    record(2)
    sql("UPDATE bakeoffs SET cap_usd = 10, spent_usd = 7.99")
    assert raise_run_alerts(db) == 0
    sql("UPDATE bakeoffs SET spent_usd = 8")
    assert (raise_run_alerts(db), raise_run_alerts(db)) == (1, 0)
    sql("UPDATE bakeoffs SET cap_usd = 20, spent_usd = 19")
    assert raise_run_alerts(db) == 1
    assert "(95%)" in texts(db)[0]


def test_a_daily_cap_is_watched_too(db: Database, sql: Sql) -> None:
    calls.set_daily_caps(db, {"day": Decimal(10), "provider:openai": Decimal(5)})
    sql("UPDATE spending SET spent_usd = 4.5")
    assert (raise_run_alerts(db), raise_run_alerts(db)) == (1, 0)
    assert "for the day for openai is spent (90%)" in texts(db)[0]


def test_jobs_that_wait_for_a_worker_that_never_comes_are_an_alert_once(
    db: Database, broker: Broker, record: Callable[..., int], sql: Sql
) -> None:
    bakeoff_id = record(2)
    pump_all(db, broker)
    assert raise_dead_fleet(db, lambda: False) == 0  # not for long enough
    sql("UPDATE jobs SET queued_at = now() - interval '10 minutes'")
    assert raise_dead_fleet(db, lambda: True) == 0
    has_workers = lambda: bool(broker.workers())  # noqa: E731 - as beat asks
    assert (raise_dead_fleet(db, has_workers), raise_dead_fleet(db, has_workers)) == (1, 0)
    assert texts(db)[0].startswith(f"P0 NO WORKER ANSWERS: jobs of bake-off {bakeoff_id} wait since ")
