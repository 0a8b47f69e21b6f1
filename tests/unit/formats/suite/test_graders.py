"""Graders of eval files: code by its method, model by its scoring, human by its scale."""

from collections.abc import Callable
from typing import Any

import pytest

from evalq.formats.suite.read import Suite

Read = Callable[..., Suite]
Refused = Callable[..., list[str]]


def one(grader: Any = None, expected: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "e",
        "input": "x",
        **({} if grader is None else {"grader": grader}),
        **({} if expected is None else {"expected": expected}),
        **more,
    }


def code(method: str | None = None, **config: Any) -> dict[str, Any]:
    return {"type": "code", "config": {**({"method": method} if method else {}), **config}}


def graded(read: Read, *args: Any, **more: Any) -> dict[str, Any]:
    (found,) = read([one(*args, **more)]).evals
    (grader,) = found.case.graders
    made: dict[str, Any] = grader.model_dump(exclude_defaults=True)
    return made


@pytest.mark.parametrize(
    ("expected", "made"),
    [
        ({"type": "exact", "value": "a"}, {"type": "exact_match", "value": "a"}),
        ({"type": "exact", "value": 42}, {"type": "exact_match", "value": "42"}),
        (
            {"type": "contains", "value": "a", "alternatives": ["b"]},
            {"type": "contains", "alternatives": ["b"]},
        ),
        ({"type": "contains", "value": ["a", "b"]}, {"type": "contains_all", "values": ["a", "b"]}),
        ({"type": "pattern", "value": "^a$"}, {"type": "regex", "pattern": "^a$"}),
        (
            {"type": "semantic", "value": {"must_include": ["a"]}},
            {"type": "semantic", "must_include": [["a"]]},
        ),
        ({"type": "semantic", "value": "means this"}, {"type": "verdict"}),
        ({"type": "numeric", "value": 3}, {"type": "numeric", "value": 3.0}),
        ({"type": "structural", "value": {"a": 1}}, {"type": "structural_match", "value": {"a": 1}}),
    ],
)
def test_an_eval_without_graders_is_graded_by_what_it_expects(read: Read, expected: Any, made: Any) -> None:
    found = graded(read, None, expected)
    assert found.items() >= made.items()


def test_an_exact_match_keeps_its_options(read: Read) -> None:
    grader = code("exact_match", case_sensitive=False, trim_whitespace=True, normalize_newlines=False)
    expected = {"type": "exact", "value": "a", "alternatives": ["b"]}
    assert graded(read, grader, expected) == {
        "type": "exact_match",
        "value": "a",
        "alternatives": ["b"],
        "case_sensitive": False,
        "normalize_newlines": False,
    }


def test_a_pattern_comes_from_the_grader_first(read: Read) -> None:
    grader = code(
        "regex", pattern="^f", flags=["multiline", "ignorecase"], must_match=False, capture_groups=["n"]
    )
    made = graded(read, grader, {"type": "exact", "value": "z"})
    assert (made["pattern"], made["flags"], made["must_match"]) == ("^f", ["multiline", "ignorecase"], False)


def test_calls_of_a_function_are_written_either_way(read: Read) -> None:
    cases = [{"input": [5], "output": 120}, {"input": 0, "output": 1}, {"input": {"n": 1}, "output": 1}]
    expected = {"type": "functional", "value": {"test_cases": cases}}
    made = graded(read, code(executor="python", function_name="f", timeout_per_case=2), expected)
    assert made["type"] == "function_output"
    assert [(case.get("args"), case.get("kwargs")) for case in made["test_cases"]] == [
        ([5], None),
        ([0], None),
        (None, {"n": 1}),
    ]
    own = [{"args": [1], "kwargs": {}, "expected": 3, "comparator": "equals"}]
    made = graded(read, code("function_output", function_name="f", test_cases=own, sandbox=True))
    assert made["test_cases"][0]["expected"] == 3


def test_any_check_of_ours_can_be_named_as_a_method(read: Read) -> None:
    assert graded(read, code("starts-with"), "ab")["value"] == "ab"
    assert graded(read, code("max_words", value=5))["value"] == 5


def test_a_rubric_that_lists_criteria_is_scored_by_each(read: Read) -> None:
    rubric = "Score:\n1. Completeness: Did it find all? (0-5)\n2. Best Practices: Is it clean? (0-5)\n"
    made = graded(read, {"type": "model", "config": {"model": "m", "rubric": rubric, "max_tokens": 99}}, "x")
    assert (made["type"], made["model"], made["max_tokens"]) == ("criteria", "m", 99)
    assert [(c["name"], c["description"]) for c in made["criteria"]] == [
        ("completeness", "Did it find all?"),
        ("best_practices", "Is it clean?"),
    ]
    assert (made["range"], made["pass_threshold"]) == ([0, 5], 3.75)


