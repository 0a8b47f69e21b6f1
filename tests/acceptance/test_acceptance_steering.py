"""Bake-offs steered from other commands: paused, cancelled, resumed, their errors retried; nothing twice."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import PATIENCE_S

from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator

# One call at a time, a second each: whoever steers comes in time, and what is in flight is soon home.
UNHURRIED = {"latency_ms": 1000}
HURRIED = {"latency_ms": 0}
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-20", "--judges")
NEWEST = "SELECT max(id) FROM bakeoffs"
DONE = "SELECT count(*) FROM completions JOIN jobs ON jobs.id = job_id WHERE bakeoff_id = %s AND gate LIKE %s"
IN_HAND = "SELECT count(*) FROM jobs WHERE bakeoff_id = %s AND state = 'leased'"
RESERVED = "SELECT reserved_usd FROM bakeoffs WHERE id = %s"


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    """The provider of the judges `steady` and `ailing`."""
    with running_simulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any], sim: Simulator) -> Any:
    """Two judges of a provider that can be told to fail and to dawdle, and one that answers at once."""
    known = {"provider": "openai", "base_url": sim.openai_url, "api_key_env": "ANY_KEY"}
    price = {"price": {"input": 1, "output": 5}}
    judges = {
        "steady": {**known, **price, "model": "steady", "concurrency": 1},
        "ailing": {**known, **price, "model": "ailing"},
        "good": {**price, "provider": "simulated", "model": "good", "accuracy": 0.9, "time_scale": 0},
    }
    settings = {"fleet": {"processes": 1, "slots": 16}, "judges": judges}
    project = new_project(json.dumps(settings), ANY_KEY="sk-any")
    project.write_cases("dev-20", 20)
    return project


def under_way(project: Any) -> str:
    """The newest bake-off once `steady` has answered something; it has most still to do."""
    ((bakeoff_id,),) = project.rows(NEWEST)
    assert wait_until(
        lambda: project.rows(DONE, bakeoff_id, "%steady%")[0][0] > 0, timeout_s=PATIENCE_S, every_s=0.2
    )
    return str(bakeoff_id)


def started(project: Any, sim: Simulator, judges: str) -> str:
    """A bake-off on the fleet, under way."""
    sim.set_profiles({"steady": UNHURRIED})
    done = project.run(*BAKE, judges, "--detach")
    assert done.returncode == 0, done.stderr
    return under_way(project)


def test_errors_are_run_again_once_the_provider_is_well(served: Any, sim: Simulator) -> None:
    sim.set_profiles({"ailing": {"faults": {"404": 0.5}}})
    partial = served.bake(*BAKE, "good,ailing", code=3)
    (n_errors,) = (run["n_error"] for run in partial["runs"] if run["judge"] == "ailing")
    assert 0 < n_errors < 20
    assert f"evalq retry {partial['id']} --errors" in partial["next"]
    sim.set_profiles({"ailing": HURRIED})
    mended = served.bake("retry", "last", "--errors", "--judge", "ailing", "--max-cost-usd", "7")
    assert (mended["id"], mended["state"], mended["partial"]) == (partial["id"], "concluded", False)
    assert {run["judge"]: run["n_error"] for run in mended["runs"]} == {"good": 0, "ailing": 0}
    assert (mended["calls"]["sent"], mended["cap_usd"]) == (40 + n_errors, "7.00")
    rows = "SELECT judge_model, n_pass + n_fail, n_error FROM eval_runs WHERE bakeoff_id = %s ORDER BY 1"
    assert served.rows(rows, mended["id"]) == [("ailing", 20, 0), ("good", 20, 0)]
    assert served.rows("SELECT n FROM eval_kappa") == [(20,)]
    assert served.rows("SELECT count(*) FROM superseded_outcomes") == [(n_errors,)]
    again = served.run("retry", "--errors")
    assert (again.returncode, again.stdout) == (0, "")
    assert "has no errored job" in again.stderr


def test_one_judge_is_paused_while_the_other_completes_and_resume_finishes_it(
    served: Any, sim: Simulator
) -> None:
    bakeoff_id = started(served, sim, "good,steady")
    paused = served.run("pause", "steady", bakeoff_id)
    assert (paused.returncode, paused.stdout) == (0, "judge steady is paused\n"), paused.stderr
    assert paused.stderr.splitlines()[-1] == f"next  evalq resume {bakeoff_id}"
    partial = served.bake("watch", bakeoff_id, code=3)
    good, steady = partial["runs"]
    assert (good["n_pass"] + good["n_fail"], steady["excluded"]) == (20, "paused: by hand")
    assert 0 < steady["n_pass"] + steady["n_fail"] < 20
    assert partial["calls"]["sent"] == partial["calls"]["settled"] == partial["n_done"]
    assert served.rows(IN_HAND, bakeoff_id) == served.rows(RESERVED, bakeoff_id) == [(0,)]
    sim.set_profiles({"steady": HURRIED})
    resumed = served.bake("resume", bakeoff_id)
    assert (resumed["partial"], resumed["n_done"], resumed["calls"]["sent"]) == (False, 40, 40)
    again = served.run("resume", "--json")
    assert "has nothing left to do" in again.stderr
    assert (again.returncode, json.loads(again.stdout)) == (0, resumed)


def test_a_cancel_from_elsewhere_ends_the_command_that_follows_and_resume_takes_it_back(
    served: Any, sim: Simulator
) -> None:
    sim.set_profiles({"steady": UNHURRIED})
    following = served.start(*BAKE, "steady", "--display", "plain")
    assert following.says(r" [1-9]\d*/20 "), following.stderr.read_text("utf-8")
    bakeoff_id = under_way(served)
    cancelled = served.run("cancel", bakeoff_id)
    assert (cancelled.returncode, cancelled.stdout) == (0, f"bake-off {bakeoff_id} is cancelled\n")
    assert following.end() == 3
    assert "jobs done, cancelled" in following.stdout.read_text("utf-8")
    assert served.rows(IN_HAND, bakeoff_id) == served.rows(RESERVED, bakeoff_id) == [(0,)]
    assert "is cancelled; there is nothing to cancel" in served.run("cancel").stderr
    sim.set_profiles({"steady": HURRIED})
    resumed = served.bake("resume")
    assert (resumed["state"], resumed["n_done"], resumed["calls"]["sent"]) == ("concluded", 20, 20)


def test_paused_as_a_whole_and_resumed_by_two_at_once_nothing_is_done_twice(
    served: Any, sim: Simulator
) -> None:
    bakeoff_id = started(served, sim, "steady")
    paused = served.run("pause")
    assert (paused.returncode, paused.stdout) == (0, f"bake-off {bakeoff_id} is paused\n"), paused.stderr
    assert wait_until(lambda: served.rows(IN_HAND, bakeoff_id) == [(0,)], timeout_s=PATIENCE_S, every_s=0.2)
    sim.set_profiles({"steady": HURRIED})
    resuming = [served.start("resume", bakeoff_id, "--json") for _ in range(2)]
    assert [command.end() for command in resuming] == [0, 0]
    first, second = (json.loads(command.stdout.read_text("utf-8")) for command in resuming)
    assert first == second
    assert (first["state"], first["n_done"], first["calls"]["sent"]) == ("concluded", 20, 20)
    idle = served.run("pause")
    assert (idle.returncode, idle.stdout) == (0, "")
    assert f"bake-off {bakeoff_id} is concluded; there is nothing to pause" in idle.stderr
