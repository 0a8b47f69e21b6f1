"""Who grades: the task's model, or a simulation where only simulated judges are on trial."""

from dataclasses import replace
from pathlib import Path

import pytest

from evalq.bakeoff import Request, prepare
from evalq.errors import InputError, Refused
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
