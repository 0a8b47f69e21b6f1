"""An eval.yml is checked strictly, and every problem has its line."""

import pytest

from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError
from evalq.formats.eva.exam import read_exam

CASE = "name: a, inputs: {}"


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_exam(load_yaml(text, "eval.yml"))
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "eval.yml:1: neither cases nor triggering; add one of them"),
        ("cases: [{name: a, assert: [contains: x]}]", "neither inputs nor inputs_from"),
        (f"cases: [{{{CASE}}}]", "neither assert nor rubric"),
        (f"cases: [{{{CASE}, assert: []}}]", "neither assert nor rubric"),
        ("cases: [{inputs: {}, rubric: r}]", "missing key 'name' in cases[0]"),
        ("cases: [{name: '', inputs: {}, rubric: r}]", "cases[0].name: it is empty"),
        (f"cases: [{{{CASE}, rubrik: r}}]", "unknown key 'rubrik' in cases[0]; did you mean 'rubric'?"),
        (
            f"cases: [{{{CASE}, assert: [contain: x]}}]",
            "unknown key 'contain' in cases[0].assert[0]; did you mean",
        ),
        (f"cases: [{{{CASE}, assert: [contains: 5]}}]", "cases[0].assert[0].contains should be text"),
        (f"cases: [{{{CASE}, assert: [contains: '']}}]", "contains: it is empty"),
        (f"cases: [{{{CASE}, assert: [contains_any: []]}}]", "contains_any is empty"),
        (f"cases: [{{{CASE}, assert: [contains_all: x]}}]", "contains_all should be a list"),
        (f"cases: [{{{CASE}, assert: [max_tokens: -1]}}]", "max_tokens"),
        (f"cases: [{{{CASE}, assert: [matches: '(']}}]", "cases[0].assert[0].matches"),
        (f"cases: [{{{CASE}, assert: [json_schema: 5]}}]", "neither a JSON Schema nor the path of one"),
        (
            f"cases: [{{{CASE}, assert: [{{contains: a, matches: b}}]}}]",
            "an assertion is one check with its value",
        ),
        (f"cases: [{{{CASE}, assert: [matches: null]}}]", "an assertion is one check with its value"),
        (f"cases: [{{{CASE}, assert: [{{}}]}}]", "an assertion is one check with its value"),
        (f"cases: [{{{CASE}, rubric: r, judge: {{pass_threshold: 6}}}}]", "pass_threshold"),
        (f"cases: [{{{CASE}, rubric: r, timeout_s: 0}}]", "timeout_s"),
        ("triggering: []", "triggering should be a mapping"),
        ("triggering: {}", "neither should_match nor should_not_match"),
        ("triggering: {should_match: ['']}", "triggering.should_match[0]: it is empty"),
        ("triggering: {should_match: tidy}", "should_match should be a list"),
        ("triggering: {should_match: [5]}", "should_match[0] should be text"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    assert any(message in problem for problem in problems(text)), problems(text)


def test_a_name_may_be_used_once() -> None:
    text = "cases:\n" + "- {name: a, inputs: {}, rubric: Score it.}\n" * 2
    assert problems(text) == ["eval.yml:3: case 'a' is there twice, first on line 2; rename or remove one"]


def test_a_request_cannot_both_match_and_not() -> None:
    text = "triggering:\n  should_match: [q]\n  should_not_match: [q]\n"
    assert problems(text)[0].startswith("eval.yml:3: request 'q' is there twice, first on line 2")


def test_an_empty_block_is_one_that_is_left_out() -> None:
    exam = read_exam(load_yaml("defaults:\ncases:\n- {name: a, inputs: {}, rubric: R}\ntriggering:\n", "f"))
    assert (exam.triggering, exam.total) == (None, 1)


def test_cases_and_requests_are_counted_together() -> None:
    text = (
        "cases: [{name: a, inputs: {}, rubric: R}]\ntriggering: {should_match: [q, r], should_not_match: [s]}"
    )
    assert read_exam(load_yaml(text, "f")).total == 4
