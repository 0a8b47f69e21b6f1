"""Answers to grade in tests: texts, or what a call took."""

from decimal import Decimal
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade, ToolCall, Usage


class NoContext:
    """A check asks nobody."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a check must do without {name}")


def completion(answer: str | dict[str, Any]) -> Completion:
    """A text, or {text, latency_ms, cost_usd, input_tokens, output_tokens, tool_calls}."""
    if isinstance(answer, str):
        return Completion("answered", answer)
    calls = tuple(ToolCall(call["name"], call.get("arguments", {})) for call in answer.get("tool_calls", ()))
    return Completion(
        "answered",
        answer.get("text", ""),
        Usage(answer.get("input_tokens", 0), answer.get("output_tokens", 0)),
        answer.get("latency_ms", 0),
        Decimal(answer.get("cost_usd", 0)),
        tool_calls=calls,
    )


def task_of(*graders: dict[str, Any]) -> TaskConfig:
    return TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "", "graders": list(graders)}
    )


def grade(
    grader: dict[str, Any], answer: str | dict[str, Any], expected: dict[str, Any] | None = None
) -> Grade:
    """What a grader of a task makes of an answer."""
    case = EvalCase(id="c", inputs={}, expected=expected)
    [found] = grade_answer(AnswerToGrade(task_of(grader), case, completion(answer)), NoContext())
    return found


def passed(
    grader: dict[str, Any], answer: str | dict[str, Any], expected: dict[str, Any] | None = None
) -> bool | None:
    """True, False, or None for an error."""
    return grade(grader, answer, expected).passed
