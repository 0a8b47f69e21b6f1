from typing import Any

import pytest

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.fit import check_fit
from evalq.definitions.task import FINDINGS_RULE, TaskConfig


def task_of(template: str = "", **fields: Any) -> TaskConfig:
    fields = fields or {"scoring": {"mode": "llm_judge", "judge_model": "g", "rubric": "built_in"}}
    return TaskConfig.model_validate({"name": "t", "system_prompt": "", "user_template": template, **fields})


def strict(rule: str) -> TaskConfig:
    return task_of(scoring={"mode": "strict_substring", "pass_rule": rule})


def judged(rubric: str) -> TaskConfig:
    return task_of(scoring={"mode": "llm_judge", "judge_model": "g", "rubric": rubric})


def misfits(task: TaskConfig, *cases: dict[str, Any]) -> list[str]:
    valid = [EvalCase.model_validate({"id": f"c{i}", "inputs": {}} | case) for i, case in enumerate(cases)]
    lines = {case.id: i + 10 for i, case in enumerate(valid)}
    loaded = LoadedEvalSet(EvalSet(name="dev", cases=valid), "dev.yaml", lines)
    return [str(problem) for problem in check_fit(task, loaded)]


def test_a_fitting_pair_has_no_problems() -> None:
    assert misfits(task_of("{text} {{literal}}"), {"inputs": {"text": "x", "other": 1}}) == []


def test_a_template_naming_an_absent_input_names_the_case_and_the_near_input() -> None:
    (problem,) = misfits(task_of("{txt}"), {"inputs": {"txt": 1}}, {"inputs": {"text": 1}})
    assert problem.startswith(
        "dev.yaml:11: case 'c1': user_template uses {txt}, which is not among the inputs; add"
    )
    assert problem.endswith("did you mean 'text'? (known: text)")


def test_a_case_without_inputs_has_no_near_names() -> None:
    assert misfits(task_of("{x}"), {})[0].endswith("add x to the case's inputs, or change the template")


def test_at_most_ten_cases_are_listed() -> None:
    problems = misfits(task_of("{x}"), *[{} for _ in range(14)])
    assert len(problems) == 11
    assert problems[-1] == "dev.yaml: and 4 more cases like that"


def test_lines_are_left_out_when_they_are_not_known() -> None:
    evalset = EvalSet(name="dev", cases=[EvalCase(id="a", inputs={})])
    (problem,) = check_fit(task_of("{x}"), LoadedEvalSet(evalset))
    assert str(problem).startswith("case 'a': user_template uses {x}")


def test_a_rubric_may_name_what_the_grader_brings_and_any_input() -> None:
    rubric = "{sources} {finding_json} {answer} {expected} {text}"
    assert misfits(judged(rubric), {"inputs": {"text": 1}}) == []
    assert "scoring.rubric uses {text}" in misfits(judged(rubric), {})[0]


def test_a_built_in_rubric_is_left_to_the_graders() -> None:
    assert misfits(judged("knowledge_audit"), {}) == []


@pytest.mark.parametrize(
    ("rule", "expected", "is_fine"),
    [
        ("exact_match", {"answer": "x"}, True),
        ("exact_match", {"answer": 4}, False),
        ("exact_match", {"any_of": ["x"]}, False),
        ("exact_match", None, False),
        ("any_substring", {"any_of": ["x", "y"]}, True),
        ("any_substring", {"answer": "x"}, True),
        ("any_substring", {"any_of": [], "answer": "x"}, False),
        ("any_substring", {"any_of": ["x", " "]}, False),
        ("any_substring", {"any_of": "x"}, False),
        ("any_substring", None, False),
        (FINDINGS_RULE, {"any_of": ["x"]}, True),
        (FINDINGS_RULE, {"any_of": []}, False),
        (FINDINGS_RULE, None, False),
    ],
)
def test_expected_holds_what_the_pass_rule_needs(rule: str, expected: Any, is_fine: bool) -> None:
    problems = misfits(strict(rule), {"expected": expected})
    assert (problems == []) is is_fine
    assert all("; add expected: {" in problem for problem in problems)


def test_a_negative_case_needs_nothing_to_be_found() -> None:
    assert misfits(strict(FINDINGS_RULE), {"expected_type": "negative"}) == []


def test_a_conversation_does_without_the_template_s_names() -> None:
    messages = [{"role": "user", "content": "Hello?"}]
    assert misfits(task_of("{text}"), {"messages": messages}) == []
    assert len(misfits(task_of("{text}"), {"messages": messages}, {})) == 1


def test_a_case_that_nothing_marks_does_not_fit() -> None:
    unmarked = task_of(description="no scoring, no graders")
    fine, bare = {"graders": [{"type": "is_json"}]}, {}
    assert misfits(unmarked, fine, bare) == [
        "dev.yaml:11: case 'c1': nothing marks the answers; "
        "add graders: to the case, or scoring: or graders: to the task"
    ]
    assert misfits(task_of(graders=[{"type": "is_json"}]), bare) == []


