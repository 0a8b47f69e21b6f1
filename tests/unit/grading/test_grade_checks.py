"""Every check passes, fails, errs and refuses a malformed configuration."""

from typing import Any, get_args

import pytest
from answers import grade, task_of
from check_examples import EXAMPLES, Example
from pydantic import ValidationError

from evalq.definitions.graders import CheckConfig
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import CHECKS, CONTEXT_GRADERS

every_check = pytest.mark.parametrize(("kind", "example"), EXAMPLES.items(), ids=EXAMPLES)
NEVER_ERR = {"latency", "cost", "max_tool_calls"}  # what they look at is a number that is always there


def config(kind: str, example: Example, **more: Any) -> dict[str, Any]:
    return {"type": kind, **example.config, **more}


def types_of(union: Any) -> set[str]:
    return {tag for model in get_args(union) for tag in get_args(model.model_fields["type"].annotation)}


def test_every_type_is_in_the_table_and_has_an_example() -> None:
    assert types_of(CheckConfig) <= set(CHECKS) == set(EXAMPLES)
    assert not set(CHECKS) & set(CONTEXT_GRADERS)


@every_check
def test_a_check_passes(kind: str, example: Example) -> None:
    found = grade(config(kind, example), example.passes, example.expected)
    assert (found.passed, found.kind) == (True, kind), found.reason
    assert found.score is not None
    assert found.score >= 0.5
    assert found.reason


@every_check
def test_a_check_fails(kind: str, example: Example) -> None:
    found = grade(config(kind, example), example.fails, example.expected)
    assert found.passed is False
    assert found.score is not None
    assert found.score < 0.8
    assert found.reason


@every_check
def test_what_a_check_cannot_do_is_an_error(kind: str, example: Example) -> None:
    if example.errs is None:
        assert kind in NEVER_ERR
        return
    found = grade(config(kind, example), example.errs, example.expected)
    assert (found.passed, found.score) == (None, None)
    assert found.reason


@every_check
def test_a_malformed_check_is_refused(kind: str, example: Example) -> None:
    with pytest.raises(ValidationError) as caught:
        task_of({"type": kind, **example.malformed})
    assert kind in caught.value.errors()[0]["loc"]


@every_check
def test_any_check_can_be_negated(kind: str, example: Example) -> None:
    straight = grade(config(kind, example), example.fails, example.expected)
    turned = grade(config(kind, example, negate=True), example.fails, example.expected)
    assert (turned.passed, turned.score) == (True, 1 - (straight.score or 0))
    if example.errs is not None:
        assert grade(config(kind, example, negate=True), example.errs, example.expected).passed is None


@every_check
def test_a_check_may_be_spelled_with_hyphens(kind: str, example: Example) -> None:
    found = grade(config(kind.replace("_", "-"), example), example.passes, example.expected)
    assert (found.passed, found.kind) == (True, kind)


@every_check
def test_a_check_comes_back_from_its_snapshot_as_it_was(kind: str, example: Example) -> None:
    task = task_of(config(kind, example))
    assert TaskConfig.model_validate_json(task.model_dump_json()) == task


BARE: dict[str, dict[str, Any]] = {
    kind: {}
    for kind in EXAMPLES
    if kind.removeprefix("i").startswith(("contains", "not_", "starts", "ends", "equals", "exact", "matches"))
    or kind in ("regex", "json_schema", "numeric", "structural_match", "semantic", "levenshtein")
} | {
    "json_path": {"path": "$.a"},
    "field_accuracy": {"fields": [{"path": "a"}]},
    "tool_trajectory": {"mode": "exact"},
    "skill_triggered": {},
}


@pytest.mark.parametrize(("kind", "parameters"), BARE.items(), ids=BARE)
def test_a_check_without_anything_to_compare_with_errs(kind: str, parameters: dict[str, Any]) -> None:
    """Loading tells of it; whoever grades without looking gets an error, not a pass."""
    found = grade({"type": kind, **parameters}, "{}")
    assert (found.passed, found.reason) == (None, "neither the grader nor the case says what is expected")
