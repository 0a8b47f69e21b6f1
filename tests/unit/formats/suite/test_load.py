"""The corners of eval files: what is odd, but has one meaning, and what has none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.load import load, problems, recognises, slug
from evalq.formats.suite.read import Suite, read_suite
from evalq.formats.suite.rubrics import parse_rubric

Read = Callable[..., Suite]
Refused = Callable[..., list[str]]
Write = Callable[..., Path]

ONE = {"id": "a", "input": "x", "expected": "y"}


def graded(**config: Any) -> dict[str, Any]:
    return {**ONE, "grader": {"type": "model", "config": {"rubric": "Good or not?", **config}}}


@pytest.mark.parametrize(
    ("opening", "range_"),
    [
        ("Rate on a 1-5 scale:", (1, 5)),
        ("Criteria (0-10):", (0, 10)),
        ("Score from 0 to 4 each:", (0, 4)),
        ("See chapters 2-3 of 2024-01:", (1, 5)),
        ("Give 9 to 9 points:", (1, 5)),
        ("Score this from 2 to 4:", (1, 5)),
    ],
)
def test_a_range_is_taken_where_the_text_speaks_of_one(opening: str, range_: tuple[int, int]) -> None:
    parsed = parse_rubric(f"{opening}\n1. **Right** (weight: 1)\n   - 5: always\n   - 1: never\n")
    assert parsed is not None
    assert parsed.range == (range_ if range_[0] <= 1 and range_[1] >= 5 else (1, 5))


@pytest.mark.parametrize(
    "text",
    [
        "Is it good?",
        "1. **A** (weight: 0)\n2. **B** (weight: 0)",
        "1. **A** (weight: 1)\n2. **a** (weight: 1)",
        "1. A: is it? (0-5)\n2. B: is it? (1-3)",
        "1. **…** (weight: 1)",
    ],
)
def test_a_rubric_without_plain_criteria_is_one_text(text: str) -> None:
    assert parse_rubric(text) is None


def test_levels_alone_make_a_range() -> None:
    parsed = parse_rubric("1. **A** (weight: 1)\n   - 0: never\n   - 3: always\n")
    assert parsed is not None
    assert parsed.range == (0, 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (graded(scoring="numeric"), "scoring is not a mapping"),
        (graded(rubric=7), "rubric is not text"),
        (graded(examples="none"), "examples is not a list of mappings"),
        ({**ONE, "grader": {"type": "code"}, "graders": []}, "grader and graders are the same thing"),
        ({**ONE, "input": {"type": "file", "content": {"a": 1}}}, "content of a file input is not a path"),
        (
            {**ONE, "grader": {"type": "code", "config": {"method": "regex"}}, "expected": {"type": "exact"}},
            "no pattern",
        ),
        ([ONE, "text"], "an eval is not a mapping"),
        ({"eval_suite": {"name": "S", "evals": [ONE], "thresholds": {"metrics": [1]}}}, "thresholds.metrics"),
        (
            {"eval_suite": {"name": "S", "evals": [ONE], "thresholds": {"contexts": [1]}}},
            "thresholds.contexts",
        ),
        ({"eval_suite": "S"}, "should be a mapping"),
    ],
)
def test_an_invalid_eval_is_refused(refused: Refused, content: Any, said: str) -> None:
    whole = {"eval_suite": {"name": "S", "evals": content}} if isinstance(content, list) else content
    found = refused(whole)
    assert any(said in problem for problem in found), found


def test_examples_of_criteria_and_categories_are_read(read: Read) -> None:
    by_criteria = graded(
        criteria=[{"name": "a"}, {"name": "b"}],
        examples=[{"output": "o", "score": 4}],
        rubric="How good is it?",
    )
    (one,) = read(by_criteria).evals
    assert one.case.graders[0].examples[0].scores == {"a": 4, "b": 4}  # type: ignore[union-attr]
    scoring = {"type": "categorical", "categories": ["good", "bad"], "pass_categories": ["good"]}
    (one,) = read(graded(scoring=scoring, examples=[{"output": "o", "category": "bad"}])).evals
    assert one.case.graders[0].examples[0].category == "bad"  # type: ignore[union-attr]


def test_a_pattern_makes_a_regex_of_a_grader_that_names_no_method(read: Read) -> None:
    (one,) = read({**ONE, "grader": {"type": "code", "config": {"pattern": "^x"}}}).evals
    assert one.case.graders[0].type == "regex"


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        (["a", 1], '["a", 1]'),
        ({"diff": {"type": "file", "content": "d.patch"}, "n": 3}, "diff:\n-old\n\nn:\n3"),
        ("d.patch", "d.patch"),
        ("./d.patch", "-old"),
        ({"type": "prompt", "content": "Say it", "context": "politely"}, "Say it\n\npolitely"),
    ],
)
def test_the_input_of_a_regression_comes_in_several_forms(write: Write, given: Any, prompt: str) -> None:
    write("d.patch", "-old")
    current = {"input": given}
    one = {"id": "r", "baseline": {"output": "x"}, "current": current, "comparison": {"type": "exact"}}
    (found,) = read_suite(write("r.yaml", one)).evals
    assert found.case.inputs["prompt"] == prompt


def test_tests_of_a_regression_may_write_their_current_side_out(read: Read) -> None:
    content = {
        "eval_type": "regression",
        "metadata": {"id": "r"},
        "execution": {"type": "skill", "skill_name": "s"},
        "comparison": {"type": "exact"},
        "test_cases": [
            {"current": {"input": "x"}, "baseline": {"output": "a"}},
            {"input": "y", "baseline": {"output": "b"}},
        ],
    }
    first, second = read(content).evals
    assert (first.id, first.case.inputs["prompt"]) == ("r/tc-001", "x")
    assert second.case.inputs["prompt"] == "Use the skill s.\n\ny"


def test_an_eval_in_a_list_may_stand_under_its_type(read: Read) -> None:
    body = {"name": "S", "evals": [{"capability_eval": ONE}]}
    assert [one.id for one in read({"eval_suite": body}).evals] == ["a"]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("config/graders.yaml", "odd: 3\n", "'odd' is neither a grader, a rubric nor a scale"),
        ("config/thresholds.yaml", "accuracy: 0.9\n", "there is no metric 'accuracy'"),
        ("config/graders.yaml", "- a\n", "the file is not a mapping"),
    ],
)
def test_invalid_shared_files_are_refused_with_their_own_line(
    write: Write, file: str, text: str, said: str
) -> None:
    write(file, text)
    with pytest.raises(InputError) as caught:
        read_suite(write("eval-suite.yaml", {"eval_suite": {"name": "S", "evals": [ONE]}}))
    assert said in str(caught.value)
    assert file in str(caught.value)


def test_only_files_we_can_read_are_ours(write: Write, tmp_path: Path) -> None:
    assert not recognises(tmp_path)
    assert not recognises(tmp_path / "missing.yaml")
    assert not recognises(write("a.txt", "x"))
    assert not recognises(write("broken.yaml", "a: [\n"))
    write("eval-suite.yaml", {"eval_suite": {"name": "S", "evals": [ONE]}})
    assert recognises(tmp_path)
    with pytest.raises(InputError, match="not an eval file"):
        read_suite(write("a.txt", "x"))


def test_a_suite_is_loaded_as_one_task_and_evalset(write: Write, tmp_path: Path) -> None:
    new = {"id": "n", "current": {"input": "y"}}
    path = write(
        "eval-suite.yaml",
        {"eval_suite": {"name": "Feature X!", "evals": [ONE, new], "config": {"samples": 3}}},
    )
    found = load(tmp_path, tmp_path)
    assert (found.task.name, found.samples, [case.id for case in found.evalset.cases]) == (
        "feature-x",
        3,
        ["a"],
    )
    write("eval-suite.yaml", {"eval_suite": {"name": "S", "evals": [new]}})
    with pytest.raises(InputError, match="no eval here has a baseline yet"):
        load(path, tmp_path)


def test_a_grader_that_lacks_something_is_a_problem_in_its_own_file(write: Write, tmp_path: Path) -> None:
    write(
        "one.yaml", {**ONE, "expected": None, "grader": {"type": "code", "config": {"method": "json_schema"}}}
    )
    write("eval-suite.yaml", {"eval_suite": {"name": "S", "evals": [{"$ref": "one.yaml"}]}})
    (problem,) = problems(tmp_path, tmp_path)
    assert problem.file.endswith("one.yaml")


@pytest.mark.parametrize(
    ("name", "as_task"), [("Feature X", "feature-x"), ("…", "suite"), ("a_b.c", "a_b.c")]
)
def test_the_name_of_a_suite_names_its_task(name: str, as_task: str) -> None:
    assert slug(name) == as_task
