"""Which evals of a suite are run, and by which graders."""

from collections.abc import Callable
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.choice import Filters, choose_evals, parse_variables
from evalq.formats.suite.read import Suite

Make = Callable[..., Suite]

MODEL = {"type": "model", "config": {"rubric": "Good?"}}


def one(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "input": "x", "expected": "y", **more}


@pytest.fixture
def suite(make_suite: Make) -> Suite:
    return make_suite(
        one("a", category="text", metadata={"tags": ["x", "y"], "difficulty": "easy"}),
        one("b", metadata={"tags": ["z"], "difficulty": "hard", "timeout_seconds": 9}, grader=MODEL),
        {"id": "r", "baseline": {"output": "x"}, "current": {"input": "y"}, "metadata": {"tags": ["x"]}},
    )


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (Filters(), "abr"),
        (Filters(categories=("capability",)), "ab"),
        (Filters(categories=("regression", "text")), "ar"),
        (Filters(tags=("x",)), "ar"),
        (Filters(tags=("y", "z")), "ab"),
        (Filters(difficulties=("hard",)), "b"),
        (Filters(categories=("capability",), tags=("x",)), "a"),
        (Filters(grader_type="model"), "b"),
        (Filters(grader_type="code"), "ar"),
    ],
)
def test_filters_choose_among_the_evals(suite: Suite, filters: Filters, ids: str) -> None:
    assert "".join(found.id for found in choose_evals(suite, filters)) == ids


def test_filters_that_match_nothing_list_what_the_suite_has(suite: Suite) -> None:
    with pytest.raises(InputError) as caught:
        choose_evals(suite, Filters(tags=("none",)))
    assert "categories: capability, regression, text; tags: x, y, z; difficulties: easy, hard" in str(
        caught.value
    )


def test_only_the_chosen_type_of_grader_and_the_time_limit_grade(make_suite: Make) -> None:
    graders = [{"type": "code", "config": {"method": "contains"}}, MODEL]
    suite = make_suite(one("a", graders=graders, metadata={"timeout_seconds": 5}))
    (found,) = choose_evals(suite, Filters(grader_type="model"))
    assert [grader.type for grader in found.case.graders] == ["rubric", "latency"]
    assert (found.grader_types, found.about["grader_types"]) == (("model",), ["model"])


def test_a_shared_override_grades_evals_without_a_grader_of_the_type(make_suite: Make, tmp_path: Any) -> None:
    (tmp_path / "config").mkdir()
    stand_in = "overrides:\n  model: {config: {rubric: Same meaning?, scoring: {type: boolean}}}\n"
    (tmp_path / "config/graders.yaml").write_text(stand_in, "utf-8")
    suite = make_suite(one("a"), one("b", grader=MODEL))
    found = choose_evals(suite, Filters(grader_type="model"))
    assert [[grader.type for grader in each.case.graders] for each in found] == [["boolean"], ["rubric"]]


def test_a_variable_given_twice_in_any_case_is_refused() -> None:
    with pytest.raises(InputError, match="--var A is given twice; give each name once"):
        parse_variables(["a=secret-1", "A=secret-2"])
