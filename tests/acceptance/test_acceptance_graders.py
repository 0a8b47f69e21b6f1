"""Grading from the command line: a grader model with its cache, rankings, and judges of the user's own."""

import json
import sys
from typing import Any

import pytest

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12")
BY_MODEL = (*BAKE, "--judges", "good", "--scorer", "llm_judge", "--grader-model", "sim-grader")

OWN_JUDGES = f"""\
  script: {{provider: command, command: {json.dumps([sys.executable, "script.py"])}}}
  crash:  {{provider: command, command: {json.dumps([sys.executable, "-c", "raise SystemExit(3)"])}}}
  function: {{provider: python, callable: "answers:capital"}}
  missing:  {{provider: python, callable: "answers:nothing"}}
"""
SCRIPT = """\
import json, os, sys
asked = json.load(sys.stdin)
assert not [name for name in os.environ if name.startswith("EVALQ_")]
assert asked["user"] == "What is the capital of " + asked["inputs"]["country"] + "?"
print(json.dumps({"answer": asked["inputs"]["country"].replace("country", "capital")}))
"""
FUNCTION = """\
def capital(inputs):
    return inputs["country"].replace("country", "capital")
"""
GRADES = "SELECT count(*) FROM call_journal WHERE purpose = 'grade' AND bakeoff_id = %s"


@pytest.fixture(scope="module")
def own(served: Any) -> Any:
    """The project with judges of the user's own, two that work and two that do not."""
    settings = (served.folder / "evalq.yaml").read_text("utf-8")
    served.write("evalq.yaml", settings + OWN_JUDGES)
    served.write("script.py", SCRIPT)
    served.write("answers.py", FUNCTION)
    return served


def test_verdicts_of_a_grader_model_are_paid_journalled_and_asked_for_once(served: Any) -> None:
    first = served.bake(*BY_MODEL)
    assert served.rows(GRADES, first["id"]) == [(12,)]
    assert served.rows("SELECT count(*), min(grader_model) FROM verdict_cache") == [(12, "sim-grader")]
    assert (first["grader"], first["calls"]["sent"], first["calls"]["cached_verdicts"]) == (
        "sim-grader",
        24,
        0,
    )
    assert float(first["runs"][0]["grading_cost_usd"]) > 0
    again = served.bake(*BY_MODEL)
    assert (again["calls"]["cached_verdicts"], served.rows(GRADES, again["id"])) == (12, [(0,)])
    assert float(again["saved_usd"]) == float(first["runs"][0]["grading_cost_usd"])
    assert again["runs"][0]["n_pass"] == first["runs"][0]["n_pass"]
    task = (served.folder / "tasks/capitals.yaml").read_text("utf-8")
    served.write("tasks/capitals.yaml", task.replace("Expected:", "It should be:"))
    changed = served.bake(*BY_MODEL)
    assert (changed["calls"]["cached_verdicts"], served.rows(GRADES, changed["id"])) == (0, [(12,)])


def test_a_retriever_is_ranked_by_what_it_finds(served: Any) -> None:
    command = (
        "bake-off",
        "--task",
        "personal_rag_retrieval",
        "--eval-set",
        "personal-93",
        "--judges",
        "bm25",
    )
    (run,) = served.bake(*command)["runs"]
    assert {name: rate["n"] for name, rate in run["metrics"].items()} == {
        "hit_at_1": 93,
        "hit_at_3": 93,
        "mrr": 93,
    }
    assert run["metrics"]["hit_at_1"]["accuracy"] <= run["metrics"]["mrr"]["accuracy"]
    assert run["metrics"]["hit_at_3"]["accuracy"] == run["accuracy"]
    assert (run["n_cases"], run["n_error"], run["p50_latency_ms"] is not None) == (93, 0, True)


def test_a_program_and_a_function_of_the_users_own_can_sit_as_judges(own: Any) -> None:
    document = own.bake(*BAKE, "--judges", "script,function")
    assert {run["judge"]: run["n_pass"] for run in document["runs"]} == {"script": 12, "function": 12}
    assert document["spent_usd"] == "0.00"


def test_judges_that_cannot_be_called_are_broken_not_bad(own: Any) -> None:
    document = own.bake(*BAKE, "--judges", "good,crash,missing", code=3)
    runs = {run["judge"]: run for run in document["runs"]}
    assert runs["good"]["n_error"] == 0
    # Identical faults pause a judge, so how many of its cases were asked depends on the slots.
    assert (list(runs["crash"]["errors"]), runs["crash"]["accuracy"]) == (["call_permanent"], None)
    assert runs["crash"]["errors"]["call_permanent"] >= 5
    assert runs["missing"]["excluded"].startswith("paused: cannot import answers:nothing")
    assert runs["missing"]["accuracy"] is None
