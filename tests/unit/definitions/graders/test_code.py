from typing import Any

import pytest
from pydantic import ValidationError

from evalq.definitions.definition import validate
from evalq.definitions.graders.code import FunctionCase, FunctionOutput
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError

CASE = {"args": [1], "expected": 1}


def grader(**more: Any) -> FunctionOutput:
    return FunctionOutput.model_validate(
        {"type": "function_output", "function_name": "f", "test_cases": [CASE], **more}
    )


def problem(**more: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        grader(**more)
    return str(caught.value.errors()[0]["msg"])


def test_what_is_not_said_has_its_usual_value() -> None:
    made = grader()
    assert (made.executor, made.timeout_per_case, made.sandbox) == ("python", 5, True)
    assert (made.test_cases[0].kwargs, made.test_cases[0].comparator) == ({}, "equals")


def test_input_and_output_are_other_words_for_args_and_expected() -> None:
    case = FunctionCase.model_validate({"input": [5], "output": 120})
    assert (case.args, case.expected) == ([5], 120)
    with pytest.raises(ValidationError, match="input and args are the same; keep one"):
        FunctionCase.model_validate({"input": [5], "args": [5], "output": 120})


def test_a_problem_is_found_on_its_line() -> None:
    text = "type: function_output\nfunction_name: f\ntest_cases:\n- {input: [5], output: 1}\n- {input: 5}\n"
    with pytest.raises(InputError) as caught:
        validate(FunctionOutput, load_yaml(text, "task.yaml"))
    assert str(caught.value).startswith(
        "task.yaml:5: test_cases[1].args should be a list, but is a whole number"
    )


@pytest.mark.parametrize("case", [{"args": [1]}, {"args": [1], "comparator": "approx"}])
def test_a_case_without_anything_expected_is_refused(case: dict[str, Any]) -> None:
    assert "nothing is expected; add expected" in problem(test_cases=[case])


def test_a_case_that_is_no_mapping_is_refused() -> None:
    assert "valid dictionary" in problem(test_cases=[5])


def test_nothing_may_be_what_is_expected() -> None:
    assert grader(test_cases=[{"args": [], "expected": None}]).test_cases[0].expected is None


def test_a_stored_grader_reads_as_it_was() -> None:
    made = grader(test_cases=[CASE, {"comparator": "raises"}, {"expected": None}])
    assert FunctionOutput.model_validate(made.model_dump()) == made


def test_a_tolerance_needs_approx() -> None:
    assert grader(test_cases=[{**CASE, "comparator": "approx", "tolerance": 0.5}])
    assert "tolerance is for comparator: approx" in problem(test_cases=[{**CASE, "tolerance": 0.5}])


@pytest.mark.parametrize(
    ("expected", "meant"),
    [
        ("ValueError", ("ValueError", "")),
        ("ValueError: too small", ("ValueError", "too small")),
        ({"type": "KeyError", "message": "x"}, ("KeyError", "x")),
    ],
)
def test_an_exception_is_written_in_three_ways(expected: Any, meant: tuple[str, str]) -> None:
    assert FunctionCase(expected=expected, comparator="raises").raises() == meant


@pytest.mark.parametrize("expected", [5, ["ValueError"], {"message": "x"}, {"type": "E", "other": 1}])
def test_what_names_no_exception_is_refused(expected: Any) -> None:
    assert "expected names no exception" in problem(
        test_cases=[{"expected": expected, "comparator": "raises"}]
    )


@pytest.mark.parametrize("name", ["f()", "Solution.f", "two words", "", "class"])
def test_a_function_s_name_is_a_name_of_python(name: str) -> None:
    assert "cannot name a Python function" in problem(function_name=name)


@pytest.mark.parametrize("seconds", [0, -1, 61])
def test_a_timeout_is_within_a_minute(seconds: int) -> None:
    assert "Input should be" in problem(timeout_per_case=seconds)


def test_a_task_cannot_do_without_the_sandbox() -> None:
    assert "set in evalq.yaml" in problem(sandbox=False)


@pytest.mark.parametrize(
    ("written", "meant"), [("js", "javascript"), ("node", "javascript"), ("bash", "shell"), ("sh", "shell")]
)
def test_executors_have_other_names(written: str, meant: str) -> None:
    made = FunctionOutput.model_validate({"type": "function_output", "executor": written})
    assert made.executor == meant


def test_an_unknown_executor_is_refused() -> None:
    assert "Input should be 'python', 'javascript' or 'shell'" in problem(executor="ruby")


@pytest.mark.parametrize(
    ("executor", "name"),
    [("javascript", "a-b"), ("javascript", "f();x"), ("shell", "a$b"), ("shell", "$(x)")],
)
def test_a_function_s_name_is_one_of_its_language(executor: str, name: str) -> None:
    assert "cannot name a" in problem(executor=executor, function_name=name)


def test_only_python_has_keyword_arguments() -> None:
    case = {"args": [], "kwargs": {"a": 1}, "expected": 1}
    assert "put the values into args" in problem(executor="javascript", test_cases=[case])


def test_a_shell_script_needs_no_function() -> None:
    script = FunctionOutput.model_validate({"type": "function_output", "executor": "shell"})
    assert script.for_case({"test_cases": [CASE]}).function_name is None


def test_a_case_brings_its_own_function_and_tests() -> None:
    bare = FunctionOutput(type="function_output")
    made = bare.for_case({"function_name": "g", "test_cases": [{"input": [5], "output": 120}]})
    assert (made.function_name, made.test_cases[0].expected) == ("g", 120)
    assert len(grader().for_case({"test_cases": [CASE]}).test_cases) == 2
    assert grader().for_case(None) == grader()


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({}, "no function to call"),
        ({"function_name": "g"}, "nothing to call it with"),
        ({"function_name": "g h"}, r"expected\.function_name"),
        ({"function_name": "g", "test_cases": [{"args": 5}]}, r"expected\.test_cases\.0\.args"),
    ],
)
def test_a_case_that_brings_too_little_is_refused(expected: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FunctionOutput(type="function_output").for_case(expected)
