"""What a drafting model is asked: every stratum its share, the task as it stands, examples of no holdout."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.bakeoff.probes import QueryReply
from evalq.cases.draft_prompt import (
    BATCH,
    DraftCall,
    Stratum,
    allot,
    drafting_set,
    drafting_task,
    load_strata,
    plan_calls,
    strata_of,
)
from evalq.cases.draft_reply import read_drafts
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.shipped import shipped_path
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError

SETS = {
    "knowledge_audit": "dev-93",
    "mail_classify": "dev-30",
    "personal_rag_retrieval": "personal-93",
    "voice_tool_use": "dev-30",
}
every_task = pytest.mark.parametrize("name", SETS)


def shipped(name: str) -> tuple[TaskConfig, list[EvalCase]]:
    evalset = load_evalset(shipped_path("evalsets") / name / f"{SETS[name]}.yaml").evalset
    return load_task(shipped_path("tasks") / f"{name}.yaml"), evalset.cases


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 9))
def test_shares_are_even_and_sum_to_what_is_wanted(n: int, size: int, seed: int) -> None:
    shares = allot(n, [Stratum()] * size, seed=seed)
    assert sum(shares) == n
    assert max(shares) - min(shares) <= 1


def test_a_call_is_for_one_stratum_and_no_more_than_a_batch() -> None:
    strata = [Stratum({"lang": "EN"}), Stratum({"lang": "DE"})]
    questions = plan_calls(24, strata, seed=0)
    assert [(one.id, one.n) for one in questions] == [
        *(("EN-1", 5), ("EN-2", 5), ("EN-3", 2)),
        *(("DE-1", 5), ("DE-2", 5), ("DE-3", 2)),
    ]
    assert max(one.n for one in questions) == BATCH


def test_calls_have_ids_of_their_own_even_where_strata_are_named_alike() -> None:
    strata = [Stratum({"a": "x_y"}), Stratum({"a": "x", "b": "y"}), Stratum()]
    assert [one.id for one in plan_calls(3, strata, seed=0)] == ["x_y-1", "x_y-2", "all-1"]


def test_strata_come_from_a_set_with_the_type_they_share() -> None:
    _, cases = shipped("knowledge_audit")
    found = strata_of(cases)
    assert len(found) == 15
    assert Counter(one.expected_type for one in found) == {"positive": 6, "negative": 9}
    assert strata_of([]) == [Stratum()]


def test_strata_come_from_a_file_listed_or_combined(tmp_path: Path) -> None:
    path = tmp_path / "strata.yaml"
    path.write_text("- {lang: EN, bucket: clear}\n- {lang: DE}\n", "utf-8")
    assert [one.values for one in load_strata(path)] == [{"lang": "EN", "bucket": "clear"}, {"lang": "DE"}]
    path.write_text("bucket: [clear, odd]\nlang: [EN, DE]\n", "utf-8")
    assert [one.name for one in load_strata(path)] == ["clear_EN", "clear_DE", "odd_EN", "odd_DE"]


@pytest.mark.parametrize("text", ["", "[]", "lang: EN", "- EN", "- {lang: 3}", "- {}"])
def test_what_are_no_strata_is_refused_with_how_to_write_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "strata.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match="write a list of strata"):
        load_strata(path)


@every_task
def test_the_drafting_task_tells_all_of_the_task_and_its_form(name: str) -> None:
    task, _ = shipped(name)
    told = drafting_task(task).system_prompt
    assert task.system_prompt.strip() in told
    assert task.user_template.strip() in told
    assert {"answer": '"answer"', "ranking": '"relevant"', "findings": '"any_of"', "text": '"answer"'}[
        task.answer_form()
    ] in told
    assert not any(word in told for word in ("SYSTEM_PROMPT", "USER_TEMPLATE", "INPUTS", "EXPECTED"))


def test_a_question_shows_its_stratum_and_a_few_cases_of_it_alone() -> None:
    task, cases = shipped("mail_classify")
    questions = plan_calls(9, strata_of(cases), seed=0)
    asked = drafting_set(task, "draft-9", questions, cases, seed=0).cases
    for case in asked:
        lines = case.inputs["request"].split("\n")
        shown = [json.loads(line) for line in lines if line.startswith("{")]
        own = [other.inputs for other in cases if other.stratum == case.stratum]
        assert 1 <= len(shown) <= 3
        assert all(one["inputs"] in own for one in shown)
        assert f"lang is {case.stratum['lang']}" in lines[1]


def test_another_seed_shows_other_examples_and_the_same_one_the_same() -> None:
    task, cases = shipped("mail_classify")
    questions = [DraftCall("all-1", Stratum(), 5)]
    first, again, other = (drafting_set(task, "d", questions, cases, seed=seed) for seed in (0, 0, 1))
    assert first == again != other


@every_task
def test_what_a_simulated_model_answers_is_read_as_drafts_that_fit(name: str) -> None:
    task, cases = shipped(name)
    questions = plan_calls(20, strata_of(cases), seed=0)
    asked = drafting_set(task, "draft-20", questions, cases, seed=0).cases
    replies = {case.id: QueryReply((case.expected or {})["answer"]) for case in asked}
    drafts = read_drafts(task, questions, replies, known=cases)
    assert (len(drafts.cases), drafts.dropped) == (20, ())
    assert all(case.draft for case in drafts.cases)