def test_weights_and_levels_of_criteria_are_kept(read: Read) -> None:
    right = "1. **Right** (weight: 0.7)\n   - 5: always\n   - 1: never\n"
    rubric = f"On a 1-5 scale:\n{right}2. **Short** (weight: 0.3)\n   - Is it?\n"
    made = graded(read, {"type": "model", "config": {"rubric": rubric}}, "x")
    first, short = made["criteria"]
    assert (first["weight"], first["levels"]) == (0.7, {"5": "always", "1": "never"})
    assert (short["weight"], short["description"]) == (0.3, "Is it?")


def test_a_rubric_without_criteria_is_one_score_with_examples(read: Read) -> None:
    examples = [{"input": "i", "output": "o {x}", "score": 2, "justification": "brief"}]
    config = {"rubric": 'Good {"json": 1} replies', "scoring": {"type": "numeric", "range": [1, 10]}}
    made = graded(read, {"type": "model", "config": {**config, "examples": examples}}, "x")
    assert (made["type"], made["range"], made["pass_threshold"]) == ("rubric", [1, 10], 7.75)
    assert made["rubric"] == 'Good {{"json": 1}} replies'
    assert made["examples"][0]["score"] == 2


@pytest.mark.parametrize("name", ["code_quality", "code_quality_rubric"])
def test_a_built_in_set_of_criteria_is_known_by_its_name(read: Read, name: str) -> None:
    made = graded(read, {"type": "model", "config": {"rubric": name}}, "x")
    assert made["type"] == "criteria"
    assert len(made["criteria"]) == 4


def test_categories_and_yes_or_no_are_scorings_too(read: Read) -> None:
    scoring = {"type": "categorical", "categories": ["good", "bad"], "pass_categories": ["good"]}
    made = graded(read, {"type": "model", "config": {"rubric": "Which?", "scoring": scoring}}, "x")
    assert (made["type"], made["pass_categories"]) == ("categorical", ["good"])
    boolean = {
        "rubric": "Is it so?",
        "scoring": {"type": "boolean"},
        "examples": [{"output": "o", "score": 1}],
    }
    made = graded(read, {"type": "model", "config": boolean}, "x")
    assert (made["type"], made["examples"][0]["answer"]) == ("boolean", True)


def test_people_rate_on_their_scale(read: Read) -> None:
    config = {
        "interface": "web",
        "evaluators": {"min_required": 2, "max_allowed": 5, "agreement_threshold": 0.8},
        "rating_scale": {"type": "likert", "range": [1, 5], "labels": {"1": "Poor", "5": "Excellent"}},
        "rubric": "Rate it",
    }
    made = graded(read, {"type": "human", "config": config})
    assert (made["type"], made["evaluators"]["min_required"]) == ("human", 2)


def test_several_graders_may_mark_one_eval(read: Read) -> None:
    graders = [
        code("contains"),
        {"type": "model", "config": {"rubric": "Good?"}, "weight": 3, "name": "taste"},
    ]
    (found,) = read([one(None, "x", graders=graders)]).evals
    assert found.grader_types == ("code", "model")
    assert [(grader.label, grader.weight) for grader in found.case.graders] == [("contains", 1), ("taste", 3)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (one(), "nothing grades the answer"),
        (one(code()), "which check is meant?"),
        (one(code("telepathy"), "x"), "grader 'telepathy'"),
        (one(code("regex", pattern="(")), "not a regular expression"),
        (one(code("function_output", function_name="f")), "has no test_cases"),
        (one({"type": "model", "config": {"rubrik": "x"}}), "unknown key 'rubrik'"),
        (one({"type": "model", "config": {"scoring": {"type": "vibes"}}}), "scoring.type cannot be 'vibes'"),
        (one({"type": "model", "config": {"scoring": {"type": "categorical"}}}), "which categories pass?"),
        (one({"type": "human", "config": {"rating_scale": "nice"}}), "no scale is called 'nice'"),
        (one("nobody", "x"), "no grader is called 'nobody'"),
        (one({"$ref": "#nobody"}, "x"), "no grader is called 'nobody'"),
    ],
)
def test_an_invalid_grader_is_refused(refused: Refused, content: Any, said: str) -> None:
    assert any(said in problem for problem in refused([content]))


def test_a_rubric_keeps_the_scale_it_brings(read: Read) -> None:
    made = graded(read, {"type": "model", "config": {"rubric": "Score from 1 to 10 how kind it is."}})
    assert (made["range"], made["pass_threshold"]) == ([1, 10], 7.75)
    made = graded(read, {"type": "model", "config": {"rubric": "1.0 if safe, 0.0 otherwise."}})
    assert (made["range"], made["pass_threshold"]) == ([0, 1], 0.75)


def test_a_written_range_has_the_say_over_the_rubric(read: Read) -> None:
    config = {"rubric": "A score between 0 and 1.", "scoring": {"type": "numeric", "range": [0, 4]}}
    assert graded(read, {"type": "model", "config": config})["range"] == [0, 4]


def test_a_rubric_with_two_scales_is_refused(refused: Refused) -> None:
    (problem,) = refused([one({"type": "model", "config": {"rubric": "Score 1 to 5, then score 1 to 10."}})])
    assert "several scales" in problem
