"""Rate limits by the provider's own clock: two workers under one limit, a closed gate, a slow judge."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from patience import PATIENCE_S

from evalq.engines.embedded import attach
from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator

RPM = 300
PER_S, BURST_S = RPM / 60, 1.0
PROFILES = {"closing": {"schedule": ["429:seconds=3", "ok"]}, "shut": {"schedule": ["429:seconds=600", "ok"]}}
BAKE = ("bake-off", "--task", "capitals", "--display", "plain", "--eval-set")


def judges(sim: Simulator) -> dict[str, Any]:
    judge = {"provider": "openai", "base_url": sim.openai_url, "price": {"input": 0, "output": 0}}
    limits: dict[str, dict[str, int]] = {
        "limited": {"rpm": RPM},
        "closing": {"concurrency": 1},
        "shut": {"concurrency": 1, "rpm": 600},
        "slow": {"rpm": 6},
        "quick": {},
        "brisk": {},
    }
    return {name: {**judge, "model": name, **limit} for name, limit in limits.items()}


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    """A provider that notes when each call arrives."""
    with running_simulator({"profiles": PROFILES}) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def fleet(
    new_project: Callable[..., Any], sim: Simulator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A project with engines elsewhere and two workers started by hand."""
    with attach(tmp_path_factory.mktemp("e") / "d") as engines:
        urls = {"EVALQ_DATABASE_URL": engines.database_url, "EVALQ_BROKER_URL": engines.broker_url}
        project = new_project(json.dumps({"judges": judges(sim)}), **urls)
        project.write_cases("one", 1)
        project.write_cases("dev-40", 40)
        assert project.run("schema", "apply").returncode == 0
        workers = [project.start("worker", "-c", "8", "--loglevel", "WARNING") for _ in range(2)]
        yield project
        for worker in workers:
            worker.process.terminate()
        assert [worker.end() for worker in workers] == [0, 0]


def arrivals(sim: Simulator, model: str) -> list[float]:
    """When the calls to a model came, in seconds of one clock."""
    return [call["at"] for call in sim.calls() if call["model"] == model]


def gate(fleet: Any, model: str) -> dict[str, Any]:
    """What `evalq limits` says of a model's gate."""
    [found] = [row for row in fleet.bake("limits") if row["gate"].endswith(f"/{model}")]
    return dict(found)


def test_a_slow_judge_does_not_hold_the_others_back(fleet: Any, sim: Simulator) -> None:
    command = fleet.start(*BAKE, "dev-40", "--judges", "slow,quick,brisk")
    others = {"quick": 40, "brisk": 40}
    assert wait_until(
        lambda: {name: len(arrivals(sim, name)) for name in others} == others, timeout_s=PATIENCE_S
    )
    assert len(arrivals(sim, "slow")) < 40
    command.interrupt()
    assert wait_until(
        lambda: bool(fleet.bake("runs")[0]["state"] == "paused"), timeout_s=PATIENCE_S, every_s=0.2
    )
    command.interrupt()  # does not wait for the slow one's jobs to notice
    assert command.end() == 130


def test_two_workers_share_one_limit_in_every_window(fleet: Any, sim: Simulator) -> None:
    began = time.monotonic()
    document = fleet.bake(*BAKE, "dev-40", "--judges", "limited")
    assert (document["n_done"], document["calls"]["sent"]) == (40, 40)
    # No window from the start may hold more; one between two calls may, when the first of them was held up.
    for n, at in enumerate(arrivals(sim, "limited"), start=1):
        assert n <= (at - began + BURST_S) * PER_S + 1
    found = gate(fleet, "limited")
    assert (found["limit"]["rpm"], found["closed_until"]) == (RPM, None)
    assert 0 < found["used_rpm"] <= 40


def test_after_a_429_nobody_calls_until_the_time_it_names(fleet: Any, sim: Simulator) -> None:
    document = fleet.bake(*BAKE, "one", "--samples", "6", "--judges", "closing")
    assert (document["n_done"], document["calls"]["sent"]) == (6, 7)
    calls = [call for call in sim.calls() if call["model"] == "closing"]
    assert [call["status"] for call in calls] == [429, *[200] * 6]
    assert calls[1]["at"] - calls[0]["at"] >= 3 - 0.05


def test_a_closed_gate_is_shown_with_its_limit_and_its_time(fleet: Any, sim: Simulator) -> None:
    bakeoff_id = fleet.run(*BAKE, "one", "--judges", "shut", "--detach").stdout.strip()
    assert wait_until(lambda: bool(arrivals(sim, "shut")), timeout_s=PATIENCE_S)
    assert wait_until(
        lambda: gate(fleet, "shut")["closed_until"] is not None, timeout_s=PATIENCE_S, every_s=0.2
    )
    found = gate(fleet, "shut")
    assert (found["limit"]["rpm"], found["limit"]["concurrency"]) == (600, 1)
    assert 0 < found["used_rpm"] <= 1
    left = datetime.fromisoformat(found["closed_until"]) - datetime.now(UTC)
    assert 0 < left.total_seconds() <= 600
    assert fleet.run("cancel", bakeoff_id).returncode == 0
