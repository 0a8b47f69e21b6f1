"""Bake-offs from the command line to the report: the same seed the same numbers, detached or watched."""

import json
from typing import Any

from patience import PATIENCE_S

from evalq.engines.processes import wait_until

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "good,poor")


def essence(document: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on when and where a bake-off ran."""
    runs = [{name: value for name, value in run.items() if name != "run_id"} for run in document["runs"]]
    return {"runs": runs, "comparisons": document["comparisons"], "kappa": document["kappa"]}


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(served: Any) -> None:
    command = (*BAKE[:-1], "good,poor,mute", "--samples", "3")
    first, again = served.bake(*command, code=3), served.bake(*command, code=3)
    other = served.bake(*command, "--seed", "1", code=3)
    assert essence(first) == essence(again)
    assert first["id"] != again["id"]
    assert essence(first) != essence(other)


def test_every_number_comes_with_its_n_and_its_interval(served: Any) -> None:
    document = served.bake(*BAKE)
    for run in document["runs"]:
        assert (run["n_cases"], run["n_pass"] + run["n_fail"], run["n_error"]) == (12, 12, 0)
        assert run["ci_low"] < run["accuracy"] < run["ci_high"]
        assert {rate["n"] for rate in run["per_stratum"].values()} == {6}
    (pair,) = document["comparisons"]
    assert (pair["a"], pair["b"], pair["n"]) == ("good", "poor", 12)
    assert document["calls"] == {"sent": 24, "settled": 24, "unknown": 0, "cached_verdicts": 0}


def test_several_samples_are_asked_for_and_counted(served: Any) -> None:
    document = served.bake(*BAKE, "--samples", "3")
    assert document["n_jobs"] == 72
    assert {run["n_cases"] for run in document["runs"]} == {12}
    assert {run["n_pass"] + run["n_fail"] for run in document["runs"]} == {36}
    assert {run["ci_method"] for run in document["runs"]} == {"wilson_clustered"}
    assert {len(run["pass_k"]) for run in document["runs"]} == {3}


def test_the_result_goes_to_stdout_and_everything_else_to_stderr(served: Any) -> None:
    done = served.run(*BAKE, "-o", "result.json")
    header, *_ = done.stdout.splitlines()
    assert header.startswith("rank\tjudge\tpass_pct")
    assert "capitals · dev-12 · 2 judges: 24 calls" in done.stderr
    written = json.loads((served.folder / "result.json").read_text("utf-8"))
    assert (written["schema"], written["n_done"]) == ("evalq.bakeoff/1", 24)


def test_a_dry_run_prices_everything_and_calls_nothing(served: Any) -> None:
    before = served.run("runs", "--json").stdout
    done = served.run(*BAKE, "--dry-run")
    assert done.returncode == 0
    assert "✓ judge good (simulated)" in done.stdout
    assert "What is the capital of country 0?" in done.stdout
    assert "24 calls, est. $" in done.stderr
    assert served.run("runs", "--json").stdout == before


def test_a_detached_bake_off_runs_on_the_fleet_and_can_be_watched(served: Any) -> None:
    started = served.run(*BAKE, "--detach")
    assert (started.returncode, started.stdout.strip().isdecimal()) == (0, True)
    bakeoff_id = int(started.stdout)
    assert f"evalq watch {bakeoff_id}" in started.stderr
    watched = served.bake("watch", "last")
    assert (watched["id"], watched["state"], watched["n_done"]) == (bakeoff_id, "concluded", 24)


def test_a_detached_bake_off_concludes_with_nobody_watching(served: Any) -> None:
    bakeoff_id = int(served.run(*BAKE, "--detach").stdout)
    state = "SELECT state FROM bakeoffs WHERE id = %s"
    assert wait_until(
        lambda: served.rows(state, bakeoff_id) == [("concluded",)], timeout_s=PATIENCE_S, every_s=0.2
    )


def test_resuming_what_has_concluded_changes_nothing(served: Any) -> None:
    document = served.bake(*BAKE)
    assert served.bake("resume", str(document["id"])) == document
    assert served.bake("inspect", "last") == document


def test_nothing_is_detached_where_nobody_would_run_it(new_project: Any) -> None:
    project = new_project()
    done = project.run(*BAKE, "--detach")
    assert done.returncode == 5
    assert "evalq up" in done.stderr
    assert not project.data_dir.exists()


def test_down_says_when_nothing_was_running(new_project: Any) -> None:
    done = new_project().run("down")
    assert (done.returncode, done.stdout) == (0, "nothing was running\n")
