"""Shared definitions of a folder: graders, rubrics and scales by name, and thresholds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.located import Loc, Located
from evalq.errors import InputError
from evalq.formats.suite.forms import Thresholds
from evalq.formats.suite.library import context_thresholds, read_library
from evalq.formats.suite.load import problems, recognises
from evalq.formats.suite.metrics import (
    Metric,
    canonical_name,
    read_metric,
    read_thresholds,
    thresholds_by_metric,
)
from evalq.formats.suite.read import read_suite

Write = Callable[..., Path]

GRADERS = """\
graders:
  loose: {type: code, config: {method: contains, case_sensitive: false}}
taste_rubric: |
  1. **Taste** (weight: 1)
five:
  type: likert
  range: [1, 5]
  labels: {1: Poor, 5: Good}
defaults:
  model: {temperature: 0.0}
"""


def suite_with(write: Write, grader: Any) -> Any:
    write("config/graders.yaml", GRADERS)
    one = {"id": "e", "input": "x", "expected": "y", "grader": grader}
    (found,) = read_suite(write("eval-suite.yaml", {"eval_suite": {"name": "S", "evals": [one]}})).evals
    return found.case.graders[0]


@pytest.mark.parametrize(
    "grader", ["loose", {"$ref": "loose"}, {"$ref": "config/graders.yaml#/graders/loose"}]
)
def test_a_grader_is_named_by_word_or_by_reference(write: Write, grader: Any) -> None:
    assert suite_with(write, grader).type == "icontains"


def test_a_reference_may_change_what_it_refers_to(write: Write) -> None:
    made = suite_with(write, {"$ref": "loose", "config": {"case_sensitive": True}, "weight": 2})
    assert (made.type, made.weight) == ("contains", 2)


def test_rubrics_scales_and_defaults_are_shared_by_name(write: Write) -> None:
    model = suite_with(write, {"type": "model", "config": {"rubric": "taste_rubric"}})
    assert (model.type, model.criteria[0].name, model.temperature) == ("criteria", "taste", 0.0)
    human = suite_with(write, {"type": "human", "config": {"rating_scale": "five", "rubric": "taste_rubric"}})
    assert human.rating_scale.labels == {"1": "Poor", "5": "Good"}
    assert human.rubric.startswith("1. **Taste**")


@pytest.mark.parametrize(
    "text",
    [
        GRADERS,
        "grader: {type: model, config: {rubric: Good and short., scoring: {type: boolean}}}\n",
        "binary_scale: {type: binary}\nranking_scale: {type: ranking, min_items: 2, max_items: 5}\n",
        "model_grader_prompt: |\n  Grade {output}\n",
        "k: 5\npass@1: 0.8\nstaging: {pass_at_k: 0.9}\n",
    ],
)
def test_a_file_of_shared_definitions_can_be_checked_alone(write: Write, text: str) -> None:
    path = write("shared.yaml", text)
    assert recognises(path)
    assert problems(path, path.parent) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {type: code, config: {method: nothing}}\n", "a: grader 'nothing'"),
        ('a: {type: code, config: {method: regex, pattern: "("}}\n', "not a regular expression"),
        ("a: {type: likert, range: [5, 1]}\n", "range [5, 1] is not a scale"),
        ("a: {type: model, config: {scoring: {type: categorical}}}\n", "a: which categories pass?"),
        ("graders: {a: {type: robot}}\n", "type cannot be 'robot'"),
        ("rubrics: {a: 3}\ngrader: {type: human}\n", "rubrics.a should be text"),
        ("thresholds: {pass_at_1: 2}\n", "pass_at_1 is not a share"),
    ],
)
def test_a_shared_definition_that_would_not_work_is_refused(write: Write, text: str, said: str) -> None:
    path = write("shared.yaml", text)
    found = [str(problem) for problem in problems(path, path.parent)]
    assert any(said in one for one in found), found


@pytest.mark.parametrize("value", [{}, [], "x", {"name": "t", "system_prompt": "s"}, {"cases": []}])
def test_files_of_other_formats_are_not_recognised(write: Write, value: Any) -> None:
    assert not recognises(write("other.yaml", value))


@pytest.mark.parametrize(
    ("name", "key", "label"),
    [
        ("pass@1", "pass_at_1", "pass@1"),
        ("pass_at_10", "pass_at_10", "pass@10"),
        ("pass^3", "pass_hat_3", "pass^3"),
        ("pass_hat_k", "pass_hat_4", "pass^4"),
        ("required_pass_rate", "pass_rate", "pass_rate"),
    ],
)
def test_a_metric_is_known_by_any_of_its_spellings(name: str, key: str, label: str) -> None:
    metric = read_metric(name, k=4)
    assert (metric.key, metric.label) == (key, label)


@pytest.mark.parametrize("name", ["pass", "pass@0", "pass_at_", "accuracy", "pass^^3"])
def test_an_unknown_metric_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="there is no metric"):
        canonical_name(name)


def test_demands_are_in_one_order() -> None:
    found = thresholds_by_metric(
        {"pass_rate": 0.9, "pass_hat_3": 0.5, "pass_at_k": 0.8, "pass_at_1": 0.7}, k=5
    )
    assert list(found) == [
        Metric("pass_at", 1),
        Metric("pass_at", 5),
        Metric("pass_hat", 3),
        Metric("pass_rate"),
    ]
    assert [metric.k for metric in found] == [1, 5, 3, 1]


@pytest.mark.parametrize("share", [True, "0.9", 1.1, -0.1, None])
def test_a_threshold_is_a_share(share: Any) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        read_thresholds({"pass@1": share})


def test_contexts_are_the_usual_ones_and_those_of_the_folder() -> None:
    own = Thresholds(contexts={"pilot": {"pass_at_1": 0.6}, "staging": {"pass_at_1": 0.1}})
    assert context_thresholds("production", own) == {"pass_at_1": 0.9, "pass_at_k": 0.99, "pass_hat_k": 0.8}
    assert context_thresholds("critical", own)["pass_at_k"] == 0.999
    assert context_thresholds("staging", own) == {"pass_at_1": 0.1}
    with pytest.raises(InputError, match="there is no context 'prodction'; did you mean 'production'"):
        context_thresholds("prodction", own)


def test_a_large_library_is_read_in_one_pass_over_its_lines() -> None:
    class Lines(dict[Loc, int]):
        passes = 0

        def items(self) -> Any:
            self.passes += 1
            return super().items()

    rubrics = {f"{number}_rubric": "Good?" for number in range(100)}
    lines = Lines({(name,): at for at, name in enumerate(rubrics, 1)})
    found = read_library(Located(rubrics, lines, "graders.yaml"))
    assert (len(found.rubrics), lines.passes) == (100, 1)