TEXTS = ["contains", "icontains", "starts_with", "ends_with", "equals", "levenshtein"]
NEEDS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    *[({"type": kind}, {"answer": "x"}, {"answer": 3}, "expected.answer, a text") for kind in TEXTS],
    (
        {"type": "equals"},
        {"answer": "x", "alternatives": ["y"]},
        {"answer": "x", "alternatives": [3]},
        "a text",
    ),
    (
        {"type": "not_contains"},
        {"must_not_include": "x"},
        {"answer": "x"},
        "expected.must_not_include, a list",
    ),
    ({"type": "not_contains"}, {"must_not_include": ["x"]}, {"must_not_include": [[]]}, "a list of texts"),
    ({"type": "contains_any"}, {"any_of": ["x"]}, {"any_of": [""]}, "expected.any_of, a list of texts"),
    ({"type": "contains_any"}, {"answer": "x"}, {"all_of": ["x"]}, "expected.any_of, a list of texts"),
    ({"type": "contains_all"}, {"all_of": ["x"]}, {"all_of": "x"}, "expected.all_of, a list of texts"),
    ({"type": "matches"}, {"pattern": "x"}, {}, "expected.pattern, a regular expression"),
    (
        {"type": "not_matches"},
        {"must_not_match": "x"},
        {"must_not_match": "("},
        "expected.must_not_match: not a regular expression",
    ),
    ({"type": "json_schema"}, {"schema": {}}, {"schema": []}, "expected.schema, a JSON Schema"),
    (
        {"type": "json_schema"},
        {"schema": True},
        {"schema": {"type": 3}},
        "expected.schema: not a JSON Schema",
    ),
    ({"type": "json_path", "path": "a"}, {"answer": None}, {}, "expected.answer, any JSON value"),
    ({"type": "numeric"}, {"answer": 3}, {"answer": "3"}, "expected.answer, a number without quotes"),
    ({"type": "structural_match"}, {"answer": {}}, {}, "expected.answer, any JSON value"),
    ({"type": "structural_match"}, {"answer": 1}, {"answer": "{{any_x}}"}, "expected.answer: no matcher is"),
    ({"type": "semantic"}, {"must_include": ["x"]}, {"must_include": [3]}, "expected.must_include, a list"),
    ({"type": "semantic"}, {"must_not_include": "x"}, {}, "expected.must_include, a list of texts"),
    (
        {"type": "field_accuracy", "fields": [{"path": "a"}]},
        {"answer": {"a": 1}},
        {"answer": "a is 1"},
        "expected.answer, a mapping",
    ),
    (
        {"type": "field_accuracy", "fields": [{"path": "a"}, {"path": "b", "required": False}]},
        {"answer": {"a": 1}},
        {"answer": {"b": 1}},
        "compares a, which the expected document does not have",
    ),
    (
        {"type": "tool_trajectory", "mode": "exact"},
        {"tools": []},
        {"tools": [3]},
        "expected.tools, a list of tools",
    ),
    ({"type": "skill_triggered"}, {"skill": "x"}, {"skill": ""}, "expected.skill, a skill's name"),
    ({"type": "skill_triggered", "skill": "x"}, {}, {"should_trigger": "no"}, "a skill's name"),
    (
        {"type": "refusal"},
        {"should_refuse": False},
        {"should_refuse": "no"},
        "expected.should_refuse is neither",
    ),
    ({"type": "mrr"}, {"relevant": ["n1"]}, {"relevant": [1]}, "ranking graders need expected.relevant"),
    (
        {"type": "function_output", "function_name": "f"},
        {"test_cases": [{"args": [1], "expected": 1}]},
        {},
        "nothing to call it with",
    ),
]


@pytest.mark.parametrize(("grader", "enough", "too_little", "message"), NEEDS)
def test_what_a_grader_does_not_say_the_case_must(
    grader: dict[str, Any], enough: dict[str, Any], too_little: dict[str, Any], message: str
) -> None:
    (problem,) = misfits(task_of(graders=[grader]), {"expected": enough}, {"expected": too_little})
    assert problem.startswith("dev.yaml:11: case 'c1': ")
    assert message in problem
    assert "; " in problem
    (own,) = misfits(judged("built_in"), {"graders": [grader], "expected": too_little})
    assert message in own


def test_a_grader_that_says_what_it_wants_needs_nothing_of_the_case() -> None:
    graders = [{"type": "contains", "value": "x"}, {"type": "structural_match", "require_keys": ["a"]}]
    graders += [{"type": "tool_trajectory", "mode": "any_order", "minimums": {"a": 1}}, {"type": "is_json"}]
    assert misfits(task_of(graders=graders), {}) == []


@pytest.mark.parametrize(
    ("expected", "is_fine"), [({"relevant": ["n1"]}, True), ({"relevant": [1]}, False), (None, False)]
)
def test_rankings_need_relevant_ids(expected: Any, is_fine: bool) -> None:
    problems = misfits(task_of(graders=[{"type": "mrr"}]), {"expected": expected})
    assert (problems == []) is is_fine
