"""Suites from the command line: the example of the documentation, run, retried, reported, gated."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalq.formats.suite.load import report_schema

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/suite"
SETTINGS = """\
fleet: {processes: 1, slots: 16}
judges:
  ace:
    provider: simulated
    model: ace
    accuracy: 1.0
    time_scale: 0
    price: {input: 1, output: 5}
    answers:
      cap-order-number/pattern: "A-12345"
      cap-discount-001: |
        ```python
        def discounted(price, pieces):
            return round(price * (0.95 if pieces >= 10 else 1), 2)
        ```
  shaky: {provider: simulated, model: shaky, accuracy: 0.5, time_scale: 0, price: {input: 1, output: 5}}
  never: {provider: simulated, model: never, accuracy: 0.0, time_scale: 0, price: {input: 1, output: 5}}
  slow:
    provider: simulated
    model: slow
    accuracy: 1.0
    latency_ms: {p50: 1500, p95: 1600}
    price: {input: 1, output: 5}
  plain-grader:
    {provider: simulated, model: plain-grader, accuracy: 1.0, time_scale: 0, price: {input: 1, output: 1}}
"""
SETTINGS += f"  count-words: {{provider: command, command: [{sys.executable}, run-skill.py]}}\n"
RUN_SKILL = """\
import json, sys
call = json.load(sys.stdin)["inputs"]["skill"]
assert call["name"] == "count-words"
print(json.dumps({"words": len(call["input"]["text"].split()) * call["parameters"]["factor"]}))
"""
SKILL_EVAL = """\
regression_eval:
  id: reg-words
  baseline: {output: {words: 6}}
  current:
    input: {text: "one two three"}
    execution: {type: skill, skill_name: count-words, parameters: {factor: FACTOR}}
  comparison: {type: numeric, tolerance: {words: {min_delta: 0, max_delta: 0}}}
"""
RUN = ("suite", "run", "order-desk", "--grader-model", "plain-grader")


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """The example's folder in a project with judges that know its answers, or do not."""
    made = new_project(SETTINGS)
    shutil.copytree(EXAMPLE, made.folder / "order-desk")
    return made


def report_of(project: Any, *arguments: str, code: int) -> dict[str, Any]:
    document = project.bake(*RUN, *arguments, code=code)
    Draft202012Validator(report_schema()).validate(document)
    found: dict[str, Any] = document["eval_report"]
    return found


@pytest.mark.skipif(
    shutil.which("bwrap") is None and os.environ.get("CI") != "true", reason="code is run in a sandbox only"
)
def test_a_judge_that_knows_the_answers_passes_the_example(served: Any) -> None:
    found = report_of(served, "--judges", "ace", "--samples", "3", code=0)
    summary = found["summary"]
    assert (summary["total_evals"], summary["passed"], summary["pass_rate"]) == (8, 8, 1.0)
    assert {name: one["total"] for name, one in summary["by_category"].items()} == {
        "capability": 6,
        "regression": 2,
    }
    assert {name: one["total"] for name, one in summary["by_grader"].items()} == {
        "code": 7,
        "model": 1,
        "human": 0,
    }
    assert (found["metrics"]["pass_at_1"], found["metrics"]["pass_hat_3"]) == (1.0, 1.0)
    assert re.fullmatch(r"eval-\d{8}-\d{6}", found["metadata"]["run_id"])
    (day,) = [path for path in (served.folder / "order-desk/results").iterdir() if path.name != "latest"]
    assert {path.suffix for path in day.iterdir()} == {".json", ".md", ".html"}
    assert (served.folder / "order-desk/results/latest").resolve() == day


