"""A bake-off on a file in another format is planned as the file says, and as the judges can show."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request
from evalq.errors import InputError
from evalq.formats import prepare
from evalq.settings import Settings, load_settings

EXAMPLES = Path(__file__).resolve().parents[3] / "docs/examples"
JUDGES = """\
judges:
  sim: {provider: simulated, model: sim}
  agent: {provider: python, callable: "agent:answer"}
  model: {provider: anthropic, model: claude-haiku-4-5}
  tooled: {provider: anthropic, model: claude-haiku-4-5, params: {tools: [{name: Skill}]}}
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evalq.yaml").write_text(JUDGES, "utf-8")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return load_settings(tmp_path, {})


def planned(
    settings: Settings, *judges: str, eval_set: str = "examples/eval-yaml/EVAL.yaml", **more: Any
) -> Plan:
    request = replace(Request("", eval_set, judges, grader_model="sim-grader"), **more)
    return prepare(request, settings, Path.cwd())


def kinds(plan: Plan) -> set[str]:
    return {grader.type for case in plan.evalset.cases for grader in case.graders}


@pytest.mark.parametrize(("samples", "wanted"), [(None, 3), (1, 1), (5, 5)])
def test_trials_are_samples_unless_others_are_asked_for(
    settings: Settings, samples: int | None, wanted: int
) -> None:
    assert planned(settings, "sim", samples=samples).samples == wanted


@pytest.mark.parametrize(
    ("judge", "by_tools"), [("sim", False), ("model", False), ("agent", True), ("tooled", True)]
)
def test_triggers_are_decided_as_the_judge_can_show_it(
    settings: Settings, judge: str, by_tools: bool
) -> None:
    plan = planned(settings, judge)
    assert ("skill_triggered" in kinds(plan), "decision" in kinds(plan)) == (by_tools, not by_tools)


def test_one_may_say_how(settings: Settings) -> None:
    assert "skill_triggered" in kinds(planned(settings, "sim", trigger_mode="tool_calls"))
    assert "decision" in kinds(planned(settings, "agent", "sim", trigger_mode="description"))


def test_judges_with_tools_and_without_are_asked_the_same(settings: Settings) -> None:
    plan = planned(settings, "agent", "sim")
    assert "decision" in kinds(plan)
    assert any(warning.startswith("agent may call tools and sim may not") for warning in plan.warnings)
    told = planned(settings, "agent", "sim", trigger_mode="description")
    assert not any("may call tools" in warning for warning in told.warnings)


def test_what_is_lost_or_guessed_is_warned_of(settings: Settings) -> None:
    (warning,) = planned(settings, "sim", eval_set="examples/tables/capitals.csv").warnings
    assert "guessed: column 'question'" in warning


def test_a_table_beside_a_task_is_its_evalset(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    task = {
        "name": "t",
        "system_prompt": "",
        "user_template": "{question}",
        "graders": [{"type": "icontains"}],
    }
    (tmp_path / "tasks/t.json").write_text(json.dumps(task), "utf-8")
    (tmp_path / "mine.csv").write_text("id,question,expected\na,Why?,because\n", "utf-8")
    plan = planned(settings, "sim", eval_set="mine.csv", task="t")
    assert (plan.task.name, plan.evalset.cases[0].inputs) == ("t", {"question": "Why?"})


def test_an_eval_yaml_brings_its_own_task(settings: Settings) -> None:
    with pytest.raises(InputError, match="brings its own task; leave out --task"):
        planned(settings, "sim", task="capitals")


def test_a_file_from_outside_is_refused(settings: Settings, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.txt").write_text("hidden word", "utf-8")
    block = {"type": "file", "value": "../secret.txt"}
    asked = [{"role": "user", "content": [block, {"type": "text", "value": "x"}]}]
    (tmp_path / "EVAL.yaml").write_text(
        json.dumps({"tests": [{"id": "a", "criteria": "c", "input": asked}]}), "utf-8"
    )
    with pytest.raises(InputError, match=r"EVAL\.yaml:1: '\.\./secret\.txt' leads out of its folder"):
        planned(settings, "sim", eval_set="EVAL.yaml")
