"""Eva prompts from the command line: the exam, its record, the gates, and triggering at scale."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples/eva/prompts"
SETTINGS = """\
fleet: {processes: 1, slots: 16}
judges:
  perfect: {provider: simulated, model: perfect, accuracy: 1, time_scale: 0, price: {input: 1, output: 5}}
  hopeless: {provider: simulated, model: hopeless, accuracy: 0, time_scale: 0, price: {input: 1, output: 5}}
  mumbler:
    provider: simulated
    model: mumbler
    accuracy: 1
    time_scale: 0
    price: {input: 1, output: 5}
    answers: {"trigger:refactor src/foo.py to remove the global state": "Sure, I would load it."}
"""
META = """\
id: refactor
title: Refactor a file
summary: Rewrites one file.
status: tested
version: 0.3.1
created: 2026-01-05
updated: 2026-01-06
inputs:
  - {name: file_contents, required: false}
  - {name: constraints, required: true}
description: Rewrites one file as a minimal diff. Use when a file is to be refactored.
triggers: [refactor this file]
not_for: [explanations, weather]
"""
PROMPT = "<prompt><file>{{file_contents}}</file><constraints>{{constraints}}</constraints></prompt>\n"
EVAL = """\
defaults:
  model: claude-opus-4-7
  timeout_s: 60
cases:
  - name: small-file-happy-path
    inputs_from: examples/happy-path # OR inline `inputs:` mapping
    assert:
      - contains: "<diff>"
      - max_tokens: 2000
    rubric: "Score from 1 to 5 how small the diff is."
    judge: { model: claude-haiku-4-5-20251001, pass_threshold: 4 }
  - name: rejects-empty
    inputs: {constraints: ""}
    assert:
      - contains: "constraints empty"
triggering:
  judge:
    model: claude-haiku-4-5-20251001 # falls back to defaults.model
  should_match:
    - "refactor src/foo.py to remove the global state"
  should_not_match:
    - "explain what this file does"
    - "what's the weather in San Francisco"
