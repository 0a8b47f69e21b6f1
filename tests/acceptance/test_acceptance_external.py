"""A fleet of one's own: engines elsewhere, workers started by hand, the same numbers."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evalq.embedded import attach

COMMAND = ("bake-off", "--task", "knowledge_audit", "--eval-set", "dev-93", "--scorer", "strict_substring")
CAPITALS = ("bake-off", "--task", "capitals", "--eval-set", "dev-12")
JUDGES = ("--judges", "good,poor")


def essence(document: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on when and where a bake-off ran."""
    runs = [{name: value for name, value in run.items() if name != "run_id"} for run in document["runs"]]
    return {"runs": runs, "comparisons": document["comparisons"], "kappa": document["kappa"]}


@pytest.fixture(scope="module")
def unserved(new_project: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A project that is told of a database and a broker which run already; nobody works for them yet."""
    with attach(tmp_path_factory.mktemp("e") / "d") as engines:
        urls = {"EVALQ_DATABASE_URL": engines.database_url, "EVALQ_BROKER_URL": engines.broker_url}
        yield new_project(**urls)


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
    embedded = project.bake(*COMMAND, *JUDGES)
    other = served_by_hand.start(*COMMAND, *JUDGES, "--seed", "1", "-o", "other.json")
    beside = served_by_hand.bake(*COMMAND, *JUDGES)
    assert other.end() == 0
    assert essence(beside) == essence(embedded)
    alone = served_by_hand.bake(*COMMAND, *JUDGES, "--seed", "1")
    assert essence(alone) == essence(json.loads((served_by_hand.folder / "other.json").read_text("utf-8")))


def test_with_urls_nothing_is_started_and_no_data_folder_made(served_by_hand: Any) -> None:
    assert not served_by_hand.data_dir.exists()


def test_a_detached_bake_off_prints_its_id_and_is_watched_to_its_end(served_by_hand: Any) -> None:
    bakeoff_id = int(served_by_hand.run(*COMMAND, *JUDGES, "--detach").stdout)
    watched = served_by_hand.bake("watch", "last")
    assert (watched["id"], watched["state"], watched["n_done"]) == (bakeoff_id, "concluded", 186)


def test_ctrl_c_while_watching_leaves_the_bake_off_running(served_by_hand: Any) -> None:
    served_by_hand.run(*CAPITALS, "--judges", "slow", "--samples", "20", "--detach")
    watching = served_by_hand.start("watch", "last", "--display", "plain")
    assert watching.says("run=")
    watching.interrupt()
    assert watching.end() == 130
    assert "it goes on without you watching" in watching.stderr.read_text("utf-8")
    assert served_by_hand.bake("watch", "last")["state"] == "concluded"


def test_the_doctor_finds_the_workers(served_by_hand: Any) -> None:
    report = served_by_hand.bake("doctor")
    assert report["ok"]
