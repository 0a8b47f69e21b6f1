"""A fleet of one's own: engines elsewhere, workers started by hand, the same numbers."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from patience import PATIENCE_S
from psycopg.errors import DeadlockDetected

from evalq.engines.embedded import attach
from evalq.engines.processes import wait_until

TASK = ("bake-off", "--task", "knowledge_audit", "--eval-set", "dev-93", "--scorer", "strict_substring")
COMMAND = (*TASK, "--judges", "good,poor")
# Twelve cases, 300 answers each, 300 ms an answer: under way for as long as a test may need.
ENDLESS = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "slow", "--samples", "300")


def essence(document: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on when and where a bake-off ran."""
    runs = [{name: value for name, value in run.items() if name != "run_id"} for run in document["runs"]]
    return {"runs": runs, "comparisons": document["comparisons"], "kappa": document["kappa"]}


@pytest.fixture(scope="module")
def unserved(new_project: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A project that is told of a database and a broker which run already; nobody works for them yet."""
    with attach(tmp_path_factory.mktemp("e") / "d") as engines:
        with psycopg.connect(engines.database_url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE outside")
        url = engines.database_url.replace("/evalq?", "/outside?")
        yield new_project(EVALQ_DATABASE_URL=url, EVALQ_BROKER_URL=engines.broker_url)


@pytest.fixture(scope="module")
def served_by_hand(unserved: Any) -> Iterator[Any]:
    """The same, with the schema applied and two workers started."""
    first, second = unserved.run("schema", "apply"), unserved.run("schema", "apply")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "applied 001_bakeoffs" in first.stdout
    assert "applied" not in second.stdout
    workers = [unserved.start("worker", "-c", "32", "--loglevel", "WARNING") for _ in range(2)]
    yield unserved
    for worker in workers:
        worker.process.terminate()
    assert [worker.end() for worker in workers] == [0, 0]


def test_a_database_without_schema_is_answered_with_the_command_to_run(unserved: Any) -> None:
    done = unserved.run("runs")
    assert done.returncode == 6
    assert "run `evalq schema apply`" in done.stderr


def test_a_fleet_elsewhere_gives_the_numbers_of_the_embedded_one_even_with_two_bake_offs_at_once(
    served_by_hand: Any, project: Any
) -> None:
    embedded = project.bake(*COMMAND)
    other = served_by_hand.start(*COMMAND, "-o", "other.json")
    beside = served_by_hand.bake(*COMMAND)
    assert other.end() == 0
    assert essence(beside) == essence(embedded)
    written = json.loads((served_by_hand.folder / "other.json").read_text("utf-8"))
    assert essence(written) == essence(embedded)
    assert written["id"] != beside["id"]


def test_with_urls_no_engine_is_started_and_only_the_worker_keeps_a_spool(served_by_hand: Any) -> None:
    assert {path.name for path in served_by_hand.data_dir.glob("*")} <= {"spool"}


def test_a_detached_bake_off_prints_its_id_and_is_watched_to_its_end(served_by_hand: Any) -> None:
    bakeoff_id = int(served_by_hand.run(*COMMAND, "--detach").stdout)
    watched = served_by_hand.bake("watch", "last")
    assert (watched["id"], watched["state"], watched["n_done"]) == (bakeoff_id, "concluded", 186)


def test_ctrl_c_while_watching_leaves_the_bake_off_running(served_by_hand: Any) -> None:
    bakeoff_id = served_by_hand.run(*ENDLESS, "--detach").stdout.strip()
    watching = served_by_hand.start("watch", "last", "--display", "plain")
    assert watching.says("run=")
    watching.interrupt()
    assert watching.end() == 130
    assert "it goes on without you watching" in watching.stderr.read_text("utf-8")
    newest, *_ = served_by_hand.bake("runs")
    assert (str(newest["id"]), newest["state"]) == (bakeoff_id, "running")
    assert served_by_hand.run("cancel", bakeoff_id).returncode == 0


def test_the_doctor_finds_the_workers(served_by_hand: Any) -> None:
    report = served_by_hand.bake("doctor")
    assert report["ok"]


LOSE_JOBS = """
UPDATE jobs SET state = 'leased', fence = fence + 1, lease_until = now() - interval '1 minute'
WHERE bakeoff_id = %s AND state <> 'done'
"""
GO_ON = "UPDATE bakeoffs SET state = 'running' WHERE id = %s"


def lose_jobs(connection: "psycopg.Connection[Any]", bakeoff_id: int) -> bool:
    """Leave the open jobs to a worker that is gone; False when the living one was in the way."""
    try:
        connection.execute(LOSE_JOBS, [bakeoff_id])
        connection.execute(GO_ON, [bakeoff_id])
    except DeadlockDetected:
        return False
    return True


def test_beat_has_what_was_lost_brought_back(served_by_hand: Any) -> None:
    command = (
        "bake-off",
        *("--task", "capitals", "--eval-set", "dev-12", "--judges", "slow", "--samples", "8"),
    )
    bakeoff_id = int(served_by_hand.run(*command, "--detach").stdout)
    served_by_hand.run("cancel", str(bakeoff_id))
    url = served_by_hand.settings["EVALQ_DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        in_hand = "SELECT id FROM jobs WHERE bakeoff_id = %s AND state = 'leased'"
        assert wait_until(
            lambda: not connection.execute(in_hand, [bakeoff_id]).fetchall(), timeout_s=PATIENCE_S
        )
        assert wait_until(lambda: lose_jobs(connection, bakeoff_id), timeout_s=PATIENCE_S)
        beat = served_by_hand.start("beat", "--loglevel", "INFO")
        state = "SELECT state FROM bakeoffs WHERE id = %s"
        assert wait_until(
            lambda: connection.execute(state, [bakeoff_id]).fetchall() == [("concluded",)],
            timeout_s=PATIENCE_S,
        )
    assert beat.says("Sending due task reap")
    beat.process.terminate()
    assert beat.end() == 0
