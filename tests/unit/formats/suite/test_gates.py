"""Gates as files write them: phases, triggers, and suites."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.gates import read_gates
from evalq.formats.suite.load import problems

Write = Callable[..., Path]


@pytest.fixture
def suite(write: Write) -> Path:
    return write("evals/s.yaml", {"id": "a", "input": "x", "expected": "y"})


def phase(**config: Any) -> dict[str, Any]:
    step = {"type": "eval", "description": "Run evals", "config": {"suite": "./evals/s.yaml", **config}}
    return {"phase": {"name": "P", "steps": [{"type": "implement", "description": "Build"}, step]}}


def test_an_eval_step_of_a_phase_is_a_gate(write: Write, suite: Path) -> None:
    path = write("phase.yaml", phase(required_pass_rate=0.9, blocking=False, metrics=["pass@1", "pass^3"]))
    (gate,) = read_gates(path)
    assert (gate.suite, gate.title, gate.blocking) == (suite, "Run evals", False)
    assert (gate.thresholds, gate.shown_metrics) == ({"pass_rate": 0.9}, ("pass@1", "pass^3"))
    assert problems(path, path.parent) == ()


def test_a_trigger_is_a_gate_with_filters_and_consequences(write: Write, suite: Path) -> None:
    trigger = {
        "when": "after_tests_pass",
        "suite": "./evals/s.yaml",
        "filters": {"categories": ["capability"], "tags": ["critical"]},
        "thresholds": {"pass_at_1": 0.85, "pass^3": 0.7},
        "on_failure": {"action": "block", "notification": True, "report_path": "./out/phase-{phase_id}.md"},
        "on_success": {"action": "continue", "archive_results": True},
    }
    (gate,) = read_gates(write("trigger.yaml", {"eval_trigger": trigger}))
    assert gate.thresholds == {"pass_at_1": 0.85, "pass_hat_3": 0.7}
    assert (gate.filters.categories, gate.filters.tags) == (["capability"], ["critical"])
    assert (gate.blocking, gate.notify_on_failure, gate.archive) == (True, True, True)
    trigger["on_failure"] = {"action": "warn"}
    assert not read_gates(write("trigger.yaml", {"eval_trigger": trigger}))[0].blocking


def test_a_suite_is_its_own_gate(suite: Path) -> None:
    (gate,) = read_gates(suite)
    assert (gate.suite, gate.thresholds, gate.blocking) == (suite, {}, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"phase": {"steps": [{"type": "test"}]}}, "no step of type eval"),
        ({"phase": {"name": "P"}}, "a phase without steps"),
        ({"phase": {"steps": [{"type": "eval"}]}}, "an eval step without config"),
        (phase(metrics=["accuracy"]), "there is no metric 'accuracy'"),
        (phase(required_pass_rate=9), "required_pass_rate"),
        (phase(suite="../../etc/passwd"), "leads out of its folder"),
        (phase(suite="missing.yaml"), "no file 'missing.yaml'"),
        ({"eval_trigger": {"suite": "evals/s.yaml", "on_failure": {"action": "panic"}}}, "cannot be 'panic'"),
        (
            {"eval_trigger": {"suite": "evals/s.yaml", "on_failure": {"report_path": "../../x.md"}}},
            "report_path leads out of its folder",
        ),
        ({"grader": {"type": "human"}}, "neither a phase with an eval step"),
    ],
)
def test_a_gate_that_cannot_be_run_is_refused_with_its_place(
    write: Write, suite: Path, content: Any, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_gates(write("gate.yaml", content))
    assert said in str(caught.value)
    assert "gate.yaml:" in str(caught.value)
