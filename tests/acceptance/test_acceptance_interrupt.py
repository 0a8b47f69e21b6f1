"""Interrupted bake-offs: Ctrl-C stops spending, a kill loses nothing, resume pays for nothing twice."""

import signal
from collections.abc import Callable
from typing import Any

import pytest
from patience import PATIENCE_S

from evalq.engines.embedded import describe
from evalq.engines.processes import wait_until

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-40", "--judges", "slow", "--display", "plain")
TWICE = "SELECT job_id FROM call_journal WHERE purpose = 'answer' GROUP BY job_id HAVING count(*) > 1"


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """Forty cases to ask on."""
    project = new_project()
    project.write_cases("dev-40", 40)
    return project


def started(project: Any) -> Any:
    """A bake-off of which some jobs have ended and most have not; what comes later has more slots."""
    project.settings = {"EVALQ_FLEET_SLOTS": "2"}
    command = project.start(*BAKE)
    project.settings = {}
    assert command.says(r"[1-9]\d% "), command.stderr.read_text("utf-8")
    return command


def test_ctrl_c_stops_spending_and_resume_finishes_without_paying_twice(project: Any) -> None:
    command = started(project)
    command.interrupt()
    assert command.end() == 130
    said = command.stderr.read_text("utf-8")
    assert "every answer paid for is stored" in said
    assert project.is_quiet()
    paused, *_ = project.bake("runs")
    assert said.rstrip().endswith(f"evalq resume {paused['id']}")
    assert (paused["state"], 0 < paused["done"] < 40) == ("paused", True)
    assert project.rows("SELECT count(*) FROM jobs WHERE state = 'leased'") == [(0,)]
    assert project.rows("SELECT sum(reserved_usd) FROM bakeoffs") == [(0,)]
    resumed = project.bake("resume", str(paused["id"]))
    assert (resumed["state"], resumed["n_done"]) == ("concluded", 40)
    assert resumed["calls"] == {"sent": 40, "settled": 40, "unknown": 0, "cached_verdicts": 0}
    assert project.rows(TWICE) == []


def test_after_a_kill_everything_goes_away_by_itself_and_resume_finishes(project: Any) -> None:
    command = started(project)
    command.process.kill()
    assert command.end() == -signal.SIGKILL
    assert project.is_quiet()
    status = describe(project.data_dir)
    assert status
    assert not status.running
    assert not status.attached_pids
    resumed = project.bake("resume", "last")
    assert (resumed["state"], resumed["n_done"], resumed["calls"]["sent"]) == ("concluded", 40, 40)
    assert project.rows(TWICE) == []


def test_a_second_ctrl_c_does_not_wait_and_loses_nothing(project: Any) -> None:
    command = started(project)
    command.interrupt()
    paused = [("paused",)]
    state = "SELECT state FROM bakeoffs ORDER BY id DESC LIMIT 1"
    assert wait_until(lambda: project.rows(state) == paused, timeout_s=PATIENCE_S, every_s=0.2)
    command.interrupt()
    assert command.end() == 130
    assert "Traceback" not in command.stderr.read_text("utf-8")
    assert project.is_quiet()
    resumed = project.bake("resume", "last")
    assert (resumed["state"], resumed["n_done"]) == ("concluded", 40)
    assert project.rows(TWICE) == []
