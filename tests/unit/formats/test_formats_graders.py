"""Who grades: the task's model, or a simulation where only simulated judges are on trial."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff.plan import Plan, own_graders
from evalq.bakeoff.request import Request
from evalq.errors import InputError, Refused
from evalq.formats import prepare
from evalq.settings import Settings

ASKED = Request("knowledge_audit", "dev-93", ["sim-grok-4.3", "sim-opus-4.7"])


def grader_of(request: Request, tmp_path: Path) -> str | None:
    grader = prepare(request, Settings(), tmp_path).grader
    return grader.name if grader else None


def test_simulated_answers_are_graded_by_a_simulation(tmp_path: Path) -> None:
    assert grader_of(ASKED, tmp_path) == "sim-grader"


def test_real_answers_are_graded_by_the_tasks_own_model(tmp_path: Path) -> None:
    assert grader_of(replace(ASKED, judges=["grok-4.3", "sim-opus-4.7"]), tmp_path) == "sonnet-4.6"


def test_a_grader_that_was_named_is_taken_at_its_word(tmp_path: Path) -> None:
    assert grader_of(replace(ASKED, grader_model="haiku-4.5"), tmp_path) == "haiku-4.5"


def test_substrings_need_no_grader(tmp_path: Path) -> None:
    assert grader_of(replace(ASKED, scorer="strict_substring"), tmp_path) is None


def test_an_unpriced_judge_is_refused_unless_allowed(tmp_path: Path) -> None:
    local = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    settings = Settings.model_validate({"judges": {"local": local}})
    request = Request("mail_classify", "dev-30", ["local"])
    with pytest.raises(InputError, match="no price"):
        prepare(request, settings, tmp_path)
    assert prepare(replace(request, allow_unpriced=True), settings, tmp_path).n_jobs == 30


def test_a_smoke_test_takes_the_first_case_only(tmp_path: Path) -> None:
    assert prepare(replace(ASKED, only_first_case=True), Settings(), tmp_path).n_jobs == 2


def test_a_holdout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        prepare(replace(ASKED, eval_set="holdout-99"), Settings(), tmp_path)


def planned(tmp_path: Path, *graders: dict[str, Any], judges: str = "sim-grok-4.3,sim-opus-4.7") -> Plan:
    (tmp_path / "t.json").write_text(
        json.dumps({"name": "t", "system_prompt": "", "user_template": "{q}", "graders": graders})
    )
    (tmp_path / "s.json").write_text(
        json.dumps([{"id": "c", "inputs": {"q": "?"}, "expected": {"answer": "x"}}])
    )
    request = Request(f"{tmp_path}/t.json", f"{tmp_path}/s.json", judges.split(","))
    return prepare(request, Settings(), tmp_path)


def test_an_opponent_must_be_on_trial_too(tmp_path: Path) -> None:
    pairwise = {"type": "pairwise", "against": "sim-opus-4.7"}
    assert planned(tmp_path, pairwise).graders[""].name == "sim-grader"
    with pytest.raises(InputError, match=r"'sim-opus-4\.7', which is not among the judges"):
        planned(tmp_path, pairwise, judges="sim-grok-4.3")


def test_the_simulated_members_of_a_panel_are_not_one(tmp_path: Path) -> None:
    panel = {"type": "rubric", "rubric": "Is it right?", "models": ["haiku-4.5", "grok-4.3"]}
    members = planned(tmp_path, panel).graders
    assert list(members) == ["haiku-4.5", "grok-4.3"]
    assert len({grader.name for grader in members.values()}) == 2


def test_a_grader_without_a_model_takes_the_usual_one_or_is_refused(tmp_path: Path) -> None:
    boolean = {"type": "boolean", "question": "Is it polite?"}
    with pytest.raises(InputError, match="names no model"):
        planned(tmp_path, boolean, judges="haiku-4.5")
    request = Request(f"{tmp_path}/t.json", f"{tmp_path}/s.json", ["haiku-4.5"])
    usual = prepare(request, Settings(grader_model="grok-4.3"), tmp_path)
    assert usual.graders[""].name == "grok-4.3"


def test_a_judge_that_marks_itself_is_found_by_its_model_too(tmp_path: Path) -> None:
    boolean = {"type": "boolean", "question": "Is it polite?", "model": "haiku-4.5"}
    plan = planned(tmp_path, boolean, judges="haiku-4.5,grok-4.3")
    assert own_graders(plan.judges, plan.graders) == ["haiku-4.5"]