def test_failures_are_retried_reported_and_raise_an_alert(served: Any) -> None:
    done = served.run(*RUN, "--judges", "never", "--category", "capability", "--tag", "critical", "--verbose")
    assert done.returncode == 1, done.stderr
    assert (
        "✗ cap-order-number/plain: Order numbers · In the middle of a sentence: failed after 3 attempts"
        in done.stdout
    )
    assert "ALERT  suite failed: Order desk: 0/3 passed" in done.stderr
    assert served.rows("SELECT count(*) FROM alerts WHERE text LIKE 'suite failed: Order desk%'") == [(1,)]
    assert served.rows("SELECT count(*) FROM bakeoffs WHERE run_type = 'suite_retry'") == [(2,)]


def test_a_pass_on_a_retry_counts_and_is_reported_as_such(served: Any) -> None:
    found = report_of(
        served, "--judges", "shaky", "--tag", "critical", "--category", "text", "--seed", "4", code=1
    )
    tries = {one["eval_id"]: (one["status"], one["attempts"]) for one in found["evals"]}
    assert tries["cap-order-number/pattern"] == ("failed", 3)
    assert {status for status, attempts in tries.values() if attempts == 2} <= {"passed"}
    assert found["metrics"]["pass_at_1"] <= found["summary"]["pass_rate"]
    assert found["metrics"]["pass_at_3"] is None


def test_graders_of_one_type_can_grade_alone(served: Any) -> None:
    found = report_of(served, "--judges", "ace", "--grader-type", "model", "--tag", "money", code=0)
    assert found["summary"]["by_grader"]["model"]["total"] == found["summary"]["total_evals"] == 1
    assert served.rows("SELECT DISTINCT kind FROM grades WHERE kind = 'boolean'") == [("boolean",)]


def test_a_suite_that_takes_too_long_is_stopped_and_the_rest_is_skipped(served: Any) -> None:
    evals = "\n".join(f"    - {{id: e{i}, input: x, expected: y}}" for i in range(20))
    config = "  config: {timeout_global: 2, parallel_execution: false}\n"
    served.write("slow/eval-suite.yaml", f"eval_suite:\n  name: Slow\n{config}  evals:\n{evals}\n")
    document = served.bake("suite", "run", "slow", "--judges", "slow", code=3)["eval_report"]
    assert document["metadata"]["timed_out"] is True
    assert document["summary"]["skipped_because"].keys() == {"not_run"}
    assert 0 < document["summary"]["skipped"] <= 20
    assert document["summary"]["failed"] == 0


def test_an_interrupted_suite_spends_no_more_and_can_be_resumed(served: Any) -> None:
    evals = "\n".join(f"    - {{id: e{i}, input: x, expected: y}}" for i in range(20))
    body = f"eval_suite:\n  name: Long\n  config: {{max_workers: 1}}\n  evals:\n{evals}\n"
    served.write("long/eval-suite.yaml", body)
    command = served.start("suite", "run", "long", "--judges", "slow", "--display", "plain")
    assert command.says(r"run=\d+ +\d+%")
    command.interrupt()
    assert command.end() == 130
    assert command.says(r"next  evalq resume \d+")
    assert served.rows("SELECT state FROM bakeoffs WHERE task_name = 'long'") == [("paused",)]


def test_a_trigger_lets_a_phase_pass_and_archives_its_results(served: Any) -> None:
    done = served.run("gate", "order-desk/trigger.yaml", "--judges", "ace", "--phase", "p7")
    assert done.returncode == 0, done.stderr
    assert "| pass@1 | 1.00 [0.44, 1.00] | 0.85 | PASS |" in done.stdout
    assert "#### Capability Evals (3/3 passed)" in done.stdout
    assert len(list((served.folder / "order-desk/results/archive").iterdir())) == 3
    assert not (served.folder / "order-desk/results/phase-p7.md").exists()


