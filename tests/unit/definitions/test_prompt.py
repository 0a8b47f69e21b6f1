import pytest

from evalq.definitions.evalset import EvalCase
from evalq.definitions.prompt import answer_prompt, describe_case
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.records import CaseContext, Completion

CASE = EvalCase(
    id="c1",
    inputs={"text": "a {brace}", "list": [1, "ü"]},
    expected={"answer": "secret"},
    stratum={"bucket": "easy", "lang": "EN"},
)


def task(**fields: object) -> TaskConfig:
    scoring = {"mode": "strict_substring", "pass_rule": fields.pop("pass_rule", "exact_match")}
    known = {
        "name": "t",
        "system_prompt": "Be {brief}.",
        "user_template": "{text} / {list}",
        "scoring": scoring,
    }
    return TaskConfig.model_validate(known | fields)


def test_a_prompt_is_the_template_with_the_cases_inputs() -> None:
    prompt = answer_prompt(task(max_tokens=7, temperature=0.5), CASE)
    assert prompt.user == 'a {brace} / [1,"ü"]'
    assert (prompt.system, prompt.max_tokens, prompt.temperature) == ("Be {brief}.", 7, 0.5)


def test_no_temperature_is_sent_unless_the_task_sets_one() -> None:
    assert answer_prompt(task(), CASE).temperature is None


def test_the_expected_answer_is_never_in_what_a_model_reads() -> None:
    prompt = answer_prompt(task(), CASE)
    assert "secret" not in prompt.system + prompt.user
    assert prompt.about.expected == {"answer": "secret"}


def test_a_prompt_is_about_its_case_sample_and_seed() -> None:
    told = answer_prompt(task(), CASE, sample=3, seed=7).about
    assert told == CaseContext(
        task="t",
        case_id="c1",
        sample=3,
        seed=7,
        inputs=CASE.inputs,
        expected={"answer": "secret"},
        stratum={"bucket": "easy", "lang": "EN"},
    )


def test_a_negative_case_expects_nothing() -> None:
    told = describe_case(task(), EvalCase(id="n", inputs={}, expected_type="negative"))
    assert (told.is_positive, told.expected, told.stratum) == (False, {}, {})


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({}, "text"),
        ({"pass_rule": FINDINGS_RULE}, "findings"),
        ({"scoring": None, "graders": [{"type": "mrr"}]}, "ranking"),
    ],
)
def test_the_form_of_the_answer_follows_the_task(fields: dict[str, object], form: str) -> None:
    assert describe_case(task(**fields), CASE).answer_form == form


def test_a_case_may_want_a_ranking_by_its_own_graders() -> None:
    ranked = EvalCase.model_validate({"id": "r", "inputs": {}, "graders": [{"type": "mrr"}]})
    assert describe_case(task(scoring=None), ranked).answer_form == "ranking"


def test_only_an_answered_completion_is_an_answer() -> None:
    assert Completion("answered", "").is_answer
    assert not Completion("truncated", "half an answ").is_answer
