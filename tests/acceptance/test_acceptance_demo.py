"""The demo: one command, the real engines, every row where it belongs, nothing left running."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalq.engines.embedded import attach

COUNTS = """
SELECT (SELECT count(*) FROM jobs WHERE state = 'done'), (SELECT count(*) FROM outcomes),
       (SELECT count(*) FROM completions), (SELECT count(*) FROM eval_runs), (SELECT count(*) FROM eval_kappa)
"""


@dataclass(frozen=True)
class Demo:
    """What the demo printed, what was running after it, and the project it ran in."""

    document: dict[str, Any]
    left_running: list[Any]
    left_lying: list[str]
    project: Any


@pytest.fixture(scope="module")
def demo(new_project: Callable[..., Any]) -> Iterator[Demo]:
    """The demo as it is, run in a folder where nothing has run before; its database, open for questions."""
    project = new_project("display: plain")
    document = project.bake("demo", code=3)
    project.is_quiet()  # the supervisor has let go of everything, and ends
    lying = [*project.folder.iterdir(), *project.data_dir.glob("users/*"), *project.data_dir.glob("*.json")]
    left = Demo(document, project.processes(), sorted(path.name for path in lying), project)
    with attach(project.data_dir, want=("postgres",)):
        yield left


def test_the_demo_ends_partial_with_the_whole_document(demo: Demo) -> None:
    said = demo.document
    assert (said["schema"], said["state"], said["partial"]) == ("evalq.bakeoff/1", "concluded", True)
    assert (said["n_jobs"], said["n_done"], len(said["runs"])) == (651, 651, 7)
    broken = said["runs"][-1]
    assert (broken["judge"], broken["accuracy"]) == ("sim-gemini-2.5-flash", None)
    assert broken["excluded"] == "93/93 empty outputs"
    assert any("sim-gemini-2.5-flash" in warning for warning in said["warnings"])
    assert len(said["comparisons"]) == len(said["kappa"]) == 15


def test_every_job_ends_in_exactly_one_row(demo: Demo) -> None:
    assert demo.project.rows(COUNTS) == [(651, 651, 651, 7, 15)]
    excluded = "SELECT judge_model FROM eval_runs WHERE accuracy IS NULL"
    assert demo.project.rows(excluded) == [("sim-gemini-2.5-flash",)]


def test_every_call_is_journalled_settled_and_paid_from_the_budget(demo: Demo) -> None:
    unsettled = "count(*) FILTER (WHERE state <> 'settled')"
    (row,) = demo.project.rows(f"SELECT count(*) >= 651, {unsettled}, sum(cost_usd) FROM call_journal")
    spent = Decimal(demo.document["spent_usd"])
    assert row == (True, 0, spent)
    assert demo.project.rows("SELECT spent_usd, reserved_usd FROM bakeoffs") == [(spent, 0)]
    answered = "SELECT count(*) FROM call_journal WHERE fault_kind IS NULL AND purpose = 'answer'"
    assert demo.project.rows(answered) == [(651,)]


def test_nothing_is_left_running_and_nothing_lies_about(demo: Demo) -> None:
    assert demo.left_running == []
    assert demo.left_lying == [".evalq", "evalq.yaml", "evalsets", "tasks"]


def test_no_prompt_or_answer_is_in_the_logs(demo: Demo) -> None:
    logs = [path.read_text(errors="replace") for path in demo.project.data_dir.glob("logs/worker-*.log")]
    assert len(logs) == 2
    private = ("You are an auditor", "contradiction", "sources", "Traceback")
    assert not any(word in log for log in logs for word in private)


def test_the_data_stays_where_it_began_once_there_is_a_project(
    new_project: Callable[..., Any], tmp_path: Path
) -> None:
    elsewhere = replace(new_project(), folder=tmp_path)
    done = elsewhere.run("runs")
    assert (done.returncode, done.stdout) == (0, "")
    assert "evalq demo" in done.stderr
    assert (tmp_path / ".evalq/postgres").is_dir()
    assert elsewhere.run("init", "triage").returncode == 0
    assert elsewhere.run("runs").returncode == 0
    assert (tmp_path / "tasks/triage.yaml").is_file()
    assert [path.parent for path in tmp_path.rglob("postgres")] == [tmp_path / ".evalq"]
    assert elsewhere.is_quiet()