"""
NAMES = [
    "trigger:refactor src/foo.py to remove the global state",
    "trigger:explain what this file does",
    "trigger:what's the weather in San Francisco",
    "small-file-happy-path",
    "rejects-empty",
]


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """A repository of prompts: the examples, and one that says all its format can say."""
    project = new_project(SETTINGS)
    shutil.copytree(EXAMPLES, project.folder / "prompts")
    for name, text in {"meta.yml": META, "prompt.xml": PROMPT, "eval.yml": EVAL}.items():
        project.write(f"prompts/refactor/{name}", text)
    project.write("prompts/refactor/examples/happy-path/inputs.yml", "file_contents: x\nconstraints: few\n")
    return project


def rows(project: Any, prompt: str = "refactor") -> list[dict[str, Any]]:
    path = project.folder / f"prompts/{prompt}/.eval.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def sit(project: Any, *arguments: str, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = project.bake("eva", "eval", "prompts/refactor", *arguments, code=code)
    return document


def test_an_exam_that_is_passed_leaves_one_row_and_opens_the_gate(served: Any) -> None:
    refused = served.run("eva", "promote", "refactor")
    assert refused.returncode == 1
    assert "unmet gate: eval: .eval.jsonl has no row" in refused.stdout
    document = sit(served, "--judge", "perfect")
    assert [line["name"] for line in document["triggers"] + document["cases"]] == NAMES
    assert [mark["grader"] for mark in document["cases"][0]["marks"]] == ["contains", "max_tokens", "rubric"]
    (row,) = rows(served)
    assert list(row) == ["ts", "all_passed", "total", "passed", "failed_cases"]
    assert (row["all_passed"], row["total"], row["passed"], row["failed_cases"]) == (True, 5, 5, [])
    assert row["ts"].endswith("Z")
    served.write("prompts/refactor/.usage.jsonl", '{"sent": true, "verified": true}\n' * 10)
    granted = served.run("eva", "promote", "refactor")
    assert (granted.returncode, granted.stdout) == (0, "refactor: tested → ready\n")
    meta = (served.folder / "prompts/refactor/meta.yml").read_text("utf-8")
    assert meta.replace("status: ready", "status: tested").splitlines()[:6] == META.splitlines()[:6]


def test_one_failed_line_fails_the_whole(served: Any) -> None:
    before = rows(served)
    document = sit(served, "--judge", "hopeless", code=1)
    assert document["failed_cases"] == NAMES
    assert document["errored_cases"] == []
    assert rows(served)[: len(before)] == before
    assert rows(served)[len(before) :] == [{key: document[key] for key in rows(served)[-1]}]


def test_an_unreadable_decision_fails_the_exam_and_is_told_as_an_error(served: Any) -> None:
    document = sit(served, "--judge", "mumbler", code=1)
    assert (document["passed"], document["failed_cases"]) == (4, NAMES[:1])
    assert document["errored_cases"] == NAMES[:1]
    assert "judge output unparseable: 'Sure, I would load it.'" in document["triggers"][0]["reason"]


def test_one_case_alone_leaves_the_requests_out(served: Any) -> None:
    document = sit(served, "--judge", "perfect", "--case", "rejects-empty")
    assert (document["total"], document["triggers"]) == (1, [])
    assert rows(served)[-1]["total"] == 1


def test_the_cases_of_a_prompt_are_a_bake_off_of_several_judges(served: Any) -> None:
    document = served.bake(
        "bake-off", "--eval-set", "prompts/refactor/eval.yml", "--judges", "perfect,hopeless"
    )
    assert (document["task"], document["eval_set"]) == ("refactor", "eval")
    assert {run["judge"]: (run["n_pass"], run["n_fail"]) for run in document["runs"]} == {
        "perfect": (2, 0),
        "hopeless": (0, 2),
    }


@pytest.mark.parametrize("name", ["tidy-function", "changelog-line"])
def test_the_examples_run_as_they_are(served: Any, name: str) -> None:
    document = served.bake("eva", "eval", name, "--judge", "perfect")
    assert document["all_passed"] is True
    assert len(rows(served, name)) == 1


def test_triggering_is_measured_with_rates_and_confusion(served: Any) -> None:
    judges = ("--judges", "perfect,hopeless,mumbler", "--runs", "4")
    document = served.bake("triggers", "--skill", "prompts/refactor/meta.yml", *judges, code=1)
    assert document["summary"] == {"total": 9, "passed": 5, "failed": 3, "errored": 1}
    first, _, unread = document["results"][:3]
    assert (first["judge"], first["trigger_rate"], first["runs"], first["pass"]) == ("perfect", 1.0, 4, True)
    assert 0.5 < first["ci_low"] < first["ci_high"] == 1
    assert (unread["judge"], unread["pass"], unread["runs"], unread["errors"]) == ("mumbler", None, 0, 4)
    counts = {one["judge"]: [one[key] for key in ("tp", "fp", "fn", "tn")] for one in document["confusion"]}
    assert counts == {"perfect": [1, 0, 0, 2], "hopeless": [0, 2, 1, 0], "mumbler": [0, 0, 0, 2]}


def test_skills_that_get_each_others_requests_collide(served: Any) -> None:
    skills = ("--skill", "prompts/refactor", "--skill", "prompts/tidy-function", "--runs", "1")
    document = served.bake("triggers", *skills, "--judges", "perfect,hopeless", code=1)
    assert {(one["judge"], one["kind"]) for one in document["collisions"]} == {("hopeless", "goes elsewhere")}
    stolen = next(one for one in document["collisions"] if one["query"].startswith("refactor src/foo.py"))
    assert (stolen["should_go_to"], stolen["claimed_by"]) == (["refactor"], ["tidy-function"])
    assert {one["skill"] for one in document["confusion"]} == {None, "refactor", "tidy-function"}


@pytest.mark.skipif(
    shutil.which("bwrap") is None and os.environ.get("CI") != "true", reason="scripts run in a sandbox only"
)
def test_a_promotion_is_earned_by_uses_that_the_scripts_let_pass(served: Any) -> None:
    meta = META.replace("id: refactor", "id: greet").replace("status: tested", "status: draft")
    served.write("prompts/greet/meta.yml", f"{meta}promotion: {{min_uses: 1}}\n")
    served.write("prompts/greet/prompt.xml", "Greet {{constraints}} of {{file_contents}}")
    served.write(
        "prompts/greet/guard.sh", '[ "$EVA_VAR_constraints" != bad ] || exit 3\necho file_contents=guarded\n'
    )
    served.write(
        "prompts/greet/verify.sh", '[ "$EVA_VAR_file_contents" = guarded ] && [ -s "$EVA_OUTPUT_FILE" ]\n'
    )
    (served.folder / "prompts/greet/verify.sh").chmod(0o755)
    use = ("eva", "use", "greet", "--send", "--judge", "perfect")
    assert served.run(*use, "--var", "constraints=bad").returncode == 5
    assert served.run("eva", "promote", "greet").returncode == 1
    sent = served.run(*use, "--var", "constraints=fine")
    assert sent.returncode == 0, sent.stderr
    (row,) = [
        json.loads(line) for line in (served.folder / "prompts/greet/.usage.jsonl").read_text().splitlines()
    ]
    assert (row["sent"], row["verified"], row["exit_code"]) == (True, True, 0)
    assert served.run("eva", "promote", "greet").returncode == 0
