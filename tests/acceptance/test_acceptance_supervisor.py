"""The supervisor of a data folder: killed, asked to leave, or busy leaving when the next command comes."""

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import psutil
import pytest
from patience import PATIENCE_S

from evalq.engines.data_folder import DataFolder
from evalq.engines.processes import send_signal, wait_until
from evalq.engines.zygote import WORKER_NAME

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-40", "--judges", "slow", "--display", "plain")
TWICE = "SELECT job_id FROM call_journal WHERE purpose = 'answer' GROUP BY job_id HAVING count(*) > 1"


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """Forty cases for two workers of one slot, so that there is time to interfere, and short leases."""
    project = new_project(EVALQ_FLEET_PROCESSES="2", EVALQ_FLEET_SLOTS="1", EVALQ_FLEET_LEASE_S="4")
    project.write_cases("dev-40", 40)
    return project


def start(project: Any) -> Any:
    """A bake-off of which some jobs have ended and most have not."""
    command = project.start(*BAKE, "--json")
    assert command.says(r"[1-9]\d% "), command.stderr.read_text("utf-8")
    return command


def supervisor_of(project: Any) -> int:
    """The supervisor's process, which has started its workers."""
    pid = DataFolder.of(project.data_dir).supervisor_pid()
    assert pid
    return pid


def test_after_a_kill_of_the_supervisor_the_bake_off_goes_on_and_nothing_is_left(project: Any) -> None:
    command = start(project)
    first = supervisor_of(project)
    workers = [child for child in psutil.Process(first).children() if child.name() == WORKER_NAME]
    send_signal(first, signal.SIGKILL)
    assert command.end() == 0, command.stderr.read_text("utf-8")
    assert project.is_quiet()
    assert len(workers) == 2
    assert not any(worker.is_running() for worker in workers)
    assert project.rows("SELECT count(*), count(*) FILTER (WHERE state = 'done') FROM jobs") == [(40, 40)]


def test_a_supervisor_that_is_asked_to_leave_lets_calls_come_home(project: Any) -> None:
    command = start(project)
    send_signal(supervisor_of(project), signal.SIGTERM)
    assert command.end() == 0, command.stderr.read_text("utf-8")
    assert project.is_quiet()
    latest = "bakeoff_id = (SELECT max(id) FROM bakeoffs)"
    assert project.rows(f"SELECT count(*) FROM outcomes WHERE {latest}") == [(40,)]
    assert project.rows(f"SELECT state FROM call_journal WHERE {latest} AND state <> 'settled'") == []
    assert project.rows(f"{TWICE.replace('WHERE', f'WHERE {latest} AND')}") == []


def test_the_next_command_needs_not_wait_until_the_last_one_is_tidied_up(project: Any) -> None:
    one_case = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "slow")
    states = [project.bake(*one_case)["state"] for _ in range(3)]
    assert states == ["concluded"] * 3
    assert project.is_quiet()


def test_a_worker_that_was_killed_is_forked_again(project: Any) -> None:
    command = start(project)
    supervisor = psutil.Process(supervisor_of(project))
    (victim, _) = [child for child in supervisor.children() if child.name() == WORKER_NAME]
    victim.kill()

    def is_replaced() -> bool:
        names = [child.name() for child in supervisor.children() if child.pid != victim.pid]
        return names.count(WORKER_NAME) == 2

    assert wait_until(is_replaced, timeout_s=PATIENCE_S, every_s=0.05)
    assert command.end() == 0, command.stderr.read_text("utf-8")


def test_a_forked_worker_that_has_grown_restarts_as_a_worker(new_project: Callable[..., Any]) -> None:
    project = new_project(EVALQ_FLEET_MEMORY_MB="1", EVALQ_FLEET_LEASE_S="1", EVALQ_FLEET_SLOTS="1")
    project.write_cases("dev-40", 40)
    command = project.start(*BAKE)

    restarted = partial(project.processes, "workers.process")
    assert wait_until(lambda: bool(restarted()), timeout_s=PATIENCE_S, every_s=0.02)
    assert command.end() == 0, command.stderr.read_text("utf-8")
    assert project.is_quiet()
