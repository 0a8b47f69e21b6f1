"""Code graded by the fleet: on the sandbox queue, by a worker without keys."""

import json
import os
import shutil
from dataclasses import replace
from typing import Any

import psutil
import pytest

from evalq.engines.zygote import WORKER_NAME

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None and os.environ.get("CI") != "true", reason="bubblewrap is not installed"
)

SETTINGS = """\
fleet: {processes: 1, slots: 8}
judges:
  right:
    provider: simulated
    model: right
    time_scale: 0
    price: {input: 1, output: 1}
    answers: RIGHT
  wrong:
    provider: simulated
    model: wrong
    time_scale: 0
    price: {input: 1, output: 1}
    answers: WRONG
"""
RIGHT = {
    "factorial": "So:\n```python\ndef factorial(n):\n    return n * factorial(n - 1) if n else 1\n```",
    "safe": "```python\ndef safe(a, b):\n    return a / b\n```",
}
WRONG = {
    "factorial": "```python\nimport os\ndef factorial(n):\n    return sorted(os.environ)\n```",
    "safe": "```python\ndef safe(a, b):\n    while True:\n        pass\n```",
}
TASK = """\
name: coding
system_prompt: Write one Python function.
user_template: "{ask}"
graders:
  - {type: function_output, timeout_per_case: 2}
  - {type: hit_at_k, required: false, weight: 0}
"""
CASES = [
    {
        "id": "factorial",
        "inputs": {"ask": "factorial"},
        "expected": {
            "relevant": ["x"],
            "function_name": "factorial",
            "test_cases": [{"input": [5], "output": 120}, {"input": [0], "output": 1}],
        },
    },
    {
        "id": "safe",
        "inputs": {"ask": "safe"},
        "expected": {
            "relevant": ["x"],
            "function_name": "safe",
            "test_cases": [
                {"args": [1, 4], "expected": 0.25},
                {"args": [1, 0], "comparator": "raises", "expected": "ZeroDivisionError"},
            ],
        },
    },
]
BAKE = ("bake-off", "--task", "coding", "--eval-set", "dev", "--judges", "right,wrong")


@pytest.fixture(scope="module")
def coding(new_project: Any) -> Any:
    """A project whose task is to write code; its fleet is kept, and its owner has a key."""
    settings = SETTINGS.replace("RIGHT", json.dumps(RIGHT)).replace("WRONG", json.dumps(WRONG))
    project = new_project(settings, OPENAI_API_KEY="sk-fake-canary")
    project.write("tasks/coding.yaml", TASK)
    project.write("evalsets/coding/dev.json", json.dumps({"cases": CASES}))
    assert project.run("up").returncode == 0
    yield project
    project.run("down")


def test_code_is_run_and_marked_case_by_case(coding: Any) -> None:
    document = coding.bake(*BAKE)
    assert {run["judge"]: run["n_pass"] for run in document["runs"]} == {"right": 2, "wrong": 0}
    shown = coding.bake("inspect", str(document["id"]), "--judge", "wrong")
    grades = {case["case_id"]: case["answers"][0]["grades"][-1] for case in shown["cases"]}
    assert "timed out" in grades["safe"]["reason"]
    assert grades["factorial"]["details"]["isolation"] == "strong"
    # What the code sees of its surroundings holds no key.
    assert "OPENAI_API_KEY" not in json.dumps(grades["factorial"]["details"])


def test_the_worker_that_runs_code_has_no_keys(coding: Any) -> None:
    coding.bake(*BAKE)
    # It is started afresh: a fork of the supervisor would have the keys in its memory.
    (sandbox,) = coding.processes("sandbox")
    others = [p for p in coding.processes() if p.name() == WORKER_NAME]
    assert "OPENAI_API_KEY" not in sandbox.environ()
    assert {p.environ()["OPENAI_API_KEY"] for p in others} == {"sk-fake-canary"}


def test_a_killed_sandbox_worker_loses_nothing(coding: Any) -> None:
    started = coding.start(*BAKE, "--samples", "6", "--json")
    (worker,) = coding.processes("sandbox")
    worker.kill()
    psutil.wait_procs([worker])
    assert started.end() == 0
    document = json.loads(started.stdout.read_text())
    assert {run["judge"]: run["n_pass"] for run in document["runs"]} == {"right": 12, "wrong": 0}


def test_without_a_sandbox_nothing_is_asked(coding: Any) -> None:
    before = coding.rows("SELECT count(*) FROM call_journal")
    hidden = {**coding.settings, "PATH": "/nonexistent", "XDG_CACHE_HOME": str(coding.folder / "cache")}
    bare = replace(coding, settings=hidden)
    done = bare.run(*BAKE)
    assert done.returncode == 5
    assert "SANDBOX_UNAVAILABLE" in done.stderr
    assert "bubblewrap" in done.stderr
    assert coding.rows("SELECT count(*) FROM call_journal") == before
