"""Files in other formats run as they are: on simulated judges, and on one that calls tools."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"

JUDGES = """\
  right: {provider: simulated, model: right, accuracy: 1, time_scale: 0, price: {input: 1, output: 5}}
  agent: {provider: python, callable: "agent:answer"}
"""
AGENT = """\
def answer(inputs):
    prompt = inputs["prompt"]
    if "Draw" in prompt:
        tools = [("Skill", {"skill": "chart-maker"}), ("Read", {"file_path": "r.csv"}), ("Write", {})]
        return said("Here is the chart.", tools)
    if "spend the most" in prompt:
        assert "--- file: files/ledger-q2.csv ---" in prompt and "Rent April to June" in prompt
        return said("Rent, with 4,200 euros.", [("Skill", {"skill": "ledger-reader"})])
    if "as JSON" in prompt:
        return said('{"income": 18400, "expenses": 9750}', [])
    return said("Good morning!", [])


def said(text, tools):
    return {"answer": text, "tool_calls": [{"name": name, "arguments": given} for name, given in tools]}
"""


@pytest.fixture(scope="module")
def ready(served: Any) -> Any:
    """The project with the examples in it, and judges to try them on."""
    settings = (served.folder / "evalq.yaml").read_text("utf-8")
    served.write("evalq.yaml", settings + JUDGES)
    served.write("agent.py", AGENT)
    for name in ("eval-yaml", "evals-json", "promptfoo", "tables"):
        shutil.copytree(EXAMPLES / name, served.folder / name)
    return served


def strata(document: dict[str, Any], judge: str) -> dict[str, float]:
    run = next(run for run in document["runs"] if run["judge"] == judge)
    return {name: found["accuracy"] for name, found in run["per_stratum"].items()}


def test_an_eval_yaml_is_run_on_simulated_judges_by_description(ready: Any) -> None:
    document = ready.bake("bake-off", "--eval-set", "eval-yaml/EVAL.yaml", "--judges", "right,poor")
    assert (document["task"], document["eval_set"], document["state"]) == (
        "ledger-workspace",
        "EVAL",
        "concluded",
    )
    assert [run["n_cases"] for run in document["runs"]] == [9, 9]
    assert strata(document, "right")["trigger"] == 1.0
    assert strata(document, "poor")["trigger"] < 1.0


def test_an_eval_yaml_is_run_on_an_agent_by_its_tool_calls(ready: Any) -> None:
    document = ready.bake(
        *("bake-off", "--eval-set", "eval-yaml/EVAL.yaml", "--judges", "agent", "--samples", "1"),
        *("--grader-model", "sim-grader"),
    )
    (run,) = document["runs"]
    assert (run["n_cases"], run["n_error"]) == (4, 0)
    metrics = run["metrics"]
    assert metrics["skill_triggered"]["accuracy"] == 1.0
    assert (metrics["tool_trajectory"]["accuracy"], metrics["field_accuracy"]["accuracy"]) == (1.0, 1.0)


def test_evals_json_is_run(ready: Any) -> None:
    document = ready.bake("bake-off", "--eval-set", "evals-json/evals/evals.json", "--judges", "right")
    (run,) = document["runs"]
    assert (document["task"], run["n_cases"], run["n_error"]) == ("table-cleaner", 4, 0)
    assert strata(document, "right")["trigger"] == 1.0


def test_a_promptfoo_configuration_is_run_prompt_by_prompt(ready: Any) -> None:
    done = ready.run(
        "bake-off", "--eval-set", "promptfoo/promptfooconfig.yaml", "--judges", "right", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert (
        "warning: promptfoo/promptfooconfig.yaml:32: javascript has no counterpart: left out" in done.stderr
    )
    document = json.loads(done.stdout)
    assert document["runs"][0]["n_cases"] == 6
    assert set(strata(document, "right")) == {"short", "polite"}


def test_a_table_is_run_as_it_was_guessed(ready: Any) -> None:
    done = ready.run("bake-off", "--eval-set", "tables/capitals.csv", "--judges", "right", "--json")
    assert "guessed: column 'question' is taken for what is asked" in done.stderr
    assert json.loads(done.stdout)["runs"][0]["accuracy"] == 1.0


def test_what_is_imported_runs_the_same(ready: Any) -> None:
    done = ready.run(
        *(
            "import",
            "eval-yaml/EVAL.yaml",
            "--task",
            "ledger",
            "--eval-set",
            "all",
            "--trigger-mode",
            "description",
        )
    )
    assert done.returncode == 0, done.stderr
    assert ready.run("check").returncode == 0
    document = ready.bake("bake-off", "--task", "ledger", "--eval-set", "all", "--judges", "right")
    assert document["runs"][0]["n_cases"] == 9