def test_a_trigger_that_fails_blocks_and_writes_its_report(served: Any) -> None:
    document = served.bake("gate", "order-desk/trigger.yaml", "--judges", "never", "--phase", "p8", code=1)
    assert (document["verdict"], document["gates"][0]["blocking"]) == ("FAIL", True)
    text = (served.folder / "order-desk/results/phase-p8.md").read_text("utf-8")
    assert "| FAIL |" in text
    assert "- [ ] cap-order-number/plain: Order numbers · In the middle of a sentence (FAILED)" in text
    step = (
        (served.folder / "order-desk/phase.yaml")
        .read_text("utf-8")
        .replace("blocking: true", "blocking: false")
    )
    served.write("order-desk/phase.yaml", step)
    mild = served.run("gate", "order-desk/phase.yaml", "--judges", "never")
    assert (mild.returncode, "| pass_rate | 0.00" in mild.stdout) == (0, True)


def test_a_finished_run_can_be_gated(served: Any) -> None:
    served.run(*RUN, "--judges", "ace", "--tag", "money")
    latest = max(
        (served.folder / "order-desk/results/latest/").glob("run-*.json"),
        key=lambda path: path.stat().st_mtime,
    )
    assert served.run("gate", str(latest), "--set", "pass@1=0.9").returncode == 0
    unknown = served.run("gate", str(latest), "--context", "production")
    assert unknown.returncode == 3
    assert "| pass^3 | – | 0.80 | INCONCLUSIVE |" in unknown.stdout
    assert served.run("gate", "last", "--set", "pass_at_1=0.9").returncode == 0
    assert served.run("gate", "last", "--set", "pass_at_1=0.9", "--strict").returncode == 1
    own = served.run("gate", "last")
    assert (own.returncode, "| pass@1 | 1.00 [0.21, 1.00] | 0.80 | PASS |" in own.stdout) == (0, True)


def test_a_suite_can_be_baked_off_like_any_evalset(served: Any) -> None:
    document = served.bake(
        "bake-off", "--eval-set", "order-desk/capability/text/order-numbers.yaml", "--judges", "ace,never"
    )
    assert (document["task"], {run["judge"]: run["n_pass"] for run in document["runs"]}) == (
        "order-numbers",
        {"ace": 3, "never": 0},
    )


@pytest.mark.parametrize(("factor", "code"), [(2, 0), (3, 1)])
def test_a_skill_is_really_run_by_its_program(served: Any, factor: int, code: int) -> None:
    served.write("run-skill.py", RUN_SKILL)
    served.write("words.yaml", SKILL_EVAL.replace("FACTOR", str(factor)))
    document = served.bake("suite", "run", "words.yaml", "--judges", "ace", code=code)
    assert document["eval_report"]["summary"]["passed"] == 1 - code


def test_a_new_suite_can_be_run_and_reported(served: Any) -> None:
    made = served.run("suite", "create", "fresh", "--capability", "cap-new")
    assert (made.returncode, "wrote fresh/capability/cap-new.yaml" in made.stdout) == (0, True)
    served.bake("suite", "run", "fresh", "--judges", "ace")
    again = served.bake("suite", "report", "last")
    assert again["eval_report"]["metadata"]["suite_name"] == "fresh"
    assert again["eval_report"]["summary"]["passed"] == 1


def test_the_schema_of_the_report_is_printed(project: Any) -> None:
    assert json.loads(project.run("suite", "schema").stdout) == report_schema()


def test_nothing_is_spent_on_a_suite_that_cannot_be_run(served: Any) -> None:
    before = served.rows("SELECT count(*) FROM bakeoffs")
    nobody = served.run("suite", "run", "order-desk")
    assert (nobody.returncode, "no judge is named" in nobody.stderr) == (2, True)
    served.write(
        "bad/eval-suite.yaml", "eval_suite:\n  name: B\n  evals:\n    - $ref: ../order-desk/trigger.yaml\n"
    )
    escape = served.run("suite", "run", "bad", "--judges", "ace")
    assert (escape.returncode, "leads out of its folder" in escape.stderr) == (2, True)
    dry = served.run(*RUN, "--judges", "ace", "--dry-run")
    assert (dry.returncode, "8 calls plus grading" in dry.stderr) == (0, True)
    assert served.rows("SELECT count(*) FROM bakeoffs") == before
