"""A suite run is one thing with one id, however many bake-offs and retries it took."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

SETTINGS = """\
fleet: {processes: 1, slots: 16}
judges:
  half:
    provider: simulated
    model: half
    accuracy: 1.0
    time_scale: 0
    price: {input: 1, output: 5}
    answers: {e0: wrong, e1: wrong, r2: wrong}
"""
SUITE = """\
eval_suite:
  name: Desk
  config: {retries: 1}
  evals:
"""


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """A suite of four evals, of which one judge always fails two."""
    made = new_project(SETTINGS)
    evals = "".join(f"    - {{id: e{i}, input: say y, expected: y}}\n" for i in range(4))
    made.write("desk/eval-suite.yaml", SUITE + evals)
    return made


@pytest.fixture(scope="module")
def ran(served: Any) -> dict[str, Any]:
    """The report of a run whose two failures were tried again in a bake-off of their own."""
    report: dict[str, Any] = served.bake("suite", "run", "desk", "--judges", "half", code=1)["eval_report"]
    assert len(report["metadata"]["bakeoffs"]) == 2
    return report


def gate_last(served: Any) -> dict[str, Any]:
    gate: dict[str, Any] = served.bake("gate", "last", "--set", "pass_rate=0.5")["gates"][0]
    return gate


def test_gate_last_after_retries_judges_the_whole_run(served: Any, ran: dict[str, Any]) -> None:
    found = gate_last(served)
    assert found["summary"] == ran["summary"]
    assert (found["summary"]["total_evals"], found["summary"]["passed"]) == (4, 2)


def test_every_bake_off_of_a_run_leads_the_gate_to_the_whole_run(served: Any, ran: dict[str, Any]) -> None:
    for bakeoff_id in ran["metadata"]["bakeoffs"]:
        done = served.run("gate", str(bakeoff_id), "--set", "pass_rate=0.5", "--json")
        assert (done.returncode, json.loads(done.stdout)["gates"][0]["summary"]) == (0, ran["summary"])
        assert f"bake-off {bakeoff_id} is part of {ran['metadata']['suite_run']}" in done.stderr


def test_the_id_of_a_run_is_printed_and_shows_its_report_again(served: Any, ran: dict[str, Any]) -> None:
    assert served.bake("inspect", ran["metadata"]["suite_run"])["eval_report"] == ran
    done = served.run("suite", "run", "desk", "--judges", "half")
    (name,) = re.findall(r"^(suite-\d+): Desk: 2/4 passed", done.stdout, re.MULTILINE)
    assert f"next  evalq gate {name}" in done.stderr
    for command in (("inspect", name), ("suite", "report", "last")):
        assert f"{name}: Desk: 2/4 passed" in served.run(*command).stdout


def test_a_report_of_a_run_is_written_again_where_it_is_wanted(served: Any, ran: dict[str, Any]) -> None:
    done = served.run("suite", "report", ran["metadata"]["suite_run"], "--output-dir", "again")
    assert done.returncode == 0, done.stderr
    (path,) = (served.folder / "again").glob("*-*-*/run-*.json")
    assert json.loads(path.read_text("utf-8"))["eval_report"] == ran


def test_an_unknown_run_is_an_error_that_says_so(served: Any, ran: dict[str, Any]) -> None:
    for command in (("gate", "suite-999", "--set", "pass_rate=1"), ("inspect", "suite-999")):
        done = served.run(*command)
        assert (done.returncode, "there is no suite run suite-999" in done.stderr) == (2, True)
    done = served.run("inspect", ran["metadata"]["suite_run"], "--calls")
    ids = ", ".join(str(one) for one in ran["metadata"]["bakeoffs"])
    assert (done.returncode, f"one of its bake-offs: {ids}" in done.stderr) == (2, True)


def test_captured_baselines_are_no_run_that_a_gate_may_judge(served: Any, ran: dict[str, Any]) -> None:
    served.write(
        "reg/eval-suite.yaml",
        "eval_suite:\n  name: Reg\n  evals:\n"
        "    - {id: r1, current: {input: say y}, comparison: {type: exact}}\n",
    )
    before = gate_last(served)["suite_run"]
    captured = served.bake("baseline", "capture", "reg", "--judges", "half")
    refused = served.run("gate", captured["suite_run"], "--set", "pass_rate=1")
    assert (refused.returncode, "captured baselines" in refused.stderr) == (2, True)
    assert gate_last(served)["suite_run"] == before
    compared = served.bake("baseline", "compare", "reg", "--judges", "half")
    again = served.bake("baseline", "compare", compared["suite_run"])
    assert again == compared
    shown = served.bake("baseline", "show", "reg")["baselines"]
    for suite_run in (captured["suite_run"], compared["suite_run"]):
        assert served.bake("baseline", "show", suite_run)["baselines"] == shown
    anew = served.run("baseline", "capture", compared["suite_run"])
    assert (anew.returncode, "give the suite's file or folder" in anew.stderr) == (2, True)


def test_an_answer_that_fails_another_grader_is_not_captured_without_a_word(served: Any) -> None:
    grader = "{type: code, config: {method: regex, pattern: nothing-says-this}}"
    served.write(
        "doubt/eval-suite.yaml",
        "eval_suite:\n  name: Doubt\n  evals:\n"
        f"    - {{id: r2, current: {{input: say y}}, comparison: {{type: exact}}, graders: [{grader}]}}\n",
    )
    captured = served.bake("baseline", "capture", "doubt", "--judges", "half", code=3)
    assert (captured["captured"], captured["missing"]) == ([], [])
    assert "it fails " in captured["doubtful"][0]["reason"]
    kept = served.bake("baseline", "capture", "doubt", "--judges", "half", "--accept-doubtful")
    assert [one["eval_id"] for one in kept["captured"]] == ["r2"]
